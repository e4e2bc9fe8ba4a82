"""Runs a case without and with the library, and says what of it can be compared."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from support.harm.case import Case
from support.harm.programs import BUILT
from support.preload import PROGRAMS, environment

__all__ = ["Bench", "Outcome", "differences", "files_of"]

TIMEOUT_S = 60
OBITUARIES = (b"Killed", b"Terminated", b"Segmentation fault", b"Aborted", b"File size limit exceeded", b"Bad system")
PRELUDE = """
as_user() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}
"""


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a run from outside. status: None if it had to be killed."""

    status: int | None
    stdout: bytes
    stderr: bytes
    files: dict[str, str]


def differences(one: Outcome, other: Outcome) -> list[str]:
    """Names of the parts in which they differ."""
    return [f.name for f in fields(Outcome) if getattr(one, f.name) != getattr(other, f.name)]


@dataclass
class Bench:
    """Where cases run: the library, as a copy that every user can load, and directories that each run finds empty."""

    library: Path
    shared: Path
    base: Path
    spools: int = 0

    @property
    def spool(self) -> Path:
        """Where the library leaves its files."""
        return self.base / f"spool-{self.spools}"

    def empty_spool(self) -> None:
        """Another spool directory, open to all: a process of an earlier run may still be writing to the last one."""
        self.spools += 1
        self.spool.mkdir()
        self.spool.chmod(0o1777)

    def bare(self, case: Case) -> Outcome:
        """Run without the library."""
        env = {k: v for k, v in environment(self.spool).items() if k != "LD_PRELOAD" and not k.startswith("CROSSWIND_")}
        return self._run(case, env)

    def profiled(self, case: Case, options: dict[str, str], preload: Path | None = None) -> Outcome:
        """Run with the library, or another one in its place."""
        return self._run(case, {**environment(self.spool, options), "LD_PRELOAD": str(preload or self.library)})

    def _run(self, case: Case, env: dict[str, str]) -> Outcome:
        """In fresh directories of always the same names."""
        work = self.base / "work"
        for directory in (work, self.shared):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
        self.shared.chmod(0o1777)
        places = {"PROGRAMS": PROGRAMS, "BUILT": BUILT, "SHARED": self.shared, "HOME": work, "PYTHON": sys.executable}
        # The shell itself runs bare or profiled like all the rest.
        process = subprocess.Popen(
            ["bash", "-c", PRELUDE + case.script],
            cwd=work, env={**env, **{k: str(v) for k, v in places.items()}},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Outcome(None, b"", b"", {})
        lines = (_without_process_ids(line) for line in stderr.splitlines())
        return Outcome(process.returncode, stdout, b"\n".join(lines), files_of(work))


def _without_process_ids(line: bytes) -> bytes:
    """bash names the process that a signal ended: `bash: line 1: 4711 Killed  ...`."""
    if not any(word in line for word in OBITUARIES):
        return line
    return b" ".join(b"PID" if word.isdigit() else word for word in line.split())


def files_of(directory: Path) -> dict[str, str]:
    """Name -> kind, mode and content of everything below `directory`."""
    found = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(directory))] = f"{mode:o} {content}"
    return found
