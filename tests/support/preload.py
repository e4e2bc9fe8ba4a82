"""Runs a program under the library that was built, and reads what was counted."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosswind.profile import Profile, merge_directory, summarize

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CROSSWIND_BUILD", ROOT / "build")).absolute()
LIBRARY = BUILD / "libcrosswind.so"
PROGRAMS = BUILD / "tests"
TABLE = ROOT / "wrappers" / "posix" / "functions.toml"

# They call every function of the table, under every name.
FUNCTION_PROGRAMS = (
    "posix_attributes", "posix_names", "posix_special", "posix_stdio", "posix_transfers", "posix_wide",
)  # fmt: skip

# A process gets a spool file of its own at its first call, or is one record in the log of short processes.
MODES = {"own spool file": {"CROSSWIND_HELPER_AFTER": "0"}, "log of short processes": {}}

Counts = dict[str, tuple[int, int, int]]  # function: calls, bytes out, bytes in


def environment(spool: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment without its own Crosswind options, plus the library."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD"))}
    return {
        **clean,
        "LC_ALL": "C",
        "LD_PRELOAD": str(LIBRARY),
        "CROSSWIND_SPOOL": str(spool),
        "CROSSWIND_JOB_ID": "test",
        "CROSSWIND_DIGEST": "off",
        **(extra or {}),
    }


def run(
    command: Sequence[str | Path], spool: Path, *, extra: Mapping[str, str] | None = None, cwd: Path | None = None,
    stdin: bytes = b"", status: int = 0,
) -> bytes:  # fmt: skip
    """Run `command` under the library; its standard output. Fails unless it ends with `status`."""
    done = subprocess.run(
        [str(c) for c in command], env=environment(spool, extra), cwd=cwd, input=stdin, capture_output=True, timeout=100
    )
    assert done.returncode == status, (command, done.returncode, done.stdout[-500:], done.stderr[-2000:])
    assert done.stderr == b""
    return done.stdout


def profile(spool: Path) -> Profile:
    """The one job step that ran with this spool directory; everything in it could be read."""
    (found,) = merge_directory(spool)
    assert found.dropped_files == (), found.dropped_files
    return found


def counts(found: Profile) -> Counts:
    """What was called at all, summed over processes."""
    functions = summarize(found)["functions"]
    return {
        n: (f["calls"], f["bytes_out"], f["bytes_in"])
        for n, f in functions.items()
        if any((f["calls"], f["bytes_out"], f["bytes_in"]))
    }


def expected(output: bytes) -> Counts:
    """What a program built on posix_expect.h says that it called: the last lines of its output."""
    result = {}
    for line in output.decode().rpartition("--\n")[2].splitlines():
        name, *numbers = line.split()
        result[name] = tuple(int(n) for n in numbers)
    return result


def table() -> list[dict]:
    """The rows of the table."""
    return tomllib.loads(TABLE.read_text())["function"]


def generator() -> object:
    """wrappers/posix/generate.py as a module."""
    sys.path.insert(0, str(TABLE.parent))
    try:
        import generate
    finally:
        sys.path.remove(str(TABLE.parent))
    return generate
