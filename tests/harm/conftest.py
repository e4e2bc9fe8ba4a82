"""What the harm tests share: a bench to run cases on, and the report of what could not be compared."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.harm import Case
from support.harm.programs import build
from support.harm.running import Bench
from support.preload import LIBRARY, PROGRAMS

NOT_COMPARED = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def places():
    """The library where other users can load it, too (the repository may lie in somebody's home), and a directory."""
    with tempfile.TemporaryDirectory(prefix="crosswind-harm-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        assert LIBRARY.exists(), f"{LIBRARY} is missing: make build"
        yield Path(shutil.copy(LIBRARY, directory)), Path(directory, "shared")


@pytest.fixture
def bench(places, tmp_path):
    """A bench with an empty spool directory."""
    library, shared = places
    made = Bench(library, shared, tmp_path)
    made.empty_spool()
    return made


@pytest.fixture
def ready(bench):
    """A function that builds what a case needs, and skips the test, saying why, where it cannot run."""

    def make_ready(case: Case) -> Case:
        if missing := [name for name in case.needs if not shutil.which(name)]:
            pytest.skip(f"not installed: {', '.join(missing)}")
        if case.root and os.geteuid() != 0:
            pytest.skip("needs root")
        if "harm_musl" in case.script and not (PROGRAMS / "harm_musl").exists():
            pytest.skip("built without musl-gcc: apt install musl-tools, then build again")
        for name in case.builds:
            build(name)
        if case.probe and bench.bare(Case("probe", case.probe)).status != 0:
            pytest.skip(f"not possible here: {case.probe}")
        return case

    return make_ready


@pytest.fixture
def not_compared(request):
    """A function that notes what of a case differed without the library already."""
    return lambda case, parts: request.config.stash.setdefault(NOT_COMPARED, {}).update({case.name: ", ".join(parts)})


def pytest_terminal_summary(terminalreporter, config):
    """Say which cases were not compared in full."""
    noted = config.stash.get(NOT_COMPARED, {})
    if noted:
        terminalreporter.section(f"harm: {len(noted)} cases differ between two runs without the library")
        for name, parts in noted.items():
            terminalreporter.write_line(f"{name}: not compared: {parts}")


@pytest.fixture
def small_tmpfs(tmp_path):
    """A tmpfs of 64 KiB, for root only."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a tmpfs")
    mount_point = tmp_path / "small"
    mount_point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount_point], check=True)
    yield mount_point
    subprocess.run(["umount", mount_point], check=True)
