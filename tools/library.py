"""Where the preloaded libraries and the load programs are."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from crosswind.tools.errors import CommandError

__all__ = ["NAME", "find_library", "load_folder", "preload"]

NAME = "libcrosswind.so"
# In this order: beside the sources it was built from (editable install), then where `make install` puts it: below the
# prefix of this Python, if that is the same, and below those of the system.
PLACES = (
    Path(__file__).resolve().parent.parent / "build",
    *dict.fromkeys(Path(prefix) / "lib" / "crosswind" for prefix in (sys.prefix, "/usr/local", "/usr")),
)
SEPARATORS = frozenset(" :\t\n")  # what ld.so splits LD_PRELOAD at


def find_library(name: str = NAME, variable: str = "CROSSWIND_LIBRARY") -> Path:
    """The absolute path of a library to preload: what the variable says if it is set, else beside the profiler that
    CROSSWIND_LIBRARY names, else the first known place.

    Raises CommandError when there is none, or when LD_PRELOAD could not name it.
    """
    named, profiler = os.environ.get(variable), os.environ.get("CROSSWIND_LIBRARY")
    beside = (Path(profiler).absolute().parent,) if profiler else ()
    candidates = [Path(named).absolute()] if named else [place / name for place in (*beside, *PLACES)]
    for path in candidates:
        if path.is_file():
            if SEPARATORS & set(str(path)):
                raise CommandError(
                    f"{path}: LD_PRELOAD cannot hold a path with a space or a colon: "
                    f"copy the library elsewhere and set {variable} to it"
                )
            return path
    looked = str(candidates[0]) if named else ", ".join(str(path.parent) for path in candidates)
    raise CommandError(f"no {name} in {looked}: build it with `make build`, install it, or set {variable} to its path")


def load_folder() -> Path:
    """Where the load programs are: beside the library. CommandError: none are there."""
    folder = find_library().parent / "load"
    if not folder.is_dir():
        raise CommandError(f"no load programs in {folder}: build them with `make build` (it needs an MPI)")
    return folder


def preload(library: Path, before: str | None) -> str:
    """The value of LD_PRELOAD: the library first, whatever was there already after it."""
    others = [part for part in re.split(r"[ :]+", before or "") if part and part != str(library)]
    return ":".join([str(library), *others])
