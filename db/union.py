"""Two profiles of one job step made one: what is known of a step comes in parts and in any order.

Nodes deliver their own processes, a step's processes start and end at different times, and a running one is
delivered again and again. So loading takes the union: every process image once, in the version that knows most.
The result does not depend on the order of deliveries, and delivering something again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosswind.db.limits import refusal, span_problem
from crosswind.profile.join_segments import join_segments
from crosswind.profile.model import Column, Process, Profile

__all__ = ["Tail", "dropped_of_both", "grown", "union"]

_Image = tuple[str, int, int, str, int]
_Source = tuple[Profile, int]


@dataclass(frozen=True)
class Tail:
    """The newest slices of a job step, of which the others were loaded before. profile: only with slices from
    `profile.first_slice` on and without segments, all else as of the whole step, but for arrays of `access` that are
    left out: what is there of them stays. since: int64 [process], number of the slice before which those of a process
    are left out. before_ns: int64 [process], UTC until when they are; 0: none is.
    """

    profile: Profile
    since: NDArray[np.int64]
    before_ns: NDArray[np.int64]


def grown(old: Profile, tail: Tail) -> Profile | None:
    """The union of a step's last slices (`old`, from the tail's first slice on or earlier) with its newest ones. The
    processes of `old` come first, in their order. None where `old` lacks what the tail leaves out.
    """
    new, at = tail.profile, tail.profile.first_slice - old.first_slice
    held = {image: row for row, image in enumerate(_images(old.processes))}
    rows = [held.get(image, -1) for image in _images(new.processes)]
    for row, before_ns in zip(rows, tail.before_ns.tolist(), strict=True):
        if before_ns and (row < 0 or old.processes[row].end_ns < before_ns):
            return None
    n_both = min(at + new.n_slices, old.n_slices)
    left_out = (np.arange(n_both) < (tail.since - old.first_slice)[:, np.newaxis]) & (np.array(rows) >= 0)[
        :, np.newaxis
    ]

    def with_before(values: NDArray[np.int64], before: NDArray[np.int64] | None) -> NDArray[np.int64]:
        out = np.zeros((len(rows), at + new.n_slices), dtype=np.int64)
        out[:, at:] = values
        if before is not None:
            np.copyto(out[:, :n_both], before[rows, :n_both], where=left_out)
        return out

    names = sorted(old.slices.keys() | new.slices.keys())
    nothing = np.zeros((len(rows), new.n_slices), dtype=np.int64)
    whole = replace(
        new,
        first_slice=old.first_slice,
        n_slices=at + new.n_slices,
        slices={name: with_before(new.slices.get(name, nothing), old.slices.get(name)) for name in names},
        covered_ns=with_before(new.covered_ns, old.covered_ns),
        access=new.access | {n: _of_rows(a, rows) for n, a in old.access.items() if n not in new.access},
    )
    return union(old, whole, in_order=True)


def _of_rows(values: NDArray[np.int64], rows: list[int]) -> NDArray[np.int64]:
    """These rows of [process, number]; zeros for -1."""
    return np.where(np.array(rows)[:, np.newaxis] >= 0, values[rows], 0)


def union(old: Profile, new: Profile, *, in_order: bool = False) -> Profile:
    """The profile that holds each process image of both, in the version that covers most (the new one, where they
    cover the same).

    Returns `old` or `new` itself where the other adds nothing. in_order: the processes of `old` come first, in their
    order. Raises RefusedProfile when their slices cannot be brought together.
    """
    chosen = _choose(old, new)
    rows = [row for profile, row in chosen if profile is new]
    if len(rows) == len(chosen) and (not in_order or rows == list(range(len(rows)))):
        return new
    if all(profile is old for profile, _ in chosen):
        return old
    if old.slice_ns != new.slice_ns:
        lengths = f"slices of {old.slice_ns * 1e-9:g} s, this part has {new.slice_ns * 1e-9:g} s"
        raise refusal(new.job, f"is loaded with {lengths}")
    return _assemble(old, new, chosen)


def _choose(old: Profile, new: Profile) -> list[_Source]:
    """Which row of which profile to take for each process image, in the order of both."""
    images: dict[_Image, tuple[tuple[int, ...], _Source]] = {}
    for profile in (old, new):
        covered = profile.covered_ns.sum(axis=1)
        for row, (image, p) in enumerate(zip(_images(profile.processes), profile.processes, strict=True)):
            # An end is final: what was guessed of a running process may reach further than it lived. That one is lost
            # is no end, but that nobody heard of it.
            version = (p.state not in ("running", "lost"), int(covered[row]), p.count, p.end_ns)
            if image not in images or version >= images[image][0]:
                images[image] = version, (profile, row)
    return [source for _, source in images.values()]


def _images(processes: Iterable[Process]) -> list[_Image]:
    """What tells process images apart: host, pid, start and program; and a number, should a profile hold the same
    twice.
    """
    seen: Counter[tuple[str, int, int, str]] = Counter()
    out = []
    for p in processes:
        plain = (p.host, p.pid, p.start_ns, p.exe)
        out.append((*plain, seen[plain]))
        seen[plain] += 1
    return out


def _assemble(old: Profile, new: Profile, chosen: list[_Source]) -> Profile:
    first = min(old.first_slice, new.first_slice)
    n = max(old.first_slice + old.n_slices, new.first_slice + new.n_slices) - first
    if problem := span_problem(n, new.slice_ns):  # before there are arrays of it
        raise refusal(new.job, problem)

    rows = np.array([row for _, row in chosen], dtype=np.intp)
    of_new = np.array([profile is new for profile, _ in chosen], dtype=np.bool_)
    parts = ((old, ~of_new), (new, of_new))

    def on_grid(*arrays: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """[process, slice] on the common slices. arrays: of the old and the new one; None: zeros."""
        out = np.zeros((rows.size, n), dtype=np.int64)
        for (profile, here), values in zip(parts, arrays, strict=True):
            at = profile.first_slice - first
            if values is not None:
                out[here, at : at + profile.n_slices] = values[rows[here]]
        return out

    def per_process(tables: Callable[[Profile], dict[str, NDArray[np.int64]]]) -> dict[str, NDArray[np.int64]]:
        """Arrays whose first axis is the process, by name."""
        out = {}
        for name, like in sorted((tables(old) | tables(new)).items()):
            out[name] = np.zeros((rows.size, *like.shape[1:]), dtype=np.int64)
            for profile, here in parts:
                if name in tables(profile):
                    out[name][here] = tables(profile)[name][rows[here]]
        return out

    processes = tuple(profile.processes[row] for profile, row in chosen)
    wider = max(old, new, key=lambda p: int(p.covered_ns.sum()))
    return replace(
        new,
        job=replace(
            new.job,
            hosts=tuple(dict.fromkeys((*old.job.hosts, *new.job.hosts))),
            ranks=max(old.job.ranks, new.job.ranks),
            start_ns=min(old.job.start_ns, new.job.start_ns),
            end_ns=max(old.job.end_ns, new.job.end_ns),
            command=wider.job.command,
            mpi=new.job.mpi or old.job.mpi,
        ),
        processes=processes,
        columns=_columns(old, new),
        first_slice=first,
        n_slices=n,
        slices={
            metric: on_grid(old.slices.get(metric), new.slices.get(metric))
            for metric in sorted(old.slices.keys() | new.slices.keys())
        },
        covered_ns=on_grid(old.covered_ns, new.covered_ns),
        totals=per_process(lambda p: p.totals),
        functions=per_process(lambda p: p.functions),
        access=per_process(lambda p: p.access),
        segments=join_segments(old.segments, new.segments),
        clock=wider.clock,
        lost=dict(sum((Counter(p.lost) for p in processes), Counter())),
        dropped_files=dropped_of_both(old, new),
        partial=np.array([profile.partial[row] for profile, row in chosen], dtype=np.bool_),
        mpi_functions=old.mpi_functions | new.mpi_functions,
    )


def dropped_of_both(old: Profile, new: Profile) -> tuple[tuple[str, str], ...]:
    """What was left out of files: of each what the new one says, else the old one, so that what is said with every look
    anew does not pile up.
    """
    said = {path for path, _ in new.dropped_files}
    return tuple(sorted({*new.dropped_files, *(pair for pair in old.dropped_files if pair[0] not in said)}))


def _columns(old: Profile, new: Profile) -> tuple[Column, ...]:
    columns = {c.name: c for c in (*old.columns, *new.columns)}
    return tuple(sorted(columns.values(), key=lambda c: (c.id, c.name)))
