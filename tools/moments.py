"""Times as the verbs take them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import click

__all__ = ["Age", "Time", "utc"]


_UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


class Age(click.ParamType):
    """A length of time such as 90d, in ns."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse it; wrong usage otherwise."""
        match = re.fullmatch(r"(\d{1,6})([hdwy])", str(value))
        if match is None:
            self.fail(f"{value} is no length of time: write 90d (or h, w, y)", param, ctx)
        return int(match[1]) * _UNITS_S[match[2]] * 10**9


class Time(click.ParamType):
    """A time of UTC such as 2026-11-21T08:00, in ns since 1970."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse it; wrong usage otherwise."""
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value} is no time: write 2026-11-21T08:00 (UTC)", param, ctx)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()) * 10**9


def utc(at_ns: int | None) -> str:
    """A moment as 2026-11-21 08:00:00, a dash where there is none."""
    return "-" if at_ns is None else f"{datetime.fromtimestamp(at_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S}"
