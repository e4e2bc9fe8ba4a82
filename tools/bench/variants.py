"""What the benchmarks compare, and where: the variants of a program, its build folder, its launcher."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measure import BenchError, Variant

BARE, FORWARD, TICKS, CROSSWIND, UNTIMED = "bare", "forward", "forward + 2 ticks", "Crosswind", "Crosswind, no timing"


@dataclass(frozen=True)
class Setup:
    """What all benchmarks need: where the programs are, how many rounds, whom to tell about progress."""

    build: Path
    scale: float
    progress: Callable[[str, int], Callable[[], None]]

    def program(self, name: str) -> Path:
        """A program of tools/bench. Raises BenchError when it is not built."""
        path = self.build / "bench" / name
        if not path.exists():
            raise BenchError(f"{path} is missing: run `make build`")
        return path

    def rounds(self, full: int) -> int:
        """Rounds of a benchmark; --quick takes fewer."""
        return max(int(full * self.scale), 5)

    def variants(self) -> dict[str, Variant]:
        """All variants by name."""
        library = str(self.build / "libcrosswind.so")
        all_of_them = (
            Variant(BARE),
            Variant(FORWARD, str(self.program("forward.so"))),
            Variant(TICKS, str(self.program("forward_ticks.so"))),
            Variant(CROSSWIND, library),
            Variant(UNTIMED, library, {"CROSSWIND_TIMING": "0"}),
        )
        return {variant.name: variant for variant in all_of_them}


@contextmanager
def spool_directory() -> Iterator[dict[str, str]]:
    """Environment with a spool directory of its own, which is removed afterwards."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    path = tempfile.mkdtemp(prefix="crosswind-bench-", dir=base)
    try:
        yield {
            "CROSSWIND_SPOOL": path,
            "CROSSWIND_JOB_ID": "bench",
            "CROSSWIND_DIGEST": "off",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
    finally:
        shutil.rmtree(path, ignore_errors=True)


MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}


def mpirun(mpi: str, *command: str | Path) -> list[str | Path]:
    """Two ranks under one of MPIS; the launcher itself is never preloaded."""
    launcher = shutil.which(f"mpirun.{mpi}")
    if not launcher:
        raise BenchError(f"no mpirun.{mpi}: install {mpi}")
    return [launcher, *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", "2", *command]


def lammps_program() -> str:
    """LAMMPS. Raises BenchError when it is not installed."""
    program = shutil.which("lmp")
    if not program:
        raise BenchError("no lmp: install lammps")
    return program
