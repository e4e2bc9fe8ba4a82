"""The files that hold segments: profiles and CSV, told apart by their first bytes."""

from __future__ import annotations

from pathlib import Path

from crosswind.profile.model import Profile
from crosswind.profile.segments import SegmentTable, read_csv
from crosswind.profile.store import MAGIC, read_profile

__all__ = ["read_run"]


def read_run(path: Path) -> Profile | SegmentTable:
    """A run: its whole profile, or the segments that a CSV file has of it. Raises FormatError, OSError."""
    with path.open("rb") as file:
        is_profile = file.read(len(MAGIC)) == MAGIC
    return read_profile(path) if is_profile or path.suffix == ".xwp" else read_csv(path)
