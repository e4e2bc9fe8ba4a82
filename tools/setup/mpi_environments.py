"""Build the environments of mpi-environments.toml in a folder. What cannot be had is named and left out.

    mpi_environments.py FOLDER

An environment is built once: a file in it holds the rows that it was built from.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

TABLE = Path(__file__).with_name("mpi-environments.toml")
STAMP = "crosswind-built-from.json"


def main(folder: Path) -> int:
    """Build what is missing; 0 even when something could not be had: the tests say what they skip."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, row in tomllib.loads(TABLE.read_text()).items():
        place = folder / name
        stamp = place / STAMP
        if not stamp.exists() or json.loads(stamp.read_text()) != row:
            problem = _build(place, row)
            if problem:
                shutil.rmtree(place, ignore_errors=True)
                print(f"{name:<12} NOT AVAILABLE, its tests are skipped: {problem}")
                continue
            stamp.write_text(json.dumps(row))
        print(f"{name:<12} {', '.join(_versions(place, row))}")
    return 0


def _versions(place: Path, row: dict[str, str | list[str]]) -> list[str]:
    """What is in an environment: names and versions of the packages that its row names."""
    if "wheels" in row:
        names = {wheel.partition(">=")[0].replace("-", "_") for wheel in row["wheels"]}
        found = sorted(place.glob("lib/python3*/site-packages/*.dist-info"))
        pairs = [info.stem.split("-", 1) for info in found]
        return [f"{name} {version}" for name, version in pairs if name in names]
    query = ["dpkg-query", f"--admindir={place}/var/lib/dpkg", "-W", "-f", "${Package} ${Version}\n", *row["packages"]]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()


def _build(folder: Path, row: dict[str, str | list[str]]) -> str:
    """Build one environment anew; what went wrong, or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        if "wheels" in row:
            _from_wheels(folder, row["wheels"])
        else:
            _from_debian(folder, str(row["suite"]), row["packages"])
    except subprocess.CalledProcessError as error:
        return f"{error.cmd[0]} ended with {error.returncode}: {_last_line(error.stdout)}"
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""


def _from_wheels(folder: Path, wheels: Sequence[str]) -> None:
    venv.create(folder, with_pip=True)
    _run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *wheels])
    # Programs of Debian's MPICH ask for this name. It lies beside the library, which looks for its parts around itself.
    library = folder / "lib" / "libmpi.so.12"
    if library.exists():
        library.with_name("libmpich.so.12").symlink_to(library.name)


def _from_debian(folder: Path, suite: str, packages: Sequence[str]) -> None:
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise RuntimeError("wants root and debootstrap")
    _run(["debootstrap", "--variant=minbase", suite, folder])
    _run(["chroot", folder, "apt-get", "update", "-q"])
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    _run(["chroot", folder, "env", "DEBIAN_FRONTEND=noninteractive", *install])


def _run(command: Sequence[str | Path]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _last_line(output: str) -> str:
    return (output.strip().splitlines() or [""])[-1]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
