"""Runs the programs of an experiment as jobs of Slurm. What a site has to say about its jobs (account, partition,
reservation) it says by the variables of sbatch: SBATCH_ACCOUNT, SBATCH_PARTITION, SBATCH_RESERVATION, ...
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.agents import node_files
from crosswind.tools.experiment.description import Program
from crosswind.tools.experiment.launcher import (
    LOAD,
    LaunchError,
    Started,
    command_of,
    job_name,
    load_folder,
    program_record,
    write_main_profile,
)  # fmt: skip
from crosswind.tools.experiment.records import ProgramRecord, Role
from crosswind.tools.experiment.slurm_script import (
    Ended,
    JobFiles,
    rank_script,
    read_begin_ns,
    read_ended,
    sbatch_options,
    sbatch_script,
)  # fmt: skip
from crosswind.tools.library import find_library
from crosswind.tools.machine import describe_machine

__all__ = ["SlurmLauncher"]

STEP = "0"  # of the program, in its job
RESOURCE = "fs:net"
ANSWER_S = 60.0  # Slurm's own MessageTimeout is 10 s, and its commands ask again
QUEUED_S = 3600.0
LOOK_S = 0.3  # for the file that a job writes last, or whether a job that was just submitted runs
ASK_S = 5.0  # whether Slurm still has the job
ASK_SHARE = 0.1  # of the time that a job has waited in the queue, until Slurm is asked again; at most ASK_S
LATE_S = 90.0  # so much later a file of another node may be seen: NFS keeps for a minute that there is none (acdirmax)
STOP_S = 60.0  # a program that was asked to end has so long for it, and its job for what comes after
CLEAN_S = 15.0  # a job whose program was killed has so long to remove what it made
IDS = frozenset({"CROSSWIND_JOB_ID", "CROSSWIND_STEP_ID"})
CHANGED = ("SLURM_", "SQUEUE_", "SCANCEL_", "SINFO_")  # variables that change what Slurm's commands answer
NODE_FIELDS = ("name", "cpus", "memory_mib")
PENDING, LIVING = {"PENDING", "CONFIGURING"}, {"RUNNING", "COMPLETING", "STOPPED", "SUSPENDED"}


class SlurmLauncher:
    """The launcher (launcher.py) for Slurm.

    scratch: a directory on the file system that the programs share, as the nodes see it; it need not be mounted here.
    agents: spool directories of the agents of nodes and servers, if they can be seen from here.
    """

    def __init__(self, scratch: Path, agents: Sequence[Path] = ()) -> None:
        self.scratch = scratch
        self.agents = tuple(agents)

    def why_not(self, programs: Collection[Program]) -> str:
        """What is missing to run these here, and the way out; "" if nothing is. What is on the nodes is not known."""
        missing = [name for name in ("sbatch", "squeue", "scancel", "sinfo") if shutil.which(name) is None]
        if missing:
            return f"no {', '.join(missing)} here: run it where jobs are submitted to Slurm, or with --on local"
        try:
            find_library()
            for program in programs:
                _command(program, Path("/"), Path("/"))
            _jobs_of(Path("/"))
        except CommandError as error:
            return error.format_message()
        except LaunchError as error:
            return f"{error} (is SLURM_CONF set?)"
        return ""

    def describe(self) -> dict[str, Any]:
        """The machine that submits, and what Slurm says of the nodes."""
        nodes = _slurm("sinfo", "--noheader", "--Node", "--format=%N %c %m").split("\n")
        fields = sorted({tuple(line.split()) for line in nodes if len(line.split()) == len(NODE_FIELDS)})
        return {
            "machine": describe_machine(),
            "node": os.uname().nodename,
            "slurm": _slurm("sinfo", "--version").strip(),
            "nodes": [dict(zip(NODE_FIELDS, values, strict=True)) for values in fields],
        }

    def start(self, program: Program, folder: Path, role: Role, slice_length: str) -> Started:
        """Submit it, and return when Slurm runs it. LaunchError."""
        folder = folder.absolute()
        files, scratch = JobFiles(folder, role), self.scratch / f"crosswind-{uuid4().hex}"
        _forget(files)
        options = sbatch_options(program, files, job_name(folder, role))
        command = _command(program, folder / role, scratch)
        files.of("rank").write_text(rank_script(command, find_library(), slice_length, job_name(folder, role)))
        files.of("sbatch").write_text(sbatch_script(program, files, scratch, options))
        answer = _slurm("sbatch", "--parsable", *options, str(files.of("sbatch")))
        job_id = answer.split()[-1].partition(";")[0]
        begin = time.monotonic()
        while (state := _state(job_id)) in PENDING or not (state or read_ended(files)):
            waited = time.monotonic() - begin
            if waited > QUEUED_S:
                raise LaunchError(
                    f"job {job_id} waited in the queue for {QUEUED_S / 60:.0f} minutes: reserve the nodes"
                )
            time.sleep(min(max(LOOK_S, ASK_SHARE * waited), ASK_S))
        return Started(program, role, folder, scratch, job_id)

    def wait(self, started: Started, timeout_s: float) -> ProgramRecord:
        """Until it has ended by itself, its profile merged into folder/ROLE.xwp. LaunchError: not in time, or lost."""
        return _record(started, _ended(started, timeout_s), stopped=False)

    def stop(self, started: Started) -> ProgramRecord:
        """SIGTERM to the program itself, then as wait."""
        is_asked = _ask_to_end(started)
        return _record(started, _ended(started, STOP_S + LATE_S), stopped=is_asked)

    def abandon(self, folder: Path) -> None:
        """End the jobs of this folder, whoever submitted them; those that run may clean up. LaunchError."""
        folder = folder.absolute()
        end = time.monotonic() + CLEAN_S
        killed: set[str] = set()
        while (jobs := _jobs_of(folder)) and any(state not in PENDING for state in jobs.values()):
            for job_id in jobs.keys() - killed:  # again: a step that is about to start cannot be killed yet
                if jobs[job_id] == "RUNNING" and _try("scancel", "--signal=KILL", f"{job_id}.{STEP}"):
                    killed.add(job_id)
            if time.monotonic() > end:
                break
            time.sleep(LOOK_S)
        end += STOP_S
        while (left := _jobs_of(folder)) and time.monotonic() < end:
            _try("scancel", *left)
            time.sleep(LOOK_S)
        if left:
            raise LaunchError(f"jobs {', '.join(left)} do not end: scancel them")

    def agent_files(self) -> list[Path]:
        """Of all agents whose spool directories were named."""
        return node_files(self.agents)

    def server_resource(self) -> str:
        """What all nodes share."""
        return RESOURCE


def _ended(started: Started, timeout_s: float) -> Ended:
    """What the job's script says last, when it has. LaunchError."""
    files = JobFiles(started.folder, started.role)
    begin = asked = known = time.monotonic()  # known: when Slurm had the job for the last time
    while (ended := read_ended(files)) is None:
        now = time.monotonic()
        if now > begin + timeout_s:
            raise LaunchError(f"{started.program.name}: job {started.job_id} did not end within {timeout_s:.0f} s")
        if now > asked + ASK_S:
            asked, state = now, _state(started.job_id)
            known = now if state in PENDING | LIVING else known
            if now > known + LATE_S:
                raise LaunchError(
                    f"{started.program.name}: job {started.job_id} was lost ({state or 'unknown to Slurm'}): "
                    f"see {files.of('log')}"
                )
        time.sleep(LOOK_S)
    return ended


def _record(started: Started, ended: Ended, *, stopped: bool) -> ProgramRecord:
    files = JobFiles(started.folder, started.role)
    if not ended.is_gathered:
        raise LaunchError(f"{started.program.name} left no spool files: see {files.of('log')} and {files.of('err')}")
    begin_ns = read_begin_ns(files) or ended.begin_ns
    profile = write_main_profile(files.of("spool"), files.of("xwp"))
    shutil.rmtree(files.of("spool"))
    return program_record(started, profile, begin_ns, ended.end_ns, ended.exit_code, stopped=stopped)


def _command(program: Program, work: Path, scratch: Path) -> list[str]:
    """The program's own. CommandError: the load programs are not built."""
    needs_load = any(LOAD in part for part in program.command)
    return command_of(program, work, scratch, load_folder() if needs_load else None)


def _ask_to_end(started: Started) -> bool:
    """SIGTERM to its ranks, which may just be about to start; whether it was needed. LaunchError."""
    end = time.monotonic() + STOP_S
    while read_ended(JobFiles(started.folder, started.role)) is None:
        if _try("scancel", "--signal=TERM", f"{started.job_id}.{STEP}"):
            return True
        if time.monotonic() > end:
            raise LaunchError(f"job {started.job_id} could not be stopped within {STOP_S:.0f} s")
        time.sleep(LOOK_S)
    return False


def _forget(files: JobFiles) -> None:
    """Remove what a job of an earlier try wrote there."""
    for path in files.made:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _state(job_id: str) -> str:
    """In Slurm's words; "": it does not know the job any more, or does not answer."""
    try:
        return _slurm("squeue", "--noheader", "--format=%T", "--states=all", "--jobs", job_id).strip()
    except LaunchError:
        return ""


def _jobs_of(folder: Path) -> dict[str, str]:
    """State by id of the user's jobs with this working directory that are not over."""
    lines = _slurm("squeue", "--noheader", "--format=%A %T %Z", "--user", str(os.geteuid())).splitlines()
    jobs = [line.split(maxsplit=2) for line in lines]
    return {job_id: state for job_id, state, directory in jobs if directory == str(folder)}


def _try(*command: str) -> bool:
    """Whether Slurm did it."""
    try:
        _slurm(*command)
    except LaunchError:
        return False
    return True


def _slurm(*command: str) -> str:
    """What a command of Slurm prints. LaunchError: it failed, in its own words."""
    try:
        done = subprocess.run(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        why = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise LaunchError(f"{command[0]}: {why[-1]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Ours without what is of the job that we may be part of. The site's plugin leaves the job alone."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(CHANGED) or k == "SLURM_CONF"}
    return {**{k: v for k, v in ours.items() if k not in IDS}, "CROSSWIND_DISABLE": "1"}
