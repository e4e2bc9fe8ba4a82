"""The demo, short: two real MPI jobs, their profiles, the database."""

import shutil
import signal
import subprocess
import sys
import time

import pytest

from crosswind.db import queries
from crosswind.db.connection import open_database
from crosswind.profile import read_profile
from crosswind.tools.demo import PROGRAMS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("built")]


@pytest.fixture(autouse=True)
def _needs_programs():
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def test_a_short_demo(crosswind, tmp_path):
    result = crosswind("demo", "--no-serve", "--dir", "d", "--seconds", "16", extra={"CROSSWIND_DIGEST": "short"})
    assert result.returncode == 0, result.stderr
    for text in (
        "LAMMPS's digest",
        "MPI, part of the run time",
        "LAMMPS's estimate: ",
        "What ran beside it: ",
        "crosswind serve --db sqlite:",
    ):
        assert text in result.stdout

    lammps, writer = (read_profile(tmp_path / "d" / f"{name}.xwp") for name in ("lammps", "writer"))
    assert lammps.job.ranks == writer.job.ranks == 2
    assert lammps.job.id != writer.job.id
    assert lammps.segments.n_segments > 20
    # What the writer says that it wrote, by its own count
    output = (tmp_path / "d" / "writer.out").read_text()
    rates = [float(line.split()[-2]) for line in output.splitlines() if line.startswith("quiet")]
    assert len(rates) == 2, "two bursts of 4 s"
    wrote = writer.functions["pwrite"][:, 1].sum()
    assert wrote == pytest.approx(sum(rates) * 1e6 * 4, rel=0.01)
    assert wrote == writer.functions["pwrite"][:, 0].sum() << 20

    with open_database(f"sqlite:///{tmp_path}/d/crosswind.db", create=False).connect() as connection:
        found = {job.job_id: job for job in queries.list_jobs(connection)[0]}
    assert set(found) == {lammps.job.id, writer.job.id}
    assert found[lammps.job.id].estimate["segments"] == lammps.segments.n_segments
    assert not (tmp_path / "d" / "disk.img").exists()


def test_a_terminated_demo_leaves_nothing_behind(environment, tmp_path):
    command = [sys.executable, "-m", "crosswind.tools", "demo", "--no-serve", "--dir", "d", "--seconds", "600"]
    demo = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("d/shared/log.melt")) and time.monotonic() < deadline:
        time.sleep(0.1)
    demo.send_signal(signal.SIGTERM)
    demo.communicate(timeout=60)
    assert demo.returncode == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("d/shared"))
    assert not list(tmp_path.glob("d/disk.img"))
    mine = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(tmp_path) not in mine, "a job still runs"


def test_missing_programs_are_named(crosswind, tmp_path):
    result = crosswind("demo", "--no-serve", extra={"PATH": str(tmp_path)})
    assert result.returncode == 1
    assert "lmp" in result.stderr
    assert "make setup" in result.stderr
