"""Whose names somebody read in a list is written down, as an opened job is: one line a list, not one a name."""

from __future__ import annotations

import time
from collections.abc import Iterable

from crosswind.db.audit import NAMES, LogLine, has_read, write_line
from crosswind.web.database import connection, engine
from crosswind.web.identity import address_of_client, viewer

__all__ = ["MOST_USERS", "log_names"]

MOST_USERS = 1000  # that a list is asked for
_ONE_LOOK_NS = 600 * 10**9  # the same list within this time is one line of the log
_MOST_WHERE, _MOST_TEXT = 100, 400  # characters of a line, for the list and for the names in it


def log_names(where: str, users: Iterable[str]) -> None:
    """Write down that the viewer reads in a list, named `where`, that these users had jobs; before it is shown. Nothing
    is written where there are no others, and for one person at their machine.
    """
    asks, now_ns = viewer(), time.time_ns()
    others = sorted(set(users) - {asks.name})
    if asks.single or not others:
        return
    detail = f"{where[:_MOST_WHERE].replace(',', ';')}: {_listed(others)}"  # a job's id must not pass for a name
    if has_read(connection(), asks.name, detail, now_ns - _ONE_LOOK_NS):
        return
    subject = others[0] if len(others) == 1 else f"{len(others)} users"
    write_line(
        engine(), LogLine(now_ns, asks.name, asks.role.name.lower(), NAMES, subject, detail, address_of_client())
    )


def _listed(names: list[str]) -> str:
    """As many of the names as there is room for, and how many more there are."""
    shown: list[str] = []
    room = _MOST_TEXT
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join(shown + ([f"and {more} more"] if more else []))
