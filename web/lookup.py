"""What rose when a job lost time: the ranked list behind the lookup page, its JSON and `crosswind lookup`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.lookup import (
    metrics_of_loads,
    metrics_of_progress,
    progress_loss,
    rank_suspects,
    suspects_of,
)
from crosswind.db import resources
from crosswind.db.loads import loads_beside
from crosswind.db.queries import JobRow
from crosswind.web.jobdata import read_frames, read_loss

__all__ = ["MAX_LINES", "Line", "Lookup", "read_lookup", "step_name"]

MAX_LINES = 200  # the rest of a list is chance
_NOTHING_LOST = "The estimate found no lost time, so there is nothing to look up."
_NO_PROGRESS = "Neither segments nor a steady rate of calls or bytes tell when this job was held up."
_NOBODY = "No other profiled job used a resource of this job while it ran."
_NOT_READ = "The jobs beside this one could not be read: their slices were pruned, or are too many."
_TOO_FEW = "The jobs beside this one shared too few slices with it to tell chance from cause."


@dataclass(frozen=True)
class Line:
    """One load beside the job. effect: share of the loss that goes with it; lag_s: by which the loss follows it."""

    job: JobRow
    resource: str
    load: str
    found: bool
    effect: float
    rho: float
    lag_s: float
    p: float
    q: float


@dataclass(frozen=True)
class Lookup:
    """loss: what the job was judged by, in words. lines: findings first. why_not: why there are no lines, or empty.

    tested: how many loads were tested. left_out: jobs beside it that were not read. repeats: whether it was held up in
    enough separate stretches to tell.
    """

    loss: str
    lines: tuple[Line, ...]
    tested: int
    left_out: int
    repeats: bool
    why_not: str

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.why_not:
            return self.why_not
        found = [line for line in self.lines if line.found]
        if not self.repeats:
            return "It was held up in too few separate stretches to tell cause from chance; the most likely are first."
        if not found:
            return f"None of the {self.tested} loads beside this job rose with its {self.loss} more than by chance."
        first = found[0]
        what = f"{first.load[0].upper()}{first.load[1:]} on {first.resource} by job {step_name(first.job)}"
        others = f"; so did {len(found) - 1} more loads" if len(found) > 1 else ""
        return f"{what} rose with {100 * first.effect:.0f} % of this job's {self.loss}{others}."

    def to_json(self) -> dict[str, Any]:
        """The document of `crosswind lookup --json` and of the API."""
        return {
            "sentence": self.sentence,
            "loss": self.loss,
            "tested": self.tested,
            "repeats": self.repeats,
            "jobs_left_out": self.left_out,
            "suspects": [_line_json(line) for line in self.lines],
        }


def read_lookup(conn: Connection, job: JobRow) -> Lookup:
    """Test every load beside the job against when it lost time."""
    loss_name, loss, why_not = _loss(conn, job)
    if loss is None:
        return Lookup(loss_name, (), 0, 0, True, why_not)
    beside = loads_beside(conn, job, metrics_of_loads())
    suspects = [
        suspect
        for load in beside.loads
        for suspect in suspects_of(load.job, load.resource, resources.split(load.resource)[0], load.values)
    ]
    ranking = rank_suspects(loss, suspects)
    lines = tuple(
        Line(
            job=line.suspect.key[0],
            resource=line.suspect.resource,
            load=line.suspect.key[1].title,
            found=line.found,
            effect=line.effect,
            rho=line.rho,
            lag_s=line.lag * job.slice_ns / 1e9,
            p=line.p,
            q=line.q,
        )
        for line in ranking.lines[:MAX_LINES]
    )
    why_not = _why_no_lines(lines, suspects, beside.left_out)
    return Lookup(loss_name, lines, len(ranking.lines), beside.left_out, ranking.repeats, why_not)


def _why_no_lines(lines: Sequence[Line], suspects: Sequence[object], left_out: int) -> str:
    if lines:
        return ""
    if left_out and not suspects:
        return _NOT_READ
    return _TOO_FEW if suspects else _NOBODY


def _loss(conn: Connection, job: JobRow) -> tuple[str, NDArray[np.float64] | None, str]:
    """What the job is judged by, its loss per slice, and why there is none. An estimate that cannot tell is none."""
    stored = read_loss(conn, job)
    if stored.per_slice_s is not None and (job.estimate or {}).get("interference_pct") is not None:
        lost = stored.per_slice_s if stored.per_slice_s.any() else None
        return "lost time", lost, _NOTHING_LOST
    data = read_frames(conn, job, metrics_of_progress())
    found = progress_loss(data.frames, data.covered_ns, job.slice_ns) if job.n_slices else None
    return (f"fall in {found[0]}", found[1], "") if found else ("progress", None, _NO_PROGRESS)


def step_name(job: JobRow) -> str:
    """A job step as people write it."""
    return f"{job.job_id}.{job.step}" if job.step else job.job_id


def _line_json(line: Line) -> dict[str, Any]:
    numbers = {name: float(getattr(line, name)) for name in ("effect", "rho", "lag_s", "p", "q")}
    return {
        "job_key": line.job.key,
        "job_id": line.job.job_id,
        "step": line.job.step,
        "user": line.job.user,
        "command": line.job.command,
        "resource": line.resource,
        "load": line.load,
        "found": line.found,
        **numbers,
    }
