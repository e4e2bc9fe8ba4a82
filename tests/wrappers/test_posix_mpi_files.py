"""MPI-IO and parallel HDF5: what the ranks read and write in files, against strace.

Both of Open MPI's implementations (OMPIO, ROMIO) and MPICH's. Only files of the class in which the tests lie are
compared: through pipes and sockets an MPI library sends what it likes, when it likes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from crosswind.profile import merge_directory
from support import strace
from support.file_classes import class_of
from support.mpi_runs import Part, program, run
from support.preload import LIBRARY

SOURCES = Path(__file__).parent
RANKS = 2
PSEUDO = ("/proc/", "/sys/", "/dev/", "/run/")
IMPLEMENTATIONS = {
    "ompio": ("openmpi", {"OMPI_MCA_io": "ompio"}),
    "romio": ("openmpi", {"OMPI_MCA_io": "romio321"}),
    "mpich": ("mpich", {}),
}


def compile_hdf5(mpi: str, into: Path) -> Path:
    """The HDF5 program for one MPI. Skips the test where that HDF5 is not installed."""
    compiler = f"h5pcc.{mpi}" if shutil.which(f"h5pcc.{mpi}") else ""
    if not compiler:
        pytest.skip(f"no h5pcc.{mpi}: apt install libhdf5-{mpi}-dev")
    binary = into / "posix_hdf5"
    subprocess.run([compiler, "-O1", "-o", binary, SOURCES / "posix_hdf5.c"], cwd=into, check=True, capture_output=True)
    return binary


def crosswind(spool: Path, file_class: str) -> Counter:
    """Bytes that the ranks moved in files of a class, as Crosswind counted them."""
    total: Counter = Counter()
    for step in merge_directory(spool):  # without a batch system, ranks of MPICH are steps of their own
        for layer in ("posix", "stdio"):
            for way, op in (("in", "read"), ("out", "write")):
                metric = f"{layer}_{file_class}_{op}_bytes"
                total[way] += int(step.totals[metric].sum()) if metric in step.totals else 0
    return total


def kernel(log: Path, spool: Path, file_class: str) -> Counter:
    """The same as strace saw it."""

    def is_of_class(path: str) -> bool:
        if not path.startswith("/") or path.startswith(PSEUDO):
            return False
        return class_of(next(p for p in (Path(path), *Path(path).parents) if p.exists())) == file_class

    return strace.moved(strace.transfers(log.parent.glob(log.name + ".*"), spool), is_of_class)


@pytest.mark.parametrize("what", ["posix_mpiio", "posix_hdf5"])
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_file_bytes_equal_those_of_strace(name, what, tmp_path):
    mpi, settings = IMPLEMENTATIONS[name]
    file_class = class_of(tmp_path)
    if file_class == "mem":
        pytest.skip("the tests lie on a memory file system, where /proc would be counted too")
    binary = program(what, mpi) if what == "posix_mpiio" else compile_hdf5(mpi, tmp_path)
    spool, log = tmp_path / "spool", tmp_path / "strace"
    spool.mkdir()
    library = {"LD_PRELOAD": str(LIBRARY), "CROSSWIND_SPOOL": str(spool), "CROSSWIND_DIGEST": "off", **settings}
    traced = strace.command_line([binary, tmp_path / "file"], log, library, "-ff")
    done = run(mpi, [Part(RANKS, traced, bare=True)], spool)
    assert done.status == 0, done.err
    assert len(done.spools) == RANKS
    truth = kernel(log, spool, file_class)
    assert truth["in"] > 100_000
    assert truth["out"] > 100_000
    assert crosswind(spool, file_class) == truth
