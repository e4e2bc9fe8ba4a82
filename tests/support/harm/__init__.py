"""The programs that must not notice Crosswind, by subject."""

from __future__ import annotations

from support.harm import files, languages, processes, shell, tools
from support.harm.case import Case

__all__ = ["CASES", "Case"]

CASES = (*shell.CASES, *processes.CASES, *files.CASES, *languages.CASES, *tools.CASES)
