"""LAMMPS, a program that nobody here wrote: its bytes are those that strace sees, and it yields an estimate."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crosswind.analysis import estimate_profile
from crosswind.profile import summarize
from support.mpi_runs import Part, run
from support.preload import environment, profile

INPUT = Path(__file__).with_name("lammps.in")
WRITE = re.compile(r"^(?:\d+ +)?(?:write|writev|pwrite64|pwritev)\(\d+<(/[^>]*)>.*\) += (\d+)$")
NOT_A_DISK = ("/dev/", "/proc/", "/sys/")

needs_lammps = pytest.mark.skipif(not shutil.which("lmp"), reason="LAMMPS is not installed: no lmp")


def lammps(*options: str) -> list[str]:
    return ["lmp", "-in", str(INPUT), *options]


def bytes_to_disk_by_strace(log: Path, spool: Path) -> int:
    """Bytes of all write-like system calls on files outside of the pseudo file systems, Crosswind's own left out."""
    calls = (WRITE.match(line) for line in log.read_text().splitlines())
    return sum(int(m[2]) for m in calls if m and not m[1].startswith((*NOT_A_DISK, str(spool))))


@needs_lammps
def test_bytes_equal_strace(tmp_path):
    """One run, watched by both. LAMMPS writes through stdio: its bytes reach the kernel by calls inside of libc."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    spool, log = tmp_path / "spool", tmp_path / "strace.log"
    spool.mkdir()
    options = environment(spool, {"CROSSWIND_JOB_ID": "lammps"}).items()
    preload = [f"-E{name}={value}" for name, value in options if name.startswith(("LD_", "CROSSWIND_"))]
    subprocess.run(
        ["strace", "-f", "-y", "-s0", "-esignal=none", "-etrace=write,writev,pwrite64,pwritev", "-o", log,
         *preload, *lammps()],
        cwd=tmp_path, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    totals = summarize(profile(spool))["totals"]
    counted = sum(totals.get(name, {"sum": 0})["sum"] for name in ("stdio_disk_write_bytes", "posix_disk_write_bytes"))
    assert counted == bytes_to_disk_by_strace(log, spool)
    assert counted > 2 * 500 * 8 * 6  # two restart files at least: positions and velocities of 500 atoms


@needs_lammps
@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="Open MPI is not installed: no mpirun.openmpi")
def test_a_run_yields_segments_and_an_estimate(tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    done = run("openmpi", [Part(2, lammps("-log", "none"))], spool, cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.calls(0)["MPI_Allreduce"][0] > 200  # thermo output reduces every step

    found = profile(spool)
    assert found.segments is not None
    assert found.segments.n_segments > 200
    estimate = estimate_profile(found)
    assert estimate.segments == found.segments.n_segments
    assert estimate.sentence()
