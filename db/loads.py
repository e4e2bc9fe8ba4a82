"""What the jobs beside a job did on the resources that they share with it, on its slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crosswind.db import queries, resources, schema, topology
from crosswind.db.background import add_block
from crosswind.db.frames import each_frame, get_sums
from crosswind.db.names import batches
from crosswind.db.queries import JobRow
from crosswind.db.resources import Place
from crosswind.db.scope import JobScope

__all__ = [
    "JobLoad", "Meeting", "Neighbours", "hit_most", "jobs_beside", "keys_in_scope", "loads_beside", "on_slices_of",
    "running_in", "shares_of_job", "upper_switches",
]  # fmt: skip

MAX_JOBS = 1000  # read for one job; the others are only counted
MAX_FRAME = 256 << 20  # bytes of one metric of a job that is read
MAX_HELD = 256 << 20  # bytes of loads, after which no further job is read
MAX_PLACES = 64  # nodes, or switches, on which two jobs are looked at: a wide job does much the same on all of its own
MAX_MEETINGS = 256  # places of a kind times jobs that met on several: with more such jobs fewer places of each


@dataclass(frozen=True)
class JobLoad:
    """What one other job did on one resource. values: metric -> int64 [slice], on the slices of the job asked about."""

    job: JobRow
    resource: str
    values: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Meeting:
    """A job, the resources on which it met the one asked about (of a kind at most MAX_PLACES, evenly chosen), and where
    it was plugged in.
    """

    job: JobRow
    resources: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Neighbours:
    """The loads of the jobs beside a job. left_out: how many jobs were not read: their slices were
    pruned or are too large, or there were too many of them.
    """

    loads: tuple[JobLoad, ...]
    left_out: int


def loads_beside(conn: Connection, job: JobRow, metrics: Mapping[str, Collection[str]]) -> Neighbours:
    """Every other job that used a resource of this job while it ran.

    metrics: kind of resource (db.resources.FEEDS) -> the metrics to read there; other kinds are left out. Of too many
    jobs those are read that ran longest beside it. A job does nothing outside of its own slices: its values there
    are 0. A metric that is zero everywhere is absent.
    """
    beside = jobs_beside(conn, job, metrics)
    loads: list[JobLoad] = []
    left_out = held = 0
    for number, meeting in enumerate(_longest_first(job, beside)):
        if number >= MAX_JOBS or held > MAX_HELD or not _is_readable(meeting.job):
            left_out += 1
            continue
        shares = shares_of_job(conn, meeting.job, meeting.resources, metrics, meeting.place)
        found = [
            JobLoad(meeting.job, name, {m: on_slices_of(job, meeting.job, own) for m, own in of_name.items()})
            for name, of_name in shares.items()
        ]
        held += sum(values.nbytes for load in found for values in load.values.values())
        loads += found
    loads.sort(key=lambda load: (load.resource, load.job.start_ns, load.job.key))
    return Neighbours(tuple(loads), left_out)


def _longest_first(job: JobRow, beside: Iterable[Meeting]) -> list[Meeting]:
    def together_ns(meeting: Meeting) -> int:
        return min(meeting.job.end_ns, job.end_ns) - max(meeting.job.start_ns, job.start_ns)

    return sorted(beside, key=together_ns, reverse=True)


def _is_readable(other: JobRow) -> bool:
    """Whether its slices are there, and one metric of them fits."""
    return other.detail and 8 * other.n_processes * other.n_slices <= MAX_FRAME


def jobs_beside(conn: Connection, job: JobRow, kinds: Collection[str]) -> list[Meeting]:
    """The other jobs that met a job while it ran, on resources of these kinds. Its own steps are no others: a batch
    script that runs beside its program, say.
    """
    around = queries.jobs_overlapping(conn, job.start_ns, job.end_ns)
    others = {j.key: j for j in around if j.key != job.key and not _is_one_job(j, job)}
    used = _used_by_both(conn, job.key, others, kinds)
    paths = topology.paths_of_jobs(conn, {j.key: j.hosts for j in (job, *others.values())})
    met = {key: _really_shared(job, others[key], some, paths) for key, some in used.items()}
    wide = sum(len({resources.split(name)[0] for name in names}) < len(names) for names in met.values())
    most = min(max(MAX_MEETINGS // max(wide, 1), 2), MAX_PLACES)
    return [
        Meeting(others[key], _on_some_places(names, most), _place(paths[key])) for key, names in met.items() if names
    ]


def _is_one_job(one: JobRow, other: JobRow) -> bool:
    """Whether two steps are of the same job."""
    of = [(j.cluster, j.job_id, j.uid) for j in (one, other)]
    return bool(one.job_id) and of[0] == of[1]


def _on_some_places(names: Sequence[str], most: int) -> tuple[str, ...]:
    """Of resources of each kind at most so many, evenly chosen."""
    of_kind: dict[str, list[str]] = {}
    for name in names:
        of_kind.setdefault(resources.split(name)[0], []).append(name)
    return tuple(
        some[i * len(some) // n] for some in of_kind.values() for n in (min(len(some), most),) for i in range(n)
    )


def _used_by_both(
    conn: Connection, job_key: int, others: Collection[int], kinds: Collection[str]
) -> dict[int, list[str]]:
    """By the key of another job the resources of these kinds that a job and it used; two queries for thousands of
    nodes, as both may have been on many.
    """
    r, used = schema.resource.c, schema.job_resource.c
    own = select(r.id, r.name).join(schema.job_resource, used.resource_id == r.id).where(used.job_key == job_key)
    names = {row.id: row.name for row in conn.execute(own) if resources.split(row.name)[0] in kinds}
    both: dict[int, list[str]] = {}
    for part in batches(sorted(others)):
        for key, resource_id in conn.execute(select(used.job_key, used.resource_id).where(used.job_key.in_(part))):
            if resource_id in names:
                both.setdefault(key, []).append(names[resource_id])
    return {key: sorted(some) for key, some in both.items()}


def hit_most(conn: Connection, keys: Collection[int], least_stretches: int, limit: int) -> list[int]:
    """Of these jobs those for which it is stored when they lost time, in so many stretches at least; at most `limit`,
    those with the largest share first.
    """
    lost, j = schema.lost_time.c, schema.job.c
    found: list[tuple[float, int]] = []
    for part in batches(sorted(keys)):
        query = (
            select(j.interference_pct, j.key)
            .join(schema.lost_time, lost.job_key == j.key)
            .where(j.key.in_(part), lost.n_stretches >= least_stretches, j.interference_pct > 0)
        )
        found += [(row.interference_pct, row.key) for row in conn.execute(query)]
    return [key for _, key in sorted(found, key=lambda row: (-row[0], row[1]))[:limit]]


def keys_in_scope(conn: Connection, scope: JobScope, keys: Collection[int]) -> set[int]:
    """Which of these jobs are in scope."""
    found: set[int] = set()
    for part in batches(sorted(keys)):
        query = select(schema.job.c.key).where(schema.job.c.key.in_(part), scope.condition())
        found |= set(conn.execute(query).scalars())
    return found


def _really_shared(
    job: JobRow, other: JobRow, names: Sequence[str], paths: Mapping[int, Mapping[str, Sequence[str]]]
) -> list[str]:
    """Of the resources that both used those on which they met. A job on one node sends nothing over the network; and
    two jobs meet on that of the whole system only where the traffic of both goes through a switch above those that
    nodes are plugged into, as far as the site gave the topology.
    """
    on_nodes = [name for name in names if not name.startswith("net")]
    if min(len(job.hosts), len(other.hosts)) < 2:
        return on_nodes
    upper = [upper_switches(j.hosts, paths[j.key]) for j in (job, other)]
    meet = upper[0] is None or upper[1] is None or not upper[0].isdisjoint(upper[1])
    return [name for name in names if name != "net" or meet]


def upper_switches(hosts: Collection[str], paths: Mapping[str, Sequence[str]]) -> frozenset[str] | None:
    """The switches between those that these hosts are plugged into, up to the one where all ways meet: what goes from
    one host to another stays below it. None: not every host is known. paths: as of topology.switch_paths.
    """
    if any(host not in paths for host in hosts):
        return None
    ways = {tuple(paths[host]) for host in hosts}
    if len(ways) == 1:
        return frozenset()
    common = set.intersection(*map(set, ways))
    top = next((switch for switch in next(iter(ways)) if switch in common), None)
    return frozenset(switch for way in ways for switch in way[1:] if switch == top or switch not in common)


def shares_of_job(
    conn: Connection, job: JobRow, names: Sequence[str], metrics: Mapping[str, Collection[str]], place: Place
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """What a job did on these resources: by resource and metric int64 [slice], on its own slices, without what is zero.

    One of its frames at a time is in memory.
    """
    values: dict[str, dict[str, NDArray[np.int64]]] = {name: {} for name in names}
    whole = [name for name in names if not resources.split(name)[1] or len(job.hosts) == 1]
    for metric, own in _sums(conn, job, _wanted(whole, metrics)):
        for name in whole:
            if metric in metrics[resources.split(name)[0]] and own.any():
                values[name][metric] = own
    parts = [name for name in names if name not in whole]
    hosts = [process.host for process in queries.get_processes(conn, job.key)] if parts else []
    for metric, frame in each_frame(conn, job.key, _wanted(parts, metrics)) if parts else ():
        for name in parts:
            if metric in metrics[resources.split(name)[0]]:
                own = resources.share_of(name, frame, hosts, place)
                if own.any():
                    values[name][metric] = own
    return {name: of_name for name, of_name in values.items() if of_name}


def _wanted(names: Sequence[str], metrics: Mapping[str, Collection[str]]) -> set[str]:
    return {metric for name in names for metric in metrics[resources.split(name)[0]]}


def _sums(conn: Connection, job: JobRow, metrics: Collection[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """What all processes of a job did, [slice], by metric: as it was summed up at loading, where it was."""
    if not metrics:
        return
    stored = get_sums(conn, job.key, metrics)
    if stored is not None:
        yield from stored.items()
        return
    for metric, frame in each_frame(conn, job.key, metrics):
        yield metric, frame.sum(axis=0)


def on_slices_of(job: JobRow, other: JobRow, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """A counter of `other`, [slice of other], spread over the slices of `job`; 0 where `other` was not running."""
    out = np.zeros(job.n_slices, dtype=np.int64)
    start_ns = other.first_slice * other.slice_ns
    add_block(out, job.first_slice, job.slice_ns, values, start_ns, other.slice_ns, gauge=False)
    return out


def running_in(job: JobRow, other: JobRow) -> tuple[int, int]:
    """[begin, end) of the slices of `job`, counted from its first, in which `other` ran; may lie outside of them."""
    begin = other.first_slice * other.slice_ns // job.slice_ns - job.first_slice
    end = -(-(other.first_slice + other.n_slices) * other.slice_ns // job.slice_ns) - job.first_slice
    return begin, end


def _place(paths: Mapping[str, Sequence[str]]) -> Place:
    return Place({host: path[0] for host, path in paths.items() if path})
