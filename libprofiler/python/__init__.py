"""Profiles: reading spool files and profile files, merging, summaries, dumps, conversion.

Formats: docs/format.md. Everything above this package works on `model.Profile`.
"""

from crosswind.profile.dump import dump_json, dump_text
from crosswind.profile.errors import FormatError
from crosswind.profile.merge import merge_directory, merge_spools
from crosswind.profile.model import Clock, Column, Job, Process, Profile
from crosswind.profile.segment_csv import read_csv, write_csv
from crosswind.profile.segments import SegmentTable
from crosswind.profile.short import ShortLog, read_short_log
from crosswind.profile.spool import SpoolFile, read_spool
from crosswind.profile.store import read_profile, write_profile
from crosswind.profile.summary import summarize

__all__ = [
    "Clock",
    "Column",
    "FormatError",
    "Job",
    "Process",
    "Profile",
    "SegmentTable",
    "ShortLog",
    "SpoolFile",
    "dump_json",
    "dump_text",
    "merge_directory",
    "merge_spools",
    "read_csv",
    "read_profile",
    "read_short_log",
    "read_spool",
    "summarize",
    "write_csv",
    "write_profile",
]
