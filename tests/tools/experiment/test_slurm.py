"""The launcher for Slurm without a Slurm: its scripts, run with stand-ins for srun, sbatch, squeue and scancel.

tests/cluster/small_experiment.py runs it on a real one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crosswind.profile import read_profile
from crosswind.tools.experiment import slurm
from crosswind.tools.experiment.description import Program
from crosswind.tools.experiment.launcher import LaunchError
from crosswind.tools.experiment.slurm import SlurmLauncher
from crosswind.tools.experiment.slurm_script import (
    JobFiles,
    rank_script,
    read_begin_ns,
    read_ended,
    sbatch_options,
    sbatch_script,
)
from support.preload import LIBRARY

# Runs what comes after the options, as --ntasks tasks one after the other; their output goes where --output says.
SRUN = """\
#!/bin/bash
tasks=1 output=/dev/stdout
while [[ $1 == --* ]]; do
  case $1 in
  --ntasks=*) tasks=${1#*=} ;;
  --output=*) output=${1#*=} ;;
  --chdir=*) cd "${1#*=}" || exit ;;
  esac
  shift
done
code=0
for ((rank = 0; rank < tasks; rank++)); do
  SLURM_PROCID=$rank SLURM_STEP_ID=0 SLURMD_NODENAME=n1 "$@" >>"${output//%%/%}" || code=$?
done
exit $code
"""
# A job is a process group, its id that of its first process.
SBATCH = """\
#!/bin/bash
for word in "$@"; do case $word in --chdir=*) cd "${word#*=}" || exit ;; esac; done
SLURM_JOB_ID=THE_JOB setsid bash "$word" </dev/null >/dev/null 2>&1 &
echo $! >STATE/pid
echo THE_JOB
"""
SQUEUE = """\
#!/bin/bash
kill -0 -- "-$(cat STATE/pid 2>/dev/null || echo none)" 2>/dev/null || exit 0
case "$*" in *%Z*) echo "THE_JOB RUNNING FOLDER" ;; *) echo RUNNING ;; esac
"""
SCANCEL = """\
#!/bin/bash
echo "$*" >>STATE/scancel
case "$1" in
--signal=TERM) pkill -TERM -g "$(cat STATE/pid)" sleep ;;
--signal=KILL) pkill -KILL -g "$(cat STATE/pid)" sleep ;;
*) kill -KILL -- "-$(cat STATE/pid)" ;;
esac
"""
JOB = str(os.getpid())  # several of these tests may run on a machine
SPOOL = Path(f"/dev/shm/crosswind-{JOB}")
STAND_INS = {"srun": SRUN, "sbatch": SBATCH, "squeue": SQUEUE, "scancel": SCANCEL, "sinfo": "#!/bin/sh\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's folder with a name that a shell and Slurm could take for something else."""
    path = tmp_path / "it's 100%j $HOME" / "a--b--0"
    for role in ("probe", "signal"):
        (path / role).mkdir(parents=True)
    return path


@pytest.fixture
def stand_ins(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands; the directory where they keep their state."""
    for name, text in STAND_INS.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        for word, value in (("STATE", tmp_path), ("THE_JOB", JOB), ("FOLDER", str(folder).replace("$", "\\$"))):
            text = text.replace(word, str(value))
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CROSSWIND_LIBRARY", str(LIBRARY))
    return tmp_path


def program(*command: str, **words: object) -> Program:
    return Program.model_validate({"name": "prog", "command": list(command), "mpi": "", **words})


class TestScript:
    def test_options_are_those_of_the_program(self, folder):
        wide = program("x", mpi="openmpi", nodes=2, ranks_per_node=3, nodelist=["n1", "n2"], seconds=10)
        options = sbatch_options(wide, JobFiles(folder, "probe"), "a--b--0-probe")
        assert {"--nodes=2", "--ntasks=6", "--ntasks-per-node=3", "--nodelist=n1,n2", "--no-requeue"} <= set(options)
        assert "--time=5" in options  # 5 * 10 s + 60 s + 180 s
        assert "--signal=TERM@60" in options  # of the program: what the job made is gathered and removed in that minute
        assert f"--output={str(folder).replace('%', '%%')}/probe.log" in options
        assert f"--chdir={folder}" in options
        assert "--exclusive" not in options

    def test_without_a_nodelist_nobody_else_is_on_its_nodes(self, folder):
        options = sbatch_options(program("x"), JobFiles(folder, "probe"), "a--b--0-probe")
        assert "--exclusive" in options
        assert not [word for word in options if word.startswith("--nodelist")]

    @pytest.mark.parametrize(("mpi", "kind"), [("openmpi", "pmix"), ("mpich", "pmi2"), ("", "none")])
    def test_each_mpi_finds_its_ranks(self, folder, mpi, kind):
        files = JobFiles(folder, "probe")
        text = sbatch_script(program("x", mpi=mpi), files, Path("/scratch"), [])
        (line,) = [line for line in text.splitlines() if line.startswith("srun") and "bash -c" not in line]
        assert f"--mpi={kind}" in shlex.split(line)

    def test_a_user_without_an_exported_environment_has_one_in_the_steps(self, folder):
        """SBATCH_EXPORT=NONE would take from the second step where it is to copy to."""
        text = sbatch_script(program("x"), JobFiles(folder, "probe"), Path("/scratch"), [])
        steps = [line for line in text.splitlines() if line.startswith("srun")]
        assert [line.count("--export=ALL") for line in steps] == [1, 1]
        assert '"${gathered:?}/"' in text

    def test_a_rank_becomes_the_program(self, folder, stand_ins):
        """With its words as they are, our library before the user's, and nothing of ours that it should not have."""
        show = 'echo "$0|$1|$LD_PRELOAD|$CROSSWIND_SLICE|$CROSSWIND_DIGEST|${CROSSWIND_DISABLE-unset}|$$"'
        path = folder / "rank"
        path.write_text(rank_script(["bash", "-c", show, "it's", "$(false) {x}"], LIBRARY, "1s", "a--b--0-probe"))
        users = "/lib/x86_64-linux-gnu/libm.so.6"
        environment = {**os.environ, "SLURM_JOB_ID": JOB, "SLURM_PROCID": "0", "CROSSWIND_DISABLE": "1"}
        with subprocess.Popen(
            ["bash", str(path)], env={**environment, "LD_PRELOAD": users}, stdout=subprocess.PIPE, text=True
        ) as started:
            output = started.communicate(timeout=30)[0]
        try:
            assert output == f"it's|$(false) {{x}}|{LIBRARY}:{users}|1s|off|unset|{started.pid}\n"
            assert SPOOL.stat().st_mode & 0o777 == 0o700
            assert [path.name for path in SPOOL.glob("begin.*")] == ["begin.0"]
        finally:
            subprocess.run(["rm", "-r", str(SPOOL)], check=True)

    def test_an_old_bash_is_enough(self, folder, stand_ins):
        """One that knows no EPOCHREALTIME, as those before 5.0."""
        (stand_ins / "old").write_text("unset EPOCHREALTIME\n")
        files = JobFiles(folder, "probe")
        files.of("rank").write_text(rank_script(["true"], LIBRARY, "1s", "a--b--0-probe"))
        files.of("sbatch").write_text(sbatch_script(program("x"), files, stand_ins / "scratch", []))
        begin_ns = time.time_ns()
        environment = {**os.environ, "SLURM_JOB_ID": JOB, "BASH_ENV": str(stand_ins / "old")}
        subprocess.run(["bash", str(files.of("sbatch"))], env=environment, check=True, timeout=60)
        ended = read_ended(files)
        assert begin_ns - 1000 < ended.begin_ns < read_begin_ns(files) < ended.end_ns < time.time_ns()

    def test_what_nobody_could_write_down_is_not_known(self, folder):
        """A full /dev/shm leaves empty files."""
        files = JobFiles(folder, "probe")
        files.of("spool").mkdir()
        (files.of("spool") / "begin.0").touch()
        assert read_begin_ns(files) is None
        files.of("ended").touch()
        with pytest.raises(LaunchError, match=r"probe\.ended is damaged: see "):
            read_ended(files)

    def test_a_spool_directory_that_somebody_else_made_is_not_used(self, folder, stand_ins):
        """Job ids can be guessed, and /dev/shm is everybody's."""
        path, theirs = folder / "rank", stand_ins / "theirs"
        path.write_text(rank_script(["touch", str(stand_ins / "ran")], LIBRARY, "1s", "a--b--0-probe"))
        theirs.mkdir()
        SPOOL.symlink_to(theirs)
        try:
            environment = {**os.environ, "SLURM_JOB_ID": JOB, "SLURM_PROCID": "0"}
            done = subprocess.run(["bash", str(path)], env=environment, capture_output=True, text=True, timeout=30)
        finally:
            SPOOL.unlink()
        assert (done.returncode, list(theirs.iterdir())) == (1, [])
        assert done.stderr == f"crosswind: {SPOOL} is not this job's own\n"
        assert not (stand_ins / "ran").exists()


class TestLauncher:
    def test_what_is_missing_is_said(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        assert SlurmLauncher(tmp_path).why_not([]).startswith("no sbatch, squeue, scancel, sinfo here: ")

    def test_a_program_that_was_not_built_is_said(self, stand_ins, monkeypatch):
        (stand_ins / "libcrosswind.so").touch()
        monkeypatch.setenv("CROSSWIND_LIBRARY", str(stand_ins / "libcrosswind.so"))
        assert SlurmLauncher(stand_ins).why_not([]) == ""
        assert "no load programs in" in SlurmLauncher(stand_ins).why_not([program("{load}/load-cpu")])

    def test_a_run_leaves_its_record_and_nothing_else(self, stand_ins, folder):
        launcher = SlurmLauncher(stand_ins / "scratch")
        script = "touch {scratch}/file; pwd; echo 12.5 steps; sleep 2.5; exit 3"
        asked = program("bash", "-c", script, measure="steps", pattern=r"([\d.]+) steps")
        begin_ns = time.time_ns()
        record = launcher.wait(launcher.start(asked, folder, "probe", "1s"), 60)
        assert (record.job_id, record.step, record.exit_code, record.steps_per_s) == ("a--b--0-probe", "0", 3, 12.5)
        assert begin_ns < record.begin_ns < record.end_ns < time.time_ns()
        assert 2.4 < record.elapsed_s < 5
        assert read_profile(folder / record.profile).job.id == "a--b--0-probe"  # whatever Slurm's id is
        assert (folder / "probe.out").read_text().splitlines()[0] == str(folder / "probe")
        assert list((stand_ins / "scratch").iterdir()) == []
        assert not SPOOL.exists()
        assert not (folder / "probe.spool").exists()

    def test_the_program_itself_is_asked_to_end(self, stand_ins, folder):
        launcher = SlurmLauncher(stand_ins)
        started = launcher.start(program("sleep", "100"), folder, "signal", "1s")
        record = launcher.stop(started)
        assert set((stand_ins / "scancel").read_text().splitlines()) == {f"--signal=TERM {JOB}.0"}
        assert (record.stopped, record.exit_code) == (True, 143)

    def test_one_that_has_ended_by_itself_was_not_stopped(self, stand_ins, folder):
        launcher = SlurmLauncher(stand_ins)
        started = launcher.start(program("true"), folder, "signal", "1s")
        while not JobFiles(folder, "signal").of("ended").exists():
            time.sleep(0.1)
        record = launcher.stop(started)
        assert (record.stopped, record.exit_code) == (False, 0)

    def test_one_that_takes_too_long_can_be_abandoned(self, stand_ins, folder):
        launcher = SlurmLauncher(stand_ins)
        started = launcher.start(program("sleep", "100"), folder, "probe", "1s")
        with pytest.raises(LaunchError, match=f"prog: job {JOB} did not end within 1 s"):
            launcher.wait(started, 1)
        launcher.abandon(folder)
        assert (stand_ins / "scancel").read_text() == f"--signal=KILL {JOB}.0\n"
        assert read_ended(JobFiles(folder, "probe")).exit_code == 137
        assert not SPOOL.exists()
        launcher.abandon(folder)  # nothing is left, nothing is done
        assert (stand_ins / "scancel").read_text() == f"--signal=KILL {JOB}.0\n"

    def test_a_job_that_is_gone_without_a_word_is_lost(self, stand_ins, folder, monkeypatch):
        monkeypatch.setattr(slurm, "ASK_S", 0.1)
        monkeypatch.setattr(slurm, "LATE_S", 0.3)
        launcher = SlurmLauncher(stand_ins)
        started = launcher.start(program("sleep", "100"), folder, "probe", "1s")
        subprocess.run(["scancel", JOB], check=True)
        with pytest.raises(LaunchError, match=f"job {JOB} was lost"):
            launcher.wait(started, 30)

    @pytest.mark.parametrize("text", ["0   0\n", "0 1 x 0\n", ""])
    def test_an_end_that_makes_no_sense_costs_the_run_and_no_more(self, stand_ins, folder, text):
        launcher = SlurmLauncher(stand_ins)
        started = launcher.start(program("sleep", "100"), folder, "probe", "1s")
        JobFiles(folder, "probe").of("ended").write_text(text)
        with pytest.raises(LaunchError, match="is damaged: see"):
            launcher.wait(started, 60)
        launcher.abandon(folder)

    def test_a_job_that_waits_is_asked_for_less_and_less_often(self, stand_ins, folder, monkeypatch):
        asked: list[float] = [0.0]
        monkeypatch.setattr(slurm, "_slurm", lambda *command: JOB if command[0] == "sbatch" else "PENDING")
        clock = SimpleNamespace(monotonic=lambda: asked[-1], sleep=lambda seconds: asked.append(asked[-1] + seconds))
        monkeypatch.setattr(slurm, "time", clock)
        with pytest.raises(LaunchError, match="waited in the queue for 60 minutes"):
            SlurmLauncher(stand_ins).start(program("true"), folder, "probe", "1s")
        gaps = np.diff(asked)
        assert (gaps[0], gaps[-1]) == pytest.approx((0.3, 5.0))
        assert len(gaps) < 800  # of an hour

    def test_variables_that_change_slurms_answers_are_not_passed_on(self, stand_ins, folder, monkeypatch):
        for name in ("SQUEUE_PARTITION", "SCANCEL_INTERACTIVE", "SINFO_FORMAT", "SLURM_JOB_ID"):
            monkeypatch.setenv(name, "x")
        monkeypatch.setenv("SBATCH_ACCOUNT", "theirs")
        environment = slurm._environment()
        assert environment["SBATCH_ACCOUNT"] == "theirs"
        assert not [name for name in environment if name.startswith(("SQUEUE_", "SCANCEL_", "SINFO_", "SLURM_JOB"))]

    def test_a_program_that_is_about_to_start_is_killed_when_it_has(self, stand_ins, folder):
        scancel = stand_ins / "bin" / "scancel"
        first_fails = "[ -e STATE/asked ] || { touch STATE/asked; exit 1; }\n"
        scancel.write_text(SCANCEL.replace("\n", f"\n{first_fails}", 1).replace("STATE", str(stand_ins)))
        launcher = SlurmLauncher(stand_ins)
        launcher.start(program("sleep", "100"), folder, "probe", "1s")
        launcher.abandon(folder)
        assert read_ended(JobFiles(folder, "probe")).exit_code == 137
        assert not SPOOL.exists()

    def test_what_could_not_be_gathered_is_no_profile(self, stand_ins, folder):
        copy = stand_ins / "bin" / "cp"
        copy.write_text("#!/bin/sh\nexit 1\n")
        copy.chmod(0o755)
        launcher = SlurmLauncher(stand_ins)
        with pytest.raises(LaunchError, match="prog left no spool files: see "):
            launcher.wait(launcher.start(program("true"), folder, "probe", "1s"), 60)

    def test_a_refusal_is_in_slurms_own_words(self, stand_ins, folder):
        (stand_ins / "bin" / "sbatch").write_text("#!/bin/sh\necho sbatch: error: no such partition >&2\nexit 1\n")
        with pytest.raises(LaunchError, match="sbatch: sbatch: error: no such partition"):
            SlurmLauncher(stand_ins).start(program("true"), folder, "probe", "1s")
