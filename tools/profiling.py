"""What it takes to run a program under the library: a spool directory of its own, and the environment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from crosswind.tools.errors import CommandError
from crosswind.tools.library import preload

__all__ = ["MAX_JOB_ID", "PREFIX", "make_spool", "profiled_environment", "spool_base"]

MAX_JOB_ID = 63
MAX_SPOOL_PATH = 200  # the library keeps the directory in 256 bytes
PREFIX = "crosswind-run-"


def spool_base() -> Path:
    """Where private spool directories are made by default: in memory if that can be written, else TMPDIR."""
    memory = Path("/dev/shm")  # noqa: S108 (the directories in it are made by mkdtemp)
    return memory if os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def make_spool(base: Path | None = None) -> Path:
    """A new spool directory for one run. CommandError: none can be made there."""
    base = (base or spool_base()).absolute()
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    except OSError as error:
        raise CommandError(f"{base}: no spool directory there ({error.strerror}): name one with --spool") from error
    if len(os.fsencode(directory)) > MAX_SPOOL_PATH:
        directory.rmdir()
        raise CommandError(f"{base}: the path is too long for a spool directory: name a shorter one with --spool")
    return directory


def profiled_environment(
    before: Mapping[str, str],
    library: Path,
    spool: Path,
    job_id: str,
    slice_length: str | None = None,
    digest: str | None = None,
) -> dict[str, str]:
    """The environment `before` with what makes a program leave its counts in the spool directory."""
    environment = {
        **before,
        "LD_PRELOAD": preload(library, before.get("LD_PRELOAD")),
        "CROSSWIND_SPOOL": str(spool),
        "CROSSWIND_JOB_ID": job_id,
    }
    if slice_length:
        environment["CROSSWIND_SLICE"] = slice_length
    if digest:
        environment["CROSSWIND_DIGEST"] = digest
    return environment
