"""machine.json: what the runs were made on and with. Nothing of the environment of who runs it."""

from __future__ import annotations

import platform
import re
import subprocess
import time
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from crosswind.tools.experiment.description import Program
from crosswind.tools.mpi_launch import mpirun

__all__ = ["describe", "machine_words", "read_note"]

TIMEOUT_S = 20.0
MAX_NOTE = 200  # characters


def describe(
    seen: dict[str, Any], programs: Collection[Program], scratch: Path | None, note: str = ""
) -> dict[str, Any]:
    """The document. seen: what the launcher says of the machine. scratch: None where only other machines have it. note:
    what nobody but who runs it can say; without one the document has none.
    """
    return {
        **seen,
        **({"note": note} if note else {}),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "memory_bytes": _memory(),
        "scratch_file_system": _file_system(scratch) if scratch else "",
        "mpi": {mpi: _version(mpi) for mpi in sorted({p.mpi for p in programs} - {""})},
        "python": platform.python_version(),
        "crosswind": version("crosswind"),
    }


def read_note(given: str) -> str:
    """What `--note` says: the text itself, or of @FILE what is in that file. click.UsageError: no short line."""
    try:
        text = (_begin_of(Path(given[1:])) if given.startswith("@") else given).strip()
    except OSError as error:
        raise click.UsageError(f"--note: {given[1:]}: {error.strerror}") from None
    except ValueError:  # not UTF-8
        text = "\0"
    if len(text) > MAX_NOTE or not text.isprintable():
        raise click.UsageError(f"--note: has to be one line of text, of {MAX_NOTE} characters at most")
    return text


def machine_words(machine: Mapping[str, Any]) -> str:
    """What a document says in words: the machine, and the notes on it, also later ones; "" where it says nothing."""
    later = machine.get("later")
    documents = [machine, *(later if isinstance(later, list) else [])]
    notes = [document.get("note") for document in documents if isinstance(document, dict)]
    first, *others = [note[:MAX_NOTE] for note in notes if isinstance(note, str)] or [""]
    name = machine.get("machine")
    parts = [name if isinstance(name, str) else "", first, *(f"later: {note}" for note in others)]
    return "; ".join(part for part in parts if part)


def _begin_of(path: Path) -> str:
    """As much as a note may have, and more."""
    with path.open("rb") as file:
        return file.read(4 * MAX_NOTE + 2).decode()


def _memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return 0


def _file_system(path: Path) -> str:
    """The type of the file system that the nearest directory that exists is on."""
    while not path.exists():
        path = path.parent
    return _said(["stat", "--file-system", "--format=%T", str(path)]).strip()


def _version(mpi: str) -> str:
    """The first number with a dot that the MPI's launcher says of itself."""
    found = re.search(r"\d+(\.\d+)+\w*", _said([mpirun(mpi, 1)[0], "--version"]))
    return found[0] if found else ""


def _said(command: list[str]) -> str:
    """What the command writes; "": it is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
