"""What the verbs print: JSON, tables, progress lines. Text from files and jobs is hostile: made printable first."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["one_line", "print_json", "print_table", "si", "step"]

SLOW_S = 2.0  # what takes longer says so


def one_line(text: object) -> str:
    """The text on one line, without control characters: no terminal escape of a file or a job name gets through."""
    return "".join(c if c.isprintable() else " " for c in str(text)).strip()


def print_json(document: Any, *, err: bool = False) -> None:  # noqa: ANN401 (any JSON value)
    """One JSON document on stdout, or on stderr. NaN and infinity, which JSON lacks, must have become None before."""
    click.echo(json.dumps(document, indent=2, allow_nan=False), err=err)


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """A table on stdout: the first column left, all others right. Colours only on a terminal."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    if title:
        click.echo(click.style(f"\n{title}", bold=True))
    click.echo(click.style(_table_line(header, widths), dim=True))
    for row in cells:
        click.echo(_table_line(row, widths))


def _table_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    return "  ".join([first, *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))]).rstrip()


def si(value: float, unit: str = "") -> str:
    """A number with three digits and an SI prefix: 1234567 B -> 1.23 MB; time in ns -> s, ms, us."""
    if unit == "ns":
        value, unit = value / 1e9, "s"
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor and unit != "s":
            return f"{value / factor:.3g} {prefix}{unit}".rstrip()
    if unit == "s" and 0 < abs(value) < 1:
        return f"{value * 1e3:.3g} ms" if abs(value) >= 1e-3 else f"{value * 1e6:.3g} us"
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{text} {unit}".rstrip()


@contextmanager
def step(text: str) -> Iterator[None]:
    """Tell on stderr what goes on if it takes longer than two seconds: a spinner on a terminal, elsewhere two lines."""
    text = one_line(text)
    begin = time.monotonic()
    timer = threading.Timer(SLOW_S, click.echo, args=(f"{text} ...",), kwargs={"err": True})
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(Text(text)):  # as it is: brackets of a file name are no markup
            yield
    else:
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
    seconds = time.monotonic() - begin
    if seconds > SLOW_S:
        click.echo(f"{text}: done in {seconds:.1f} s", err=True)
