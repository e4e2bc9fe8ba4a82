"""How far the experiment is: a bar on a terminal, elsewhere a line a run, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from crosswind.tools.experiment.durations import in_words
from crosswind.tools.output import one_line

__all__ = ["Progress", "shown"]


class _Left(ProgressColumn):
    """What was left when the run began, less what has passed since."""

    def render(self, task: Task) -> Text:
        left_s = max(task.fields["left_s"] - (time.monotonic() - task.fields["since"]), 0.0)
        return Text(f"{in_words(left_s)} left", style="progress.remaining")


class Progress:
    """Made by `shown`."""

    def __init__(self, total: int, done: int, bar: Bar | None) -> None:
        self._total, self._done, self._bar = total, done, bar
        self._task = bar.add_task("", total=total, completed=done, left_s=0.0, since=time.monotonic()) if bar else None
        self._begin = time.monotonic()

    def begin(self, what: str, left_s: float) -> None:
        """A run begins, and all that is not made takes so long."""
        self._begin = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=one_line(what), left_s=left_s, since=self._begin)

    def end(self, what: str, result: str, left_s: float, *, counts: bool) -> None:
        """A run has ended. counts: it is not made again."""
        self._done += counts
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, left_s=left_s, since=time.monotonic())
        took = in_words(time.monotonic() - self._begin)
        self.say(f"{self._done} of {self._total}: {what}: {result} in {took}, {in_words(left_s)} left")

    def say(self, text: str) -> None:
        """A line above the bar."""
        if self._bar is not None:
            self._bar.console.print(Text(one_line(text)))
        else:
            click.echo(one_line(text), err=True)


@contextmanager
def shown(total: int, done: int) -> Iterator[Progress]:
    """Inside, progress is shown."""
    if not sys.stderr.isatty():
        yield Progress(total, done, None)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), _Left())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(total, done, bar)
