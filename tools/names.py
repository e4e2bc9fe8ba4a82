"""Options that take the name of a node or of a cluster."""

from __future__ import annotations

from collections.abc import Callable

import click

__all__ = ["PLAIN_NAME", "cluster_option"]


class _PlainName(click.ParamType):
    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from crosswind.collector.names import is_plain_name

        if value and not is_plain_name(value):
            self.fail("has letters, digits, _ and -, with single dots between them, 64 at most", param, ctx)
        return value


PLAIN_NAME = _PlainName()


def cluster_option(help_text: str) -> Callable[..., Callable[..., None]]:
    """The option `--cluster NAME`."""
    return click.option("--cluster", metavar="NAME", type=PLAIN_NAME, default="", help=help_text)
