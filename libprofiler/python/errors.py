"""The one error that readers of files raise."""

from __future__ import annotations

from os import PathLike, fspath

__all__ = ["FormatError", "printable"]


class FormatError(Exception):
    """A file cannot be read or believed. The message is one line: the file's name, then what is wrong with it."""

    def __init__(self, path: str | PathLike[str], reason: str) -> None:
        self.path = printable(fspath(path))
        self.reason = printable(reason)
        super().__init__(f"{self.path}: {self.reason}")


def printable(text: object) -> str:
    """The text on one line, without control characters: names and contents of files are hostile."""
    return "".join(c if c.isprintable() else "?" for c in str(text))
