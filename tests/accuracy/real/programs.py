"""The programs of the study, one row each: what they run, and how an amount of work becomes a command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.preload import PROGRAMS as BUILT

__all__ = ["PROGRAMS", "Program"]

SOURCES = Path(__file__).resolve().parents[1] / "programs"
CG_SIZE = 96  # unknowns along an edge: the vectors of a rank are larger than a core's own caches
CG_ITERATIONS = 50


@dataclass(frozen=True)
class Program:
    """A program that can be made to run for a given time.

    command: from a working directory and an amount of work to what each rank runs; writes the inputs. pilot: an amount
    that takes about a second. growth: run time grows with this power of the amount. kinds: of interference that it can
    be given in known amounts.
    """

    name: str
    title: str
    mpi: str
    command: Callable[[Path, int], list[str]]
    pilot: int
    needs: str
    growth: float = 1.0
    kinds: tuple[str, ...] = ("calls", "episodes")

    def missing(self) -> str | None:
        """Why it cannot run here and what would help, or None."""
        if not shutil.which(f"mpirun.{self.mpi}"):
            return f"{self.name}: no mpirun.{self.mpi}: run `make setup`"
        if not shutil.which(self.needs):
            return f"{self.name}: no {self.needs}: run `make setup` and `make build`"
        return None

    def launch(self, directory: Path, amount: int, ranks: int) -> list[str]:
        """The whole command."""
        more = ["--oversubscribe"] if self.mpi == "openmpi" else []
        return [f"mpirun.{self.mpi}", *more, "-n", str(ranks), *self.command(directory, amount)]


def _lammps(script: str) -> Callable[[Path, int], list[str]]:
    def command(directory: Path, steps: int) -> list[str]:
        return ["lmp", "-in", str(SOURCES / script), "-log", "none", "-var", "steps", str(steps)]

    return command


def _hpcc(directory: Path, size: int) -> list[str]:
    text = (SOURCES / "hpccinf.txt.in").read_text()
    (directory / "hpccinf.txt").write_text(text.replace("@SIZE@", str(size)))
    return ["hpcc"]


def _mini_app(name: str, title: str, mpi: str) -> Program:
    path = str(BUILT / f"accuracy_cg.{mpi}")

    def command(directory: Path, solves: int) -> list[str]:
        return [path, str(CG_SIZE), str(CG_ITERATIONS), str(solves)]

    return Program(name, title, mpi, command, pilot=5, needs=path)


_ROWS = (
    Program("lammps", "LAMMPS", "openmpi", _lammps("melt.lmp"), 500, "lmp"),
    Program("lammps-phases", "LAMMPS with phases", "openmpi", _lammps("phases.lmp"), 500, "lmp"),
    Program("hpcc", "HPCC", "openmpi", _hpcc, 1500, "hpcc", growth=2.0, kinds=("calls",)),
    _mini_app("cg", "conjugate gradients", "openmpi"),
    _mini_app("cg-mpich", "conjugate gradients, MPICH", "mpich"),
)
PROGRAMS = {program.name: program for program in _ROWS}
