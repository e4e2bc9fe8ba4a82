"""`crosswind inject`: a program held up by known interference, to test estimates, pages and sites with."""

from __future__ import annotations

import csv
import ctypes
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from crosswind.tools.child import CommandNotRun, end_like, run_child
from crosswind.tools.errors import CommandError
from crosswind.tools.library import find_library
from crosswind.tools.output import one_line, print_json

__all__ = ["inject_command"]

NAME = "libcrosswind-inject.so"
GROUPS = {
    "p2p": ("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"),
    "collectives": ("MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Gather", "MPI_Allgather",
                    "MPI_Allgatherv", "MPI_Scatter", "MPI_Alltoall", "MPI_Alltoallv"),
    "mpi-io": ("MPI_File_read", "MPI_File_read_at", "MPI_File_read_all", "MPI_File_read_at_all", "MPI_File_write",
               "MPI_File_write_at", "MPI_File_write_all", "MPI_File_write_at_all"),
    "posix": ("read", "pread", "pread64", "readv", "write", "pwrite", "pwrite64", "writev", "fsync", "fdatasync",
              "fread", "fwrite"),
}  # fmt: skip
MAX_EPISODES = 64  # tools/injector/inject.h
UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


class Duration(click.ParamType):
    """A length of time with its unit, `500us`, `5ms`, `0.1s`, as microseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Microseconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", value)
        if not match:
            self.fail(f"{value!r} is no length of time such as 500us, 5ms or 0.1s", param, ctx)
        return float(match[1]) * UNITS_US[match[2]]


class Listed(click.ParamType):
    """A list that the injector reads: words of one form, separated by commas, without blanks."""

    name = "list"

    def __init__(self, form: str, example: str, most: int | None = None) -> None:
        self.form = re.compile(form)
        self.example = example
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """The list as it is."""
        words = value.split(",") if value else []
        for word in words:
            if not self.form.fullmatch(word):
                self.fail(f"{word!r} is not of the form {self.example}", param, ctx)
        if self.most is not None and len(words) > self.most:
            self.fail(f"has {len(words)} entries, {self.most} are possible", param, ctx)
        return str(value)


@dataclass(frozen=True)
class Added:
    """What one process was held up by. rank: -1 where it has none."""

    rank: int
    pid: int
    delays: int
    seconds: float


@click.command("inject", context_settings={"allow_interspersed_args": False})
@click.option(
    "--functions",
    default="collectives",
    show_default=True,
    help=f"Names, or groups of them ({', '.join(GROUPS)}), separated by commas.",
)
@click.option("--mean", type=Duration(), default="5ms", show_default=True, help="Mean of the delays.")
@click.option("--deviation", type=Duration(), default="1ms", show_default=True, help="Their standard deviation.")
@click.option(
    "--probability", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="That a call is held up."
)
@click.option("--ranks", type=Listed(r"\d{1,9}", "0,3"), default="", help="Ranks to hold up, such as 0,3.  [all]")
@click.option(
    "--without-rank",
    is_flag=True,
    help="Hold up processes that have no MPI rank, too (launchers, shells, programs without MPI).",
)
@click.option(
    "--episodes",
    type=Listed(r"\d+(\.\d+)?-\d+(\.\d+)?", "10-20,40-50", MAX_EPISODES),
    default="",
    help="Only in these seconds of a process's life, such as 10-20,40-50.",
)
@click.option("--period", type=Duration(), help="Come and go with this period.")
@click.option("--duty", type=click.FloatRange(0, 1), default=0.33, show_default=True, help="Part of a period.")
@click.option("--busy", is_flag=True, help="Take CPU time while holding up; otherwise sleep.")
@click.option("--seed", type=click.IntRange(0, 2**32), default=0, show_default=True, help="Same seed, same delays.")
@click.option(
    "--log",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the logs there: RANK.PID.csv with begin (UTC, ns), what was added (ns), function.",
)
@click.option("--json", "as_json", is_flag=True, help="Say what was added as JSON, on stderr as always.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def inject_command(
    ctx: click.Context,
    log: Path | None,
    as_json: bool,
    command: tuple[str, ...],
    **options: Any,  # noqa: ANN401 (click's values)
) -> None:
    """Run COMMAND with known interference: chosen calls are held up by Gaussian delays.

    What was really added is written down per process, and summed up on stderr at the end. Put `crosswind run` inside to
    profile the disturbed program. MPI calls of Fortran programs are held up only where the MPI's Fortran binding calls
    the C functions by their plain names (MPICH).

    \b
    Example: crosswind inject --functions MPI_Allreduce --mean 5ms --probability 0.2 \\
             -- crosswind run -- mpirun -n 4 lmp -in in.melt
    """  # fmt: skip
    library = find_library(NAME, "CROSSWIND_INJECT_LIBRARY")
    directory = _log_directory(log)
    try:
        status = run_child(command, _environment(library, directory, options))
        added = read_logs(directory)
    except CommandNotRun as error:
        click.echo(f"crosswind inject: {one_line(command[0])}: {error}", err=True)
        ctx.exit(error.exit_code)
    finally:
        if log is None:
            shutil.rmtree(directory, ignore_errors=True)
    _tell(added, as_json)
    ctx.exit(end_like(status))


def read_logs(directory: Path) -> list[Added]:
    """What each process was held up by, in order of rank. Raises CommandError for a log that is none."""
    found = []
    for path in directory.glob("*.csv"):
        delays = added_ns = 0
        try:
            rank, pid, _ = path.name.split(".")
            with path.open(newline="") as file:
                for _, added, _ in csv.reader(file):
                    delays += 1
                    added_ns += int(added)
            found.append(Added(int(rank), int(pid), delays, added_ns / 1e9))
        except (ValueError, csv.Error):
            raise CommandError(f"{path}: is no log of the injector") from None
    return sorted(found, key=lambda one: (one.rank, one.pid))


def _functions(library: Path, listed: str) -> list[str]:
    """The names that a list of names and groups stands for. CommandError: the injector has no such function."""
    names = [n for word in listed.split(",") for n in GROUPS.get(word.strip(), (word.strip(),)) if n]
    try:
        injector = ctypes.CDLL(str(library))
        count = ctypes.c_uint.in_dll(injector, "inject_n_names").value
        known = {name.decode() for name in (ctypes.c_char_p * count).in_dll(injector, "inject_names") if name}
    except (OSError, ValueError) as error:
        raise CommandError(f"{library}: is no injector of this version ({error}): build it with `make build`") from None
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"cannot hold up {one_line(unknown[0])}" if unknown else "no function to hold up"
        raise CommandError(f"--functions: {what}: name MPI functions that move data or wait, or {', '.join(GROUPS)}")
    return names


def _log_directory(log: Path | None) -> Path:
    if log is None:
        return Path(tempfile.mkdtemp(prefix="crosswind-inject-"))
    try:
        log.mkdir(parents=True, exist_ok=True)
        if any(log.glob("*.csv")):
            raise CommandError(f"{log}: has logs of an earlier run, name another directory")
    except OSError as error:
        raise CommandError(f"{log}: {error.strerror}") from error
    return log.resolve()


def _environment(library: Path, log: Path, options: dict[str, Any]) -> dict[str, str]:
    """The program's environment. The library goes behind what is in LD_PRELOAD: a profiler has to see the delays."""
    before = os.environ.get("LD_PRELOAD", "")
    period = options["period"]
    mine = {
        "LD_PRELOAD": f"{before}:{library}" if before else str(library),
        "CROSSWIND_INJECT_FUNCTIONS": ",".join(_functions(library, options["functions"])),
        "CROSSWIND_INJECT_MEAN_US": f"{options['mean']:g}",
        "CROSSWIND_INJECT_DEVIATION_US": f"{options['deviation']:g}",
        "CROSSWIND_INJECT_PROBABILITY": repr(options["probability"]),
        "CROSSWIND_INJECT_RANKS": options["ranks"],
        "CROSSWIND_INJECT_WITHOUT_RANK": "1" if options["without_rank"] else "",
        "CROSSWIND_INJECT_EPISODES": options["episodes"],
        "CROSSWIND_INJECT_PERIOD_S": f"{period / 1e6:g}" if period else "",
        "CROSSWIND_INJECT_DUTY": repr(options["duty"]),
        "CROSSWIND_INJECT_BUSY": "1" if options["busy"] else "",
        "CROSSWIND_INJECT_SEED": str(options["seed"]),
        "CROSSWIND_INJECT_LOG": str(log),
    }
    return {**os.environ, **mine}


def _tell(added: list[Added], as_json: bool) -> None:
    """What was added, on stderr: stdout is the program's."""
    if as_json:
        print_json([vars(one) for one in added], err=True)
        return
    if not added:
        click.echo("crosswind inject: no call was held up", err=True)
    for one in added:
        who = f"rank {one.rank}" if one.rank >= 0 else f"process {one.pid}"
        click.echo(f"crosswind inject: {who}: {one.seconds:.3f} s in {one.delays} delays", err=True)
