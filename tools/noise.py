"""`crosswind noise`: one of the load programs, with ranks and signals as it needs them."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import click

from crosswind.tools.child import CommandNotRun, end_like, run_child
from crosswind.tools.errors import CommandError
from crosswind.tools.library import load_folder
from crosswind.tools.mpi_launch import MPI_ENVIRONMENT, mpirun
from crosswind.tools.output import one_line

__all__ = ["PROGRAMS", "noise_command"]

# What each stresses, as its own --help says (tools/load/NAME.c).
PROGRAMS = {
    "pattern": "a file system, with one of three access patterns",
    "metadata": "the metadata server of a file system: open, close, stat, rename, unlink of empty files",
    "network": "the network between its ranks: bandwidth of pairs or of all to all, rate of small messages",
    "node": "what the processes of one node share: memory bandwidth or the last-level cache",
    "cpu": "processors: one for each rank",
    "gpubus": "the bus between a node and its GPUs: copies from pinned memory and back",
}
MPIS = ("openmpi", "mpich")
MOST_RANKS = 100_000


@click.command("noise")
@click.option("--mpi", type=click.Choice(MPIS), help="Which MPI's program and launcher.  [the first that is built]")
@click.option("-n", "ranks", type=click.IntRange(1, MOST_RANKS), default=1, show_default=True, help="Ranks.")
@click.argument("name", required=False, type=click.Choice(list(PROGRAMS)))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def noise_command(ctx: click.Context, mpi: str | None, ranks: int, name: str | None, options: tuple[str, ...]) -> None:
    """Put a known load on one resource, to learn what it disturbs.

    NAME is one of the load programs; without it they are listed. OPTIONS go to the program (`-- --help` shows them). At
    its end it prints what it did and when, as JSON. All are bounded in time and volume, and remove their files.

    \b
    Example: crosswind noise pattern -n 2 -- --pattern write-seek --flush --active 12 --silent 12
    """  # fmt: skip
    folder = load_folder()
    if name is None:
        _list(folder)
        return
    program = _program(folder, name, mpi)
    built_for = program.suffix[1:]
    launcher = mpirun(built_for, ranks) if ranks > 1 else []
    command = [*launcher, str(program), *options]
    try:
        translate = _translation(built_for, bool(launcher))
        status = run_child(command, {**MPI_ENVIRONMENT, **os.environ}, translate, apart=bool(launcher))
    except CommandNotRun as error:
        raise CommandError(f"{one_line(command[0])}: {error}: install {built_for}") from None
    ctx.exit(end_like(status))


def _list(folder: Path) -> None:
    """The programs, and for which MPI each was built."""
    for name, stresses in PROGRAMS.items():
        built = [mpi for mpi in MPIS if (folder / f"load-{name}.{mpi}").is_file()]
        missing = "no cuda.h was found" if name == "gpubus" else "no MPI was found"
        click.echo(f"{name:<9} {stresses} ({', '.join(built) or f'not built: {missing}'})")


def _program(folder: Path, name: str, mpi: str | None) -> Path:
    """The program as it was built for the MPI, or for the first whose launcher is there. CommandError: it was not."""
    built = [path for each in MPIS if (path := folder / f"load-{name}.{each}").is_file() and mpi in (None, each)]
    if not built:
        what = "CUDA's headers and an MPI" if name == "gpubus" else f"mpicc.{mpi or MPIS[0]}"
        raise CommandError(f"load-{name} is not in {folder}: install {what}, then `make build`")
    return next((path for path in built if shutil.which(f"mpirun{path.suffix}")), built[0])


def _translation(mpi: str, launched: bool) -> Callable[[int], int]:
    """What to send in place of a signal, so that a program can print its report. Open MPI's mpirun kills its ranks a
    second after SIGINT, SIGTERM or SIGHUP, but passes SIGUSR1 on, and MPICH's dies of SIGHUP. The second signal goes
    through as it is.
    """
    asked = False

    def translate(number: int) -> int:
        nonlocal asked
        if asked or not launched or number not in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            return number
        asked = True
        return signal.SIGUSR1 if mpi == "openmpi" else signal.SIGTERM

    return translate
