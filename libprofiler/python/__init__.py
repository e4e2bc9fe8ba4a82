"""Profiles: reading spool files and profile files, merging, summaries, dumps, conversion.

Formats: docs/format.md. Everything above this package works on `model.Profile`.
"""

from crosswind.profile.errors import FormatError
from crosswind.profile.model import Clock, Column, Job, Process, Profile
from crosswind.profile.segments import SegmentTable
from crosswind.profile.store import read_profile, write_profile

__all__ = [
    "Clock",
    "Column",
    "FormatError",
    "Job",
    "Process",
    "Profile",
    "SegmentTable",
    "read_profile",
    "write_profile",
]
