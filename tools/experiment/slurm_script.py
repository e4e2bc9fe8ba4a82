"""The batch script that runs one program of a run through Slurm, and what it leaves in the run's folder.

The job has the program as its step 0. Each rank is started by a few lines of shell that note when the program itself
began. Its spool files lie in memory of the node until the program has ended; then a second step copies them
into the run's folder, which all nodes have to see, and removes what was made. The site's plugin leaves the job alone
(CROSSWIND_DISABLE), so that nothing is profiled twice, with or without a plugin. A minute before its time is over Slurm
asks what is left of the program to end, so that a job whose runner is gone gathers and removes its files, too.

In its profile the job has its name, KEY-ROLE, for an id: Slurm's ids begin anew with a new controller, and then two
runs would be one job of the database.

    ROLE.sbatch   ROLE.rank    what Slurm runs, what each rank runs
    ROLE.out      ROLE.err     of the program; ROLE.log is that of the script
    ROLE.spool/*               the spool files, and when each rank began
    ROLE.ended                 written last: exit code of srun, when srun began and ended, exit code of the second step
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswind.tools.experiment.description import Program
from crosswind.tools.experiment.launcher import LaunchError
from crosswind.tools.experiment.records import Role

__all__ = [
    "Ended",
    "JobFiles",
    "rank_script",
    "read_begin_ns",
    "read_ended",
    "sbatch_options",
    "sbatch_script",
]

BEGIN = "begin."  # and the rank: a file beside its spool file
MPI_OF_SRUN = {"openmpi": "pmix", "mpich": "pmi2", "": "none"}
SPARE_S = 180  # beyond the program's own limit: to start, and to gather the files
LAST_S = 60  # before the job's time is over, or up to a minute earlier, its steps are asked to end

SPOOL = "/dev/shm/crosswind-$SLURM_JOB_ID"  # noqa: S108 (of the job's own, mode 0700)

RANK = """\
#!/bin/bash
# Notes when the program begins (UTC, us), and becomes the program as one rank: Slurm signals the task alone.
spool={spool} library={library}
mkdir -m 0700 "$spool" 2>/dev/null # by the node's first rank; job ids can be guessed, so somebody may have come before
if [[ ! -d $spool || -L $spool || ! -O $spool ]]; then
  echo "crosswind: $spool is not this job's own" >&2
  exit 1
fi
date +%s%6N >"$spool/{begin}$SLURM_PROCID" # bash has it itself from 5.0 on only
exec env -u CROSSWIND_DISABLE "LD_PRELOAD=$library${{LD_PRELOAD:+:$LD_PRELOAD}}" "CROSSWIND_SPOOL=$spool" \\
  CROSSWIND_JOB_ID={job} CROSSWIND_SLICE={slice} CROSSWIND_DIGEST=off {command}
"""

BATCH = """\
#!/bin/bash
# sbatch {options}
export CROSSWIND_DISABLE=1 gathered={gathered}
mkdir -p {scratch} "$gathered" || exit
begin=$(date +%s%6N)
srun {srun} bash {rank}
code=$?
end=$(date +%s%6N)
srun {each_node} bash -c '
  [[ -O "{spool}" && ! -L "{spool}" ]] && cp "{spool}"/* "${{gathered:?}}/"
  code=$?
  rm -rf "{spool}"
  exit $code'
not_gathered=$?
rm -rf {scratch}
echo "$code $begin $end $not_gathered" >{ended}.new && mv {ended}.new {ended}
"""


@dataclass(frozen=True)
class JobFiles:
    """Where everything of a program of a run lies."""

    folder: Path
    role: Role

    @property
    def work(self) -> Path:
        """In which the program runs; the runner has made it."""
        return self.folder / self.role

    def of(self, suffix: str) -> Path:
        """ROLE.suffix"""
        return self.folder / f"{self.role}.{suffix}"

    @property
    def made(self) -> list[Path]:
        """All that a job writes and that would be taken for its own by the next."""
        return [self.of(suffix) for suffix in ("out", "err", "log", "ended", "xwp", "spool")]


@dataclass(frozen=True)
class Ended:
    """What the script says at its end; times in ns, UTC, of srun. is_gathered: all nodes' spool files are there."""

    exit_code: int
    begin_ns: int
    end_ns: int
    is_gathered: bool


def sbatch_options(program: Program, files: JobFiles, name: str) -> list[str]:
    """The words for sbatch, without the script. A program without a nodelist has its nodes to itself: two of a pair are
    not to meet on a node by chance.
    """
    return [
        f"--job-name={name}",
        *_shape(program),
        f"--nodelist={','.join(program.nodelist)}" if program.nodelist else "--exclusive",
        f"--time={math.ceil((program.timeout_s + SPARE_S) / 60)}",
        f"--signal=TERM@{LAST_S}",
        f"--chdir={files.folder}",
        f"--output={_plain(files.of('log'))}",
        "--open-mode=append",
        "--no-requeue",
    ]


def sbatch_script(program: Program, files: JobFiles, scratch: Path, options: Sequence[str]) -> str:
    """The script for sbatch. options: those it is submitted with, for who wants to do so again."""
    output = [f"--output={_plain(files.of('out'))}", f"--error={_plain(files.of('err'))}"]
    srun = [
        *_shape(program),
        "--export=ALL",
        f"--chdir={files.work}",
        f"--mpi={MPI_OF_SRUN[program.mpi]}",
        "--kill-on-bad-exit=1",
        *output,
    ]
    each_node = [f"--nodes={program.nodes}", f"--ntasks={program.nodes}", "--ntasks-per-node=1", "--export=ALL"]
    each_node.append("--mpi=none")
    return BATCH.format(
        options=shlex.join(options),
        srun=shlex.join(srun),
        each_node=shlex.join(each_node),
        spool=SPOOL,
        scratch=_quoted(scratch),
        rank=_quoted(files.of("rank")),
        gathered=_quoted(files.of("spool")),
        ended=_quoted(files.of("ended")),
    )


def rank_script(command: Sequence[str], library: Path, slice_length: str, job: str) -> str:
    """What each rank runs. What the user preloads stays, behind the library. job: the id in the profile."""
    return RANK.format(
        spool=SPOOL,
        library=_quoted(library),
        slice=shlex.quote(slice_length),
        job=shlex.quote(job),
        command=shlex.join(command),
        begin=BEGIN,
    )


def read_ended(files: JobFiles) -> Ended | None:
    """What the script said last; None: it has not ended. LaunchError: something else."""
    try:
        code, begin_us, end_us, not_gathered = files.of("ended").read_text().split()
        return Ended(int(code), int(begin_us) * 1000, int(end_us) * 1000, not_gathered == "0")
    except FileNotFoundError:
        return None
    except ValueError:
        raise LaunchError(f"{files.of('ended')} is damaged: see {files.of('log')}") from None


def read_begin_ns(files: JobFiles) -> int | None:
    """When the first rank began, UTC; None: no rank could write it down."""
    said = (path.read_bytes().strip() for path in files.of("spool").glob(f"{BEGIN}*"))
    return min((int(text) * 1000 for text in said if re.fullmatch(rb"\d{1,18}", text)), default=None)


def _shape(program: Program) -> list[str]:
    return [
        f"--nodes={program.nodes}",
        f"--ntasks={program.ranks}",
        f"--ntasks-per-node={program.ranks_per_node}",
    ]


def _plain(path: Path) -> str:
    """As Slurm takes the name of a file literally: a percent sign begins a pattern."""
    return str(path).replace("%", "%%")


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
