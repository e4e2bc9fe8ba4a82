"""The error of the collector itself. Bad files are no errors: they are in the report."""

from __future__ import annotations

__all__ = ["SpoolError"]


class SpoolError(Exception):
    """A spool directory cannot be worked in; the message, one line, names it and the way out."""
