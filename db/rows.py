"""A profile as rows of the tables, and back. Pure: no connection, so the costly part of loading needs no lock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.db import codec, resources
from crosswind.db.job_blocks import BlockRows, Span, assembled, block_rows
from crosswind.db.resources import UNPLACED, Place, Placement
from crosswind.db.summaries import Summarize
from crosswind.db.sums import sums_of
from crosswind.profile.model import Clock, Column, Job, Process, Profile

__all__ = ["Frame", "Rows", "continued", "digest_of", "profile_of", "rows_of", "shares_of", "state_of"]


_PROCESS = tuple(Process.__dataclass_fields__)


@dataclass(frozen=True)
class Frame:
    """One metric of one job: values int64 [process, slice] in `unit`; slice j is slice first_slice + j of length
    slice_ns.
    """

    metric: str
    unit: str
    first_slice: int
    slice_ns: int
    values: NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Everything of a profile that is stored under the job's key; the key and the ids of metrics are left open."""

    job: dict[str, Any]
    columns: tuple[Column, ...]
    processes: list[dict[str, Any]]
    blocks: tuple[BlockRows, ...]  # of the slices
    totals: dict[str, bytes]  # by metric
    functions: list[dict[str, Any]]
    access: list[dict[str, Any]]
    segments: bytes | None
    resources: list[str]  # that the job used
    sums: dict[str, int]  # the row of job_sums


def rows_of(
    profile: Profile,
    cluster: str,
    placement: Placement = UNPLACED,
    *,
    summarize: Summarize | None = None,
    goes_on_before: bool = False,
) -> Rows:
    """The rows of a checked profile (see limits.check_profile). summarize: what makes the series of a block; None: they
    are left out. goes_on_before: the profile has the last slices of the job only.
    """
    partial = profile.partial if profile.partial.size else np.zeros(len(profile.processes), dtype=np.bool_)
    processes = [
        {"number": i, **{name: getattr(p, name) for name in _PROCESS}, "partial": bool(cut)}
        for i, (p, cut) in enumerate(zip(profile.processes, partial, strict=True))
    ]
    functions = [
        {"name": name, "is_mpi": name in profile.mpi_functions, "data": codec.encode_ints(values)}
        for name, values in sorted(profile.functions.items())
    ]
    job = _job_row(profile, cluster, placement)
    hosts = [p.host for p in profile.processes]
    return Rows(
        job=job,
        columns=profile.columns,
        processes=processes,
        blocks=block_rows(profile, summarize, goes_on_before),
        totals=_totals(profile),
        functions=functions,
        access=[
            {"name": name, "width": values.shape[1], "data": codec.encode_ints(values)}
            for name, values in sorted(profile.access.items())
        ],
        segments=None if profile.segments is None else codec.encode_segments(profile.segments),
        resources=_resources(job["fed"], hosts, placement.place),
        sums=sums_of(profile.totals, profile.functions, len(profile.job.hosts)),
    )


def continued(rows: Rows, first_slice: int, fed: Mapping[str, Sequence[str]], place: Place) -> Rows:
    """The rows of the last slices of a job, as rows of the job, which began at first_slice and fed this already."""
    now = rows.job["fed"]
    both = {
        kind: list(dict.fromkeys([m for m in _ordered(kind, fed) if m in {*fed.get(kind, ()), *now.get(kind, ())}]))
        for kind in dict.fromkeys((*resources.FEEDS, *fed))
        if kind in fed or kind in now
    }
    end = rows.job["first_slice"] + rows.job["n_slices"]
    job = {**rows.job, "first_slice": first_slice, "n_slices": end - first_slice, "fed": both}
    hosts = [process["host"] for process in rows.processes]
    return replace(rows, job=job, resources=_resources(both, hosts, place))


def _ordered(kind: str, fed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The metrics that may feed a kind: as the table has them, then those that it had when a job was loaded."""
    return (*resources.FEEDS.get(kind, ()), *fed.get(kind, ()))


def _resources(fed: Mapping[str, Sequence[str]], hosts: Sequence[str], place: Place) -> list[str]:
    return sorted(name for kind in fed for name in resources.resource_names(kind, hosts, place))


def profile_of(
    job: Mapping[str, Any],
    columns: Sequence[Column],
    processes: Sequence[Mapping[str, Any]],
    frames: Mapping[str, Mapping[Span, bytes]],
    totals: Mapping[str, bytes],
    functions: Sequence[Mapping[str, Any]],
    access: Sequence[Mapping[str, Any]],
    coverage: Mapping[Span, bytes],
    segments: bytes | None,
) -> Profile:
    """The profile that a job's rows hold; the inverse of rows_of, but that metrics which are zero everywhere are
    absent.
    """
    n, grid = job["n_processes"], (job["n_processes"], job["first_slice"], job["n_slices"])
    return Profile(
        job=Job(
            job["job_id"], job["step"], job["user"], job["uid"], tuple(job["hosts"]), job["ranks"],
            job["start_ns"], job["end_ns"], job["command"], job["mpi"],
        ),
        processes=tuple(Process(**{name: row[name] for name in _PROCESS}) for row in processes),
        columns=tuple(columns),
        slice_ns=job["slice_ns"],
        first_slice=job["first_slice"],
        n_slices=job["n_slices"],
        slices={m: assembled(blobs, *grid) for m, blobs in frames.items()},
        covered_ns=assembled(coverage, *grid),
        totals={m: codec.decode_ints(data, (n,)) for m, data in totals.items()},
        functions={row["name"]: codec.decode_ints(row["data"], (n, 4)) for row in functions},
        segments=None if segments is None else codec.decode_segments(segments),
        clock=Clock(**job["clock"]),
        lost=dict(job["lost"]),
        dropped_files=tuple((path, reason) for path, reason in job["dropped_files"]),
        partial=np.array([row["partial"] for row in processes], dtype=np.bool_),
        mpi_functions=frozenset(row["name"] for row in functions if row["is_mpi"]),
        access={row["name"]: codec.decode_ints(row["data"], (n, row["width"])) for row in access},
    )  # fmt: skip


def shares_of(
    profile: Profile, fed: Mapping[str, Sequence[str]], place: Place = resources.NOWHERE
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """What a profile adds to the background: per (resource, metric) an int64 [slice]. fed: {kind: [metrics]}, see
    fed_by.
    """
    hosts = [p.host for p in profile.processes]
    shares: dict[tuple[str, str], NDArray[np.int64]] = {}
    for kind, metrics in fed.items():
        names, users = resources.used_by(kind, hosts, place)
        for metric in metrics if names else ():
            if metric in profile.slices:
                sums = resources.shares_of_all(profile.slices[metric], users)
                shares |= {(name, metric): share for name, share in zip(names, sums, strict=True)}
    return shares


def state_of(processes: Sequence[Process]) -> str:
    """A job step's state: `running`, `lost` or `killed` as soon as one process is, else `finished`."""
    states = {p.state for p in processes}
    return next((state for state in ("running", "lost", "killed") if state in states), "finished")


def _job_row(profile: Profile, cluster: str, placement: Placement) -> dict[str, Any]:
    job = asdict(profile.job)
    return {
        "cluster": cluster,
        "job_id": job.pop("id"),
        **job,
        "hosts": list(profile.job.hosts),
        "n_processes": len(profile.processes),
        "state": state_of(profile.processes),
        "slice_ns": profile.slice_ns,
        "first_slice": profile.first_slice,
        "n_slices": profile.n_slices,
        "fed": _fed_by(profile, placement.place),
        "topology_id": placement.topology_id,
        "partition": placement.place.partition,
        "clock": asdict(profile.clock),
        "lost": dict(sorted(profile.lost.items())),
        "dropped_files": [list(pair) for pair in sorted(profile.dropped_files)],
    }


def _fed_by(profile: Profile, place: Place) -> dict[str, list[str]]:
    """Per kind of resource the metrics that it gets from this profile: those in the table that are not zero
    everywhere.
    """
    used = {name for name, values in profile.slices.items() if values.any()}
    hosts = [p.host for p in profile.processes]
    kinds = [kind for kind in resources.FEEDS if resources.resource_names(kind, hosts, place)]
    fed = {kind: [m for m in resources.FEEDS[kind] if m in used] for kind in kinds}
    return {kind: metrics for kind, metrics in fed.items() if metrics}


def _totals(profile: Profile) -> dict[str, bytes]:
    """Those of the same metrics, and of others that are not zero everywhere."""
    return {
        name: codec.encode_ints(values)
        for name, values in sorted(profile.totals.items())
        if values.any() or profile.slices.get(name, values).any()
    }


def digest_of(rows: Rows, earlier: Iterable[str] = ()) -> str:
    """A fingerprint of the rows: equal for equal profiles, so that loading one again changes nothing. earlier: the
    digests of the job's blocks before those of the rows.
    """
    state = hashlib.blake2b(digest_size=16)
    columns = [{"id": c.id, "name": c.name, "unit": c.unit, "kind": c.kind} for c in rows.columns]
    plain = [rows.job, columns, rows.processes, [*earlier, *(block.digest for block in rows.blocks)]]
    state.update(json.dumps(plain, sort_keys=True).encode())
    for name, blob in sorted(rows.totals.items()):
        state.update(f"{name}\0{len(blob)}\0".encode() + blob)
    for row in rows.functions:
        state.update(f"{row['name']}\0{row['is_mpi']}\0".encode() + row["data"])
    for row in rows.access:
        state.update(f"{row['name']}\0".encode() + row["data"])
    state.update(rows.segments or b"")
    return state.hexdigest()
