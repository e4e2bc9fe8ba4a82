"""Runs MPI programs under the library, each MPI with its own launcher, and reads what every rank counted."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from crosswind.profile import SpoolFile, read_spool
from support.preload import LIBRARY, PROGRAMS, Counts

MPIS = ("openmpi", "mpich")
TIMEOUT_S = 120
AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@dataclass(frozen=True)
class Part:
    """Some ranks of a run: how many, what they run, with the library or without."""

    ranks: int
    command: Sequence[str | Path]
    bare: bool = False


@dataclass(frozen=True)
class Run:
    """What a run left: exit status, output and one spool file for each rank that has one."""

    status: int
    out: str
    err: str
    spools: dict[int, SpoolFile]

    def calls(self, rank: int) -> Counts:
        """The MPI functions that a rank called: calls, bytes out, bytes in."""
        spool = self.spools[rank]
        return {
            name: tuple(int(n) for n in row[:3])
            for (name, layer), row in zip(spool.table.functions, spool.functions, strict=True)
            if layer == "mpi" and row[0]
        }


def program(name: str, mpi: str) -> Path:
    """A test program built for one MPI. Skips the test where that MPI is not installed."""
    if not shutil.which(f"mpirun.{mpi}") or not shutil.which(f"mpicc.{mpi}"):
        pytest.skip(f"{mpi} is not installed: no mpirun.{mpi} and mpicc.{mpi}")
    return PROGRAMS / f"{name}.{mpi}"


def run(mpi: str, parts: Sequence[Part], spool: Path, **options: object) -> Run:
    """Run the parts as one MPI job under an MPI of the distribution."""
    return launch([f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else [])], parts, spool, **options)


def launch(
    launcher: Sequence[str | Path], parts: Sequence[Part], spool: Path, *, extra: Mapping[str, str] | None = None,
    preload: Sequence[str | Path] = (LIBRARY,), cwd: Path | None = None, job: Mapping[str, str] | None = None,
) -> Run:  # fmt: skip
    """Run the parts as one MPI job. Only the ranks are preloaded, not the launcher.

    The variables `extra` are for the ranks under the library, `job` for the launcher and all ranks.
    """
    spool.mkdir(exist_ok=True)
    library = {
        "LD_PRELOAD": ":".join(str(p) for p in preload),
        "CROSSWIND_SPOOL": str(spool),
        "CROSSWIND_DIGEST": "off",
    }
    setting = [f"{k}={v}" for k, v in {**library, **(extra or {})}.items()]
    command = [*map(str, launcher)]
    for number, part in enumerate(parts):
        command += [":"] if number else []
        command += ["-n", str(part.ranks), *([] if part.bare else ["env", *setting]), *map(str, part.command)]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD"))}
    environment = {**clean, **AS_ROOT, "LC_ALL": "C", **(job or {})}
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S)
    files = [read_spool(path) for path in sorted(spool.glob("*.xws"))]
    return Run(done.returncode, done.stdout, done.stderr, {f.rank: f for f in files if f.mpi and f.rank is not None})


def run_program(name: str, mpi: str, ranks: int, spool: Path, *arguments: str | Path, **options: object) -> Run:
    """Run one test program on some ranks; it must end well."""
    result = run(mpi, [Part(ranks, [program(name, mpi), *arguments])], spool, **options)
    assert result.status == 0, (name, mpi, result.status, result.out[-500:], result.err[-2000:])
    return result


def closed_by(spool: SpoolFile) -> list[str]:
    """The functions that ended the segments of a rank, in order."""
    names = [name for name, _ in spool.table.functions]
    return [names[function] for function in spool.segments.function]


def check_pending(result: Run) -> None:
    """Compare a run of mpi_pending.c with what its ranks printed: rank, collectives, calls that completed them.

    Every rank has one segment for each collective, whatever it completed together; only one of these has extent (the
    others may be merged from the 65th on). 32
    nonblocking requests are followed at a time; of the 70 that it has at once 38 are too many.
    """
    said = [tuple(map(int, line.split())) for line in result.out.splitlines()]
    assert len(said) == len(result.spools) > 1
    for rank, collectives, cuts in said:
        spool = result.spools[rank]
        duration = spool.segments.values[:, spool.table.segment_fields.index("duration")]
        assert spool.segments.count.sum() == collectives + 1
        assert (duration > 0).sum() == cuts + 1
        assert not spool.segments.values[duration == 0].any()
        assert spool.lost["requests"] == 70 - 32


def expectations(prefix: Path, rank: int) -> Counts:
    """What a program built on mpi_expect.h says that a rank called."""
    lines = Path(f"{prefix}.{rank}").read_text().splitlines()
    return {name: tuple(map(int, numbers)) for name, *numbers in (line.split() for line in lines)}
