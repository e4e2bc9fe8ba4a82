"""The answer of a lookup: lines, sentences, JSON. Pure; whoever makes it leaves out what must not be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.lookup import Role
from crosswind.db.queries import JobRow
from crosswind.web.resource_words import on_resource, resource_words

__all__ = ["HIGHER_THEN", "Line", "Lookup", "is_most_of", "step_name"]

HIGHER_THEN = 0.05  # of the other stretches of that length may be as high
USUAL = 0.4
MOST = 0.5  # of a run: a longer stretch leaves too little to compare it with
_MOST_OF_RUN = "This stretch is most of the run: the rest is too short to compare it with."
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One series beside the job.

    kind: job, hidden (a job whose name whoever asks may not know), together (all other jobs), node, server. effect:
    share of the loss that goes with it; lag_s: by which the loss follows it. values: [slice], in `unit`, NaN where
    unknown or withheld; None: not shown. falls: low values are trouble. has_gaps: whether any of it is withheld.
    Of a stretch, None where it is not told: during, usual in `unit`; p_then: the share of other stretches that are as
    high (of falling ones: as low).
    """

    kind: str
    job: JobRow | None
    resource: str
    load: str
    role: Role
    unit: str
    found: bool
    effect: float
    rho: float
    lag_s: float
    p: float
    q: float
    values: Floats | None = None
    falls: bool = False
    has_gaps: bool = False
    during: float | None = None
    usual: float | None = None
    p_then: float | None = None

    @property
    def who(self) -> str:
        """Whose it is, in words."""
        if self.job is not None:
            return f"job {step_name(self.job)}"
        return {
            "hidden": "a job of another user",
            "together": "all other jobs together",
            "node": "the job's own nodes",
            "server": "the servers",
        }[self.kind]

    @property
    def can_be_drawn(self) -> bool:
        """Whether any of its course is shown."""
        return self.values is not None and not np.isnan(self.values).all()

    @property
    def is_sign(self) -> bool:
        """Whether it names the resource, not who loaded it."""
        return self.role is Role.SIGN

    @property
    def rose(self) -> bool:
        """Whether it was higher in the stretch than at almost all other times; for what is found over the whole run,
        higher than usual is enough.
        """
        return self.p_then is not None and self.p_then <= (USUAL if self.found else HIGHER_THEN)

    @property
    def words(self) -> str:
        """What it is, at the begin of a sentence."""
        load = f"{self.load[0].upper()}{self.load[1:]}"
        if self.kind in ("node", "server"):
            return f"{load} ({resource_words(self.resource)})"
        return f"{load} {on_resource(self.resource)} by {self.who}"

    @property
    def caveat(self) -> str:
        """What has to be said with it because it may be the job's own doing; begins with a space."""
        if self.is_sign:
            return " It names the resource, not who loaded it, and this job may have made it itself."
        return " This job's own share is in it." if self.kind == "server" else ""

    def to_json(self) -> dict[str, Any]:
        """The line without its course. p_then is null where no stretch was asked about, or nothing is told of it."""
        numbers = {name: float(getattr(self, name)) for name in ("effect", "rho", "lag_s", "p", "q")}
        job = self.job
        return {
            "kind": self.kind,
            "who": self.who,
            "job_key": job and job.key,
            "job_id": job and job.job_id,
            "step": job and job.step,
            "user": job and job.user,
            "command": job and job.command,
            "resource": self.resource,
            "words": self.words,
            "load": self.load,
            "is_sign": self.is_sign,
            "found": self.found,
            **numbers,
            "p_then": self.p_then,
            "rose": self.rose,
        }


@dataclass(frozen=True)
class Lookup:
    """loss: what the job was judged by, in words; per_slice: the loss, [slice], None where there is none. lines:
    findings first. tested: how many series were tested. left_out: jobs beside it that were not read. repeats: whether
    it was held up in enough separate stretches to tell. why_not: why there are no lines, or empty. window: the stretch
    that was asked about, in slices. resource: the one that was asked about. resources: all there are.
    """

    loss: str
    per_slice: Floats | None
    lines: tuple[Line, ...]
    tested: int
    left_out: int
    repeats: bool
    why_not: str
    window: tuple[int, int] | None
    resource: str | None
    resources: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.why_not:
            return self.why_not
        if self.compares:
            return self._of_stretch()
        return self._of_run() if self.window is None else f"{_MOST_OF_RUN} {self._of_run()}"

    @property
    def compares(self) -> bool:
        """Whether the lines say what was higher in a stretch than at other times; else they are of the whole run."""
        return self.window is not None and self.per_slice is not None and not is_most_of(self.window, self.per_slice)

    def _of_run(self) -> str:
        found = [line for line in self.lines if line.found]
        if not self.repeats:
            return "It was held up in too few separate stretches to tell cause from chance; the most likely are first."
        if not found:
            return f"None of the {self.tested} loads beside this job rose with its {self.loss} more than by chance."
        first = found[0]
        others = f"; so did {len(found) - 1} more" if len(found) > 1 else ""
        nobody = "" if first.role is Role.LOAD else "No single job was found. "
        rose = f"{first.words} rose with {100 * first.effect:.0f} % of this job's {self.loss}{others}."
        return nobody + rose + first.caveat

    def _of_stretch(self) -> str:
        rose = [line for line in self.lines if line.rose]
        if not rose:
            return f"{self._of_nothing_higher()} {self._of_run()}"
        first = rose[0]
        by_chance = f"of {self.tested} series chance gives {HIGHER_THEN * self.tested:.0f}"
        others = f" {len(rose) - 1} more were high then, too; {by_chance}." if len(rose) > 1 else ""
        over = (
            f"over the whole run it rose with {100 * first.effect:.0f} % of the {self.loss}, more than by chance"
            if first.found
            else "over the whole run it did not rise with the loss more than by chance"
        )
        as_high = "as low" if first.falls else "as high"
        then = f"{first.words}: {as_high} in {_percent(first.p_then)} of stretches of this length; {over}."
        return then + first.caveat + others

    def _of_nothing_higher(self) -> str:
        """Of a stretch: that nothing was higher in it, or that there are lines of which that is not told."""
        if all(line.p_then is not None for line in self.lines):
            return "Nothing beside this job was higher in this stretch than at other times. Over the whole run:"
        return "What other users' jobs did is not told of one stretch. Over the whole run:"

    def to_json(self) -> dict[str, Any]:
        """The document of `crosswind lookup --json` and of the API."""
        return {
            "sentence": self.sentence,
            "loss": self.loss,
            "tested": self.tested,
            "repeats": self.repeats,
            "jobs_left_out": self.left_out,
            "resource": self.resource,
            "slices": self.window and list(self.window),
            "compared": self.compares,
            "suspects": [line.to_json() for line in self.lines],
        }

    def chosen(self, number: int | None) -> Line | None:
        """The line to draw: the one asked for, else the first that may be shown; None where there is none."""
        if number is not None and 0 <= number < len(self.lines):
            line = self.lines[number]
            return line if line.can_be_drawn else self._in_its_place(line)
        return self._first_shown(self.lines)

    def _in_its_place(self, hidden: Line) -> Line | None:
        """Of a line that may not be drawn the sum that it is part of."""
        same = [line for line in self.lines if (line.resource, line.load) == (hidden.resource, hidden.load)]
        return next((line for line in same if line.kind == "together" and line.can_be_drawn), None)

    def _first_shown(self, lines: Sequence[Line]) -> Line | None:
        if not lines:
            return None
        if not lines[0].can_be_drawn and (found := self._in_its_place(lines[0])) is not None:
            return found
        worth = [line for line in lines if line.found] or lines  # what was not found says nothing beside findings
        return next((line for line in worth if line.can_be_drawn), None)


def is_most_of(window: tuple[int, int], per_slice: Floats) -> bool:
    """Whether a stretch [begin, end) of slices is so long that the rest of the run tells nothing of what is usual."""
    return window[1] - window[0] > MOST * per_slice.size


def step_name(job: JobRow) -> str:
    """A job step as people write it."""
    return f"{job.job_id}.{job.step}" if job.step else job.job_id


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):.2g} %"
