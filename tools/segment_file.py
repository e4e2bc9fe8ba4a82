"""The files that hold segments: profiles and CSV, told apart by their first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosswind.profile.model import Profile
    from crosswind.profile.segments import SegmentTable

__all__ = ["read_run", "segments_of"]


def read_run(path: Path) -> Profile | SegmentTable:
    """A run: its whole profile, or the segments that a CSV file has of it. Raises FormatError, OSError."""
    from crosswind.profile.segment_csv import read_csv
    from crosswind.profile.store import MAGIC, read_profile

    with path.open("rb") as file:
        is_profile = file.read(len(MAGIC)) == MAGIC
    return read_profile(path) if is_profile or path.suffix == ".xwp" else read_csv(path)


def segments_of(run: Profile | SegmentTable) -> SegmentTable | None:
    """The segments of a run of either kind; None: a profile that has none."""
    from crosswind.profile.segments import SegmentTable

    return run if isinstance(run, SegmentTable) else run.segments
