"""Run mypy on the `crosswind` packages under their real names.

The packages are mapped onto the source folders by pyproject.toml, which mypy cannot follow. So this lays a folder
of links, build/typecheck/crosswind/NAME -> folder, and checks the package there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINKS = ROOT / "build" / "typecheck"


def main() -> int:
    """Make the links and run mypy; its exit code."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = config["tool"]["setuptools"]["package-dir"]
    for package, folder in folders.items():
        if package.count(".") == 1:  # deeper ones lie inside these
            _link(LINKS / Path(*package.split(".")), ROOT / folder)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "crosswind"]
    return subprocess.run(command, cwd=LINKS, env={**os.environ, "MYPYPATH": str(LINKS)}, check=False).returncode


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink():
        link.unlink()
    link.symlink_to(target, target_is_directory=True)


if __name__ == "__main__":
    sys.exit(main())
