"""The one table that says which metric feeds which shared resource, and a job's share of a resource.

A resource is what jobs meet on. Its name is a string: the kind alone where the whole system shares it (`fs:net`,
`net`), the kind and the place where some share it: the processes of one node (`fs:disk@HOST`, `mem@HOST`, `cpu@HOST`),
those of the nodes plugged into one switch (`net:switch@SWITCH`), the jobs of one partition (`partition@PARTITION`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FEEDS", "NOWHERE", "PLACED", "UNPLACED", "Place", "Placement", "metrics_of", "resource_names", "rows_of",
    "rows_of_any", "rows_of_kind", "share_of", "shares_of_all", "split", "used_by",
]  # fmt: skip

_MPI_TRAFFIC = ("mpi_p2p", "mpi_coll_one_to_all", "mpi_coll_all_to_one", "mpi_coll_all_to_all", "mpi_rma")


def _file_traffic(file_class: str) -> tuple[str, ...]:
    """Both layers of I/O on one class of files: no byte is counted in both. MPI-IO is left out: its system calls are
    here.
    """
    moved = [
        f"{layer}_{file_class}_{op}_{unit}"
        for layer in ("posix", "stdio")
        for op in ("read", "write")
        for unit in ("bytes", "calls")
    ]
    return (*moved, f"posix_{file_class}_sync_calls", f"posix_{file_class}_meta_calls")


_NETWORK = (
    *(f"{group}_{unit}" for group in _MPI_TRAFFIC for unit in ("bytes_out", "bytes_in", "calls")),
    *_file_traffic("sock")[:8],
)
# Times spent in calls are no load on a resource but its effect, so no time but CPU time is here. A job remembers which
# rows it was added under (job.fed), so that a row can be added or dropped without harm to what is already summed.
FEEDS: dict[str, tuple[str, ...]] = {
    "fs:net": _file_traffic("net"),
    "fs:disk": _file_traffic("disk"),
    "net": _NETWORK,
    "net:switch": _NETWORK,
    "partition": (*_file_traffic("net"), *_NETWORK, "cpu_time"),
    "mem": ("rss", "faults_minor", "faults_major", *_file_traffic("mem")[:8]),
    "cpu": ("cpu_time", "run_delay", "ctx_involuntary", "hw_instructions", "hw_flops", "hw_cycles"),
}
_PER_HOST = frozenset({"fs:disk", "mem", "cpu"})
PLACED = frozenset({"net:switch", "partition"})  # kinds that need more than a process's host: see Place
_WITH_PLACE = _PER_HOST | PLACED


@dataclass(frozen=True)
class Place:
    """Where a job is, beside the hosts of its processes. switches: by host the switch that it is plugged into, as far
    as that is known; partition: of the batch system, "" where it is not known.
    """

    switches: Mapping[str, str] = field(default_factory=dict)
    partition: str = ""


@dataclass(frozen=True)
class Placement:
    """A place, and by which version of the topology (schema.topology) it is known; None: there was none."""

    topology_id: int | None
    place: Place


NOWHERE = Place()
UNPLACED = Placement(None, NOWHERE)


def split(resource: str) -> tuple[str, str]:
    """Kind and place ("" where the whole system shares it) of a resource's name. Raises KeyError for an unknown one."""
    kind, at, place = resource.partition("@")
    if kind not in FEEDS or bool(place) != (kind in _WITH_PLACE) or bool(at) != bool(place):
        raise KeyError(f"no shared resource is named {resource!r}")
    return kind, place


def metrics_of(resource: str) -> tuple[str, ...]:
    """The metrics whose sums make up the load on a resource. Raises KeyError for an unknown one."""
    return FEEDS[split(resource)[0]]


def resource_names(kind: str, hosts: Sequence[str], place: Place = NOWHERE) -> list[str]:
    """All resources of a kind on which processes on these hosts (one per process, or distinct) can meet."""
    if kind not in _WITH_PLACE:
        return [kind]
    places = (_place_in(kind, host, place) for host in dict.fromkeys(hosts))
    return [f"{kind}@{name}" for name in dict.fromkeys(places) if name]


def used_by(kind: str, hosts: Sequence[str], place: Place = NOWHERE) -> tuple[list[str], NDArray[np.intp]]:
    """The resources of a kind as resource_names, and for each process which of them it uses, -1: none."""
    names = {name: number for number, name in enumerate(resource_names(kind, hosts, place))}
    if kind not in _WITH_PLACE:
        return list(names), np.zeros(len(hosts), dtype=np.intp)
    of_host = {host: names.get(f"{kind}@{_place_in(kind, host, place)}", -1) for host in dict.fromkeys(hosts)}
    return list(names), np.array([of_host[host] for host in hosts], dtype=np.intp)


def shares_of_all(values: NDArray[np.int64], users: NDArray[np.intp]) -> NDArray[np.int64]:
    """A job's own shares of the sums of resources: int64 [resource, slice] from values [process, slice] and which of
    the resources each process uses, -1: none. Each is used by one at least.
    """
    order = np.argsort(users, kind="stable")[np.count_nonzero(users < 0) :]
    begins = np.flatnonzero(np.diff(users[order], prepend=-1))
    return np.add.reduceat(values[order], begins, axis=0, dtype=np.int64)


def rows_of(resource: str, hosts: Sequence[str], place: Place = NOWHERE) -> NDArray[np.intp]:
    """Which processes use a resource: indices into hosts, the host of each process."""
    kind, name = split(resource)
    return np.array([i for i, h in enumerate(hosts) if not name or _place_in(kind, h, place) == name], dtype=np.intp)


def rows_of_kind(kind: str, hosts: Sequence[str], place: Place = NOWHERE) -> NDArray[np.intp]:
    """Which processes use any resource of a kind. None uses two."""
    everywhere = kind not in _WITH_PLACE
    return np.array([i for i, h in enumerate(hosts) if everywhere or _place_in(kind, h, place)], dtype=np.intp)


def rows_of_any(names: Sequence[str], hosts: Sequence[str], place: Place = NOWHERE) -> NDArray[np.intp]:
    """Which processes use any of these resources, all of one kind."""
    kind = split(names[0])[0]
    places = {split(name)[1] for name in names}
    return np.array(
        [i for i, h in enumerate(hosts) if kind not in _WITH_PLACE or _place_in(kind, h, place) in places],
        dtype=np.intp,
    )


def share_of(
    resource: str, values: NDArray[np.int64], hosts: Sequence[str], place: Place = NOWHERE
) -> NDArray[np.int64]:
    """A job's own share of a resource's sum: int64 [slice] from values [process, slice] and the host of each process.

    Subtracting it from the background of the same slices leaves what all other jobs did.
    """
    return values[rows_of(resource, hosts, place)].sum(axis=0, dtype=np.int64)


def _place_in(kind: str, host: str, place: Place) -> str:
    """Which resource of a kind with a place a process on a host uses; "" where that is not known."""
    if kind == "net:switch":
        return place.switches.get(host, "")
    return place.partition if kind == "partition" else host
