"""What rose when a job lost time: the ranked list behind the lookup page, its JSON and `crosswind lookup`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.lookup import (
    PROGRESS,
    Load,
    NodeLoad,
    Role,
    Suspect,
    Suspicion,
    metrics_of_loads,
    progress_loss,
    rank_suspects,
    rises,
    suspects_of,
)
from crosswind.db import resources
from crosswind.db.crowd import Run
from crosswind.db.loads import JobLoad, keys_in_scope, loads_beside, running_in
from crosswind.db.queries import JobRow
from crosswind.db.scope import JobScope
from crosswind.web.association import associate_once
from crosswind.web.jobdata import read_loss, read_series
from crosswind.web.lookup_answer import Line, Lookup, is_most_of
from crosswind.web.lookup_nodes import SERVERS_OF, read_node_suspects, watched_hosts

__all__ = ["MAX_LINES", "Sight", "read_lookup", "read_victim_loss"]

MAX_LINES = 200  # the rest of a list is chance
_NOTHING_LOST = "The estimate found no lost time, so there is nothing to look up."
_NO_PROGRESS = "Neither segments nor a steady rate of calls or bytes tell when this job was held up."
_NOBODY = "No other profiled job used a resource of this job while it ran."
_NOT_READ = "The jobs beside this one could not be read: their slices were pruned, or are too many."
_TOO_FEW = "The jobs beside this one shared too few slices with it to tell chance from cause."

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
What = TypeVar("What")
Withheld = Callable[[What, int, int, int], Flags]  # of what in which slices: the first, their number and length


@dataclass(frozen=True)
class Sight:
    """What whoever asks may see. scope: whose jobs have a name. In which slices, bool [slice], something is not shown:
    of_sums of the sum over all others on these resources, of_nodes of what was seen of these nodes, of_runs of the sum
    over these runs, none of which is in scope; None: all is shown. least: the number of jobs of others is not told
    below it.
    """

    scope: JobScope = JobScope.EVERYTHING
    of_sums: Withheld[Sequence[str]] | None = None
    of_nodes: Withheld[Sequence[str]] | None = None
    of_runs: Withheld[Sequence[Run]] | None = None
    least: int = 0


@dataclass(frozen=True)
class _Source:
    """What a suspect is. kind: job, together (all other jobs), node, server. told_by: how it is measured."""

    kind: str
    told_by: Load | NodeLoad
    job: JobRow | None = None


_Suspects = list[Suspect[_Source]]


def read_lookup(
    conn: Connection,
    job: JobRow,
    *,
    window: tuple[int, int] | None = None,
    resource: str | None = None,
    sight: Sight | None = None,
) -> Lookup:
    """Test everything beside the job against when it lost time.

    window: [begin, end) of a stretch of the job's slices: what was higher in it than at other times comes first, unless
    it is most of the run.
    resource: only what loaded this one. The names of jobs that may not be seen, and what each of them did, are not in
    the answer.
    """
    sight = sight or Sight()
    loss_name, loss, why_not = read_victim_loss(conn, job)
    if loss is None:
        return Lookup(loss_name, None, (), 0, 0, True, why_not, window, resource, ())
    beside = loads_beside(conn, job, metrics_of_loads())
    of_jobs = list(_of_jobs(job, beside.loads))
    suspects: _Suspects = [*of_jobs, *_together(of_jobs), *_of_nodes(conn, job)]
    names = tuple(dict.fromkeys(s.resource for s in suspects))
    suspects = [s for s in suspects if resource in (None, s.resource)]
    ranking = rank_suspects(loss, suspects, test=associate_once)
    lines = _as_seen(conn, job, [_line(suspicion, job.slice_ns) for suspicion in ranking.lines], of_jobs, sight)
    if window is not None and not is_most_of(window, loss):
        lines = _by_stretch(lines, window)
    lines = lines[:MAX_LINES]
    why_not = _why_no_lines(lines, suspects, beside.left_out)
    tested = len(ranking.lines)
    return Lookup(
        loss_name, loss, tuple(lines), tested, beside.left_out, ranking.repeats, why_not, window, resource, names
    )


def read_victim_loss(conn: Connection, job: JobRow) -> tuple[str, Floats | None, str]:
    """What the job is judged by, its loss per slice, and why there is none. An estimate that cannot tell is none."""
    stored = read_loss(conn, job)
    if stored.per_slice_s is not None and (job.estimate or {}).get("interference_pct") is not None:
        lost = stored.per_slice_s if stored.per_slice_s.any() else None
        return "lost time", lost, _NOTHING_LOST
    series = read_series(conn, job, names=PROGRESS) if job.n_slices else {}
    found = progress_loss({name: bands.total for name, bands in series.items()})
    return (f"fall in {found[0]}", found[1], "") if found else ("progress", None, _NO_PROGRESS)


def _of_jobs(job: JobRow, loads: Sequence[JobLoad]) -> Iterator[Suspect[_Source]]:
    """Each load of each job beside it."""
    for load in loads:
        kind = resources.split(load.resource)[0]
        for suspect in suspects_of(load.job, load.resource, kind, load.values, running_in(job, load.job)):
            yield Suspect(_Source("job", suspect.key[1], load.job), load.resource, suspect.load)


def _together(of_jobs: _Suspects) -> Iterator[Suspect[_Source]]:
    """What they did on each resource all together, where there were several."""
    sums: dict[tuple[str, Load], Floats] = {}
    jobs: dict[tuple[str, Load], int] = {}
    for suspect in of_jobs:
        told_by = suspect.key.told_by
        assert isinstance(told_by, Load)  # noqa: S101  (of jobs they all are)
        at = (suspect.resource, told_by)
        load = np.nan_to_num(suspect.load)
        sums[at] = sums[at] + load if at in sums else load
        jobs[at] = jobs.get(at, 0) + 1
    for (resource, told_by), total in sums.items():
        if jobs[resource, told_by] > 1:
            yield Suspect(_Source("together", told_by), resource, total, Role.SUM)


def _of_nodes(conn: Connection, job: JobRow) -> Iterator[Suspect[_Source]]:
    """What the job's nodes and the servers of its file systems tell."""
    for kind, suspect in read_node_suspects(conn, job):
        yield Suspect(_Source(kind, suspect.key), suspect.resource, suspect.load, suspect.role)


def _line(found: Suspicion[_Source], slice_ns: int) -> Line:
    source = found.suspect.key
    told_by = source.told_by
    return Line(
        kind=source.kind,
        job=source.job,
        resource=found.suspect.resource,
        load=told_by.title,
        role=found.suspect.role,
        unit=told_by.unit,
        found=found.found,
        effect=found.effect,
        rho=found.rho,
        lag_s=found.lag * slice_ns / 1e9,
        p=found.p,
        q=found.q,
        values=found.suspect.load * _per_second(told_by, slice_ns),
        falls=isinstance(told_by, NodeLoad) and told_by.falls,
    )


def _per_second(told_by: Load | NodeLoad, slice_ns: int) -> float:
    """From what a slice counted to the unit that is shown."""
    if isinstance(told_by, NodeLoad) and (told_by.gauge or told_by.per):
        return -1.0 if told_by.falls else 1.0
    return 1 / slice_ns if told_by.unit in ("share", "processors") else 1e9 / slice_ns


def _as_seen(conn: Connection, job: JobRow, lines: Sequence[Line], of_jobs: _Suspects, sight: Sight) -> list[Line]:
    """The lines without what must not be seen: no name and no course of a job out of scope, no sum of too few."""
    beside = {suspect.key.job.key: suspect.key.job for suspect in of_jobs if suspect.key.job}
    known = keys_in_scope(conn, sight.scope, beside.keys())
    runs: dict[tuple[str, str], list[Run]] = {}
    for suspect in of_jobs:
        if (other := suspect.key.job) is not None and other.key not in known:
            run = Run(other.cluster, other.job_id, other.uid, other.start_ns, other.end_ns)
            runs.setdefault((suspect.resource, suspect.key.told_by.title), []).append(run)
    gaps = _Gaps(job, sight, runs)
    seen = []
    for line in lines:
        if line.job is not None:
            seen.append(line if line.job.key in known else replace(line, kind="hidden", job=None, values=None))
        elif line.values is not None and (hidden := gaps.of_line(line)).any():
            seen.append(replace(line, values=np.where(hidden, np.nan, line.values), has_gaps=True))
        else:
            seen.append(line)
    return seen


class _Gaps:
    """In which slices the lines that are of no single job are not shown. runs: out of scope, behind each sum."""

    def __init__(self, job: JobRow, sight: Sight, runs: Mapping[tuple[str, str], Sequence[Run]]) -> None:
        self._job, self._sight, self._runs = job, sight, runs
        self._known: dict[tuple[str, ...], Flags] = {}

    def of_line(self, line: Line) -> Flags:
        """bool [slice]."""
        if line.kind == "node":
            return self._once(self._sight.of_nodes, tuple(watched_hosts(self._job)))
        used = self._once(self._sight.of_sums, (line.resource.removeprefix(SERVERS_OF),))
        if line.kind != "together":
            return used
        # Fewer than used the resource: some could not be read, others never met this job there.
        return used | self._asked(self._sight.of_runs, self._runs.get((line.resource, line.load), ()))

    def _once(self, withheld: Withheld[Sequence[str]] | None, names: tuple[str, ...]) -> Flags:
        """Several lines are of one resource."""
        if names not in self._known:
            self._known[names] = self._asked(withheld, names)
        return self._known[names]

    def _asked(self, withheld: Withheld[What] | None, what: What) -> Flags:
        job = self._job
        if withheld is None:
            return np.zeros(job.n_slices, dtype=np.bool_)
        return withheld(what, job.first_slice, job.n_slices, job.slice_ns)


def _by_stretch(lines: list[Line], window: tuple[int, int]) -> list[Line]:
    """What was higher in a stretch than at other times first: of those findings of the whole run, then the rest.

    Of what has no course, or one with gaps, nothing is told of a stretch: asked about one slice after the other, how
    high each was would be the course.
    """
    drawn = [i for i, line in enumerate(lines) if line.values is not None and not line.has_gaps]
    if not drawn:
        return lines
    trouble = np.array([-1.0 if lines[i].falls else 1.0 for i in drawn])  # times a value: more of it is more trouble
    rise = rises(np.array([lines[i].values for i in drawn]) * trouble[:, None], *window)
    told = dict(zip(drawn, zip(rise.during * trouble, rise.usual * trouble, rise.p, strict=True), strict=True))
    said = []
    for i, line in enumerate(lines):
        if i not in told:
            said.append(line)
        elif not np.isnan(told[i][2]):
            during, usual, p_then = map(float, told[i])
            said.append(replace(line, during=during, usual=usual, p_then=p_then))
    return sorted(said, key=_place_in_stretch)


def _place_in_stretch(line: Line) -> tuple[bool, bool, int, float, float]:
    rarity = 2.0 if line.p_then is None else line.p_then
    return not line.rose, not line.found, line.role.value, rarity, -line.effect


def _why_no_lines(lines: Sequence[Line], suspects: Sequence[object], left_out: int) -> str:
    if lines:
        return ""
    if left_out and not suspects:
        return _NOT_READ
    return _TOO_FEW if suspects else _NOBODY
