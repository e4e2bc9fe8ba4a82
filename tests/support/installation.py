"""Installs what was built, as docs/operations.md says, below a prefix of the tests."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.load_programs import bare_environment
from support.preload import BUILD, LIBRARY, ROOT

CONTAINERFILE = ROOT / "packaging" / "container" / "Containerfile"
PIP = [sys.executable, "-m", "pip", "-q", "--no-input", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Site:
    """Where things were installed, and how its programs are run: without a word on where the library is."""

    prefix: Path
    work: Path

    @property
    def libraries(self) -> Path:
        """The folder that the pages call /usr/lib/crosswind."""
        return self.prefix / "lib" / "crosswind"

    @property
    def spool(self) -> Path:
        """Of what runs here."""
        return self.work / "spool"

    def run(self, *command: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end. It has to end well."""
        env = {**bare_environment(), "CROSSWIND_SPOOL": str(self.spool), "CROSSWIND_DIGEST": "off", **extra}
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=self.work, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def crosswind(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run the installed command."""
        return self.run(self.prefix / "bin" / "crosswind", *arguments)


def install(prefix: Path, **environment: str) -> None:
    """CMake's part."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not there: run `make build`")
    command = ["cmake", "--install", str(BUILD), "--prefix", str(prefix)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def install_python(prefix: Path, wheel: Path) -> None:
    """The Python part: an environment at the prefix itself. What it needs is that of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    _pip("--python", prefix / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    (packages,) = prefix.glob("lib/python*/site-packages")
    (packages / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")


def make_wheel(source: Path) -> Path:
    """The Python part. source: an empty folder. It gets what the container's image takes and no more, so that this is
    known to be enough."""
    for names, target in copied_into_the_image():
        to = source / target.removeprefix("/source/")
        to.mkdir(parents=True, exist_ok=True)
        for found in (Path(path) for name in names for path in glob.glob(str(ROOT / name))):
            if found.is_dir():
                shutil.copytree(found, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(found, to)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", source, source)
    (wheel,) = source.glob("*.whl")
    return wheel


def copied_into_the_image() -> list[tuple[list[str], str]]:
    """What the container's image takes from the sources, and to where."""
    lines = [line.split()[1:] for line in CONTAINERFILE.read_text().splitlines() if line.startswith("COPY ")]
    return [(sources, target) for *sources, target in lines if not sources[0].startswith("--from")]


def _pip(*arguments: str | Path) -> None:
    done = subprocess.run([*PIP, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
