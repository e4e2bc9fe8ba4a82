"""Times as the verbs take them."""

from __future__ import annotations

from datetime import UTC, datetime

import click

__all__ = ["Time"]


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
