"""The lookup from the other side: whose lost time did this job's own load coincide with?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.analysis.lookup import Load, Suspect, coincidences, metrics_of_loads, suspects_of
from crosswind.db import queries, resources, topology
from crosswind.db.loads import Meeting, hit_most, jobs_beside, keys_in_scope, on_slices_of, running_in, shares_of_job
from crosswind.db.queries import JobRow
from crosswind.db.scope import JobScope
from crosswind.web.association import associate_once
from crosswind.web.jobdata import read_loss
from crosswind.web.lookup_answer import step_name
from crosswind.web.resource_words import on_resource

__all__ = ["MAX_VICTIMS", "OtherSide", "Victim", "read_other_side"]

MAX_VICTIMS = 50  # that are tested: those that lost the largest share
LEAST_STRETCHES = 5  # in which a victim lost time: with fewer, one coincidence looks like many
MAX_CELLS = 32 << 20  # processes times slices of a job whose own loads are read

_Victim = tuple[JobRow, NDArray[np.float64], Sequence[Suspect[tuple[str, Load]]]]


@dataclass(frozen=True)
class Victim:
    """A job whose dents coincided. effect: the share of its loss that goes with the load."""

    job: JobRow
    resource: str
    load: str
    effect: float
    q: float


@dataclass(frozen=True)
class OtherSide:
    """beside: jobs that met this one; tested: those that lost time often enough to tell, at most MAX_VICTIMS. count:
    those whose dents coincided. named: of them those whose names may be known. why_not: why nothing was tested, or
    empty.
    """

    beside: int
    tested: int
    count: int
    named: tuple[Victim, ...]
    why_not: str = ""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.why_not:
            return self.why_not
        if not self.tested:
            return f"None of the {self.beside} jobs beside this one lost time often enough to tell."
        of_all = f"{self.tested} of the {self.beside} jobs beside it lost time often enough to tell"
        if not self.count:
            return f"This job coincided with dents in no other: {of_all}."
        return f"This job coincided with dents in {self.count} other{'s' if self.count > 1 else ''}: {of_all}."

    def to_json(self) -> dict[str, Any]:
        """The document of `crosswind lookup --other-side --json` and of the page."""
        return {
            "sentence": self.sentence,
            "jobs_beside": self.beside,
            "tested": self.tested,
            "coincided": self.count,
            "jobs": [
                {
                    "job_key": victim.job.key,
                    "job_id": victim.job.job_id,
                    "step": victim.job.step,
                    "name": step_name(victim.job),
                    "user": victim.job.user,
                    "command": victim.job.command,
                    "resource": victim.resource,
                    "load": victim.load,
                    "words": f"{victim.load} {on_resource(victim.resource)}",
                    "effect": victim.effect,
                    "q": victim.q,
                }
                for victim in self.named
            ],
        }


def read_other_side(conn: Connection, job: JobRow, scope: JobScope = JobScope.EVERYTHING) -> OtherSide:
    """Test the jobs that met this one, at most MAX_VICTIMS; some 20 ms each. scope: whose names may be known."""
    if not job.detail:
        return OtherSide(0, 0, 0, (), "The slices of this job were pruned, so its loads are not known any more.")
    if job.n_processes * job.n_slices > MAX_CELLS:
        return OtherSide(0, 0, 0, (), "This job has too many slices for its own loads to be looked at here.")
    metrics = metrics_of_loads()
    beside = {meeting.job.key: meeting for meeting in jobs_beside(conn, job, metrics)}
    chosen = hit_most(conn, beside.keys(), LEAST_STRETCHES, MAX_VICTIMS)
    names = sorted({name for key in chosen for name in beside[key].resources})
    hosts = {process.host for process in queries.get_processes(conn, job.key)}
    own = shares_of_job(conn, job, names, metrics, topology.place_of_job(conn, job.key, hosts))
    found = coincidences(_victims(conn, job, own, [beside[key] for key in chosen]), test=associate_once)
    known = keys_in_scope(conn, scope, {victim.key for victim, _ in found.lines})
    named = tuple(
        Victim(victim, line.suspect.resource, _title(line.suspect.key[1]), line.effect, line.q)
        for victim, line in found.lines
        if victim.key in known
    )
    return OtherSide(len(beside), found.tested, len(found.lines), named)


def _victims(
    conn: Connection, job: JobRow, own: Mapping[str, Mapping[str, NDArray[np.int64]]], met: Iterable[Meeting]
) -> Iterator[_Victim]:
    """Each job that was met, what it lost, and the job's own loads on its slices, one at a time in memory."""
    for meeting in met:
        victim, loss = meeting.job, read_loss(conn, meeting.job).per_slice_s
        if loss is not None:
            suspects = [
                suspect
                for name in meeting.resources
                for suspect in suspects_of(
                    name,
                    name,
                    resources.split(name)[0],
                    {metric: on_slices_of(victim, job, values) for metric, values in own.get(name, {}).items()},
                    running_in(victim, job),
                )
            ]
            yield victim, loss, suspects


def _title(load: Load) -> str:
    return load.title
