"""The collector: finds finished spool files, merges them into profiles and loads those. docs/operations.md."""

from crosswind.collector.errors import SpoolError
from crosswind.collector.once import collect_once, load_profile_file
from crosswind.collector.report import CollectReport, LoadedStep
from crosswind.collector.spool import find_spools

__all__ = ["CollectReport", "LoadedStep", "SpoolError", "collect_once", "find_spools", "load_profile_file"]
