"""Access patterns: which files of a job step were shared, and what the counted steps say in words.

What is counted, and the rules: docs/access-patterns.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.metrics import ACCESS_SIZES, ACCESS_STEPS, ACCESS_WAYS, FILE_CLASSES

__all__ = [
    "FILE_COUNTS",
    "SHARED",
    "Access",
    "FileCounts",
    "access_by_class",
    "count_files",
    "file_counts_by_class",
    "pattern",
    "size_label",
    "width_of",
]

STEPS = tuple(ACCESS_STEPS)
# Columns of `files_CLASS`, per process: its own files, the files that it shares with others, and of those the ones that
# no process before it has, so that the sum over processes counts each shared file once; each by what is done with them.
FILE_COUNTS = tuple(f"{whose}_{use}" for whose in ("own", "shared", "once") for use in ("read", "written", "both"))
SHARED = tuple(f"files_{name}" for name in FILE_CLASSES)  # the arrays that no process makes alone
READ, WRITTEN, LOCAL = 1, 2, 4  # bits of a file word (libprofiler/file_table.h)
CLASS_SHIFT, CLASS_MASK = 3, 7
IDENTITY_SHIFT = 8

SOME, MOST = 0.5, 0.9  # shares of the requests from which a pattern is named, and is the whole of it

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Access:
    """The requests on one class of file in one way. steps: by name. sizes: by power of two, see size_label."""

    steps: dict[str, int]
    sizes: tuple[int, ...]

    @property
    def requests(self) -> int:
        """Reads or writes, those that moved nothing too."""
        return sum(self.sizes)


@dataclass(frozen=True)
class FileCounts:
    """Different files of one class that a job read only, wrote only, or both: of one process alone, and shared."""

    own_read: int
    own_written: int
    own_both: int
    shared_read: int
    shared_written: int
    shared_both: int


def width_of(name: str) -> int | None:
    """How many numbers a process has in an array of `Profile.access`; None: no such array."""
    what, _, rest = name.partition("_")
    if what == "files":
        return len(FILE_COUNTS) if rest in FILE_CLASSES else None
    if rest not in {f"{cls}_{way}" for cls in FILE_CLASSES for way in ACCESS_WAYS}:
        return None
    return {"steps": len(STEPS), "sizes": ACCESS_SIZES}.get(what)


def access_by_class(access: Mapping[str, Ints]) -> dict[str, dict[str, Access]]:
    """The requests of all processes together, by class and way; what was not used is left out."""
    found: dict[str, dict[str, Access]] = {}
    for cls in FILE_CLASSES:
        for way in ACCESS_WAYS:
            steps = _sum(access, f"steps_{cls}_{way}", len(STEPS))
            sizes = _sum(access, f"sizes_{cls}_{way}", ACCESS_SIZES)
            if any(sizes):
                found.setdefault(cls, {})[way] = Access(dict(zip(STEPS, steps, strict=True)), tuple(sizes))
    return found


def file_counts_by_class(access: Mapping[str, Ints]) -> dict[str, FileCounts]:
    """The different files of all processes together, by class; classes without any are left out."""
    found = {}
    for cls in FILE_CLASSES:
        counts = dict(zip(FILE_COUNTS, _sum(access, f"files_{cls}", len(FILE_COUNTS)), strict=True))
        if any(counts.values()):
            own = {name: n for name, n in counts.items() if name.startswith("own_")}
            once = {f"shared_{use}": counts[f"once_{use}"] for use in ("read", "written", "both")}
            found[cls] = FileCounts(**own, **once)
    return found


def _sum(access: Mapping[str, Ints], name: str, width: int) -> list[int]:
    values = access.get(name)
    return [0] * width if values is None else values.sum(axis=0, dtype=np.int64).tolist()


def count_files(tables: Sequence[tuple[str, NDArray[np.uint64]]]) -> dict[str, Ints]:
    """`files_CLASS` [process, FILE_COUNTS] of processes, each given by its machine and its table of file words.

    A file in the tables of two processes is shared. Files on local disks and in memory are those of their machine.
    """
    machines = {machine: i for i, machine in enumerate(dict.fromkeys(machine for machine, _ in tables))}
    process = np.repeat(np.arange(len(tables)), [words.size for _, words in tables])
    words = np.concatenate([np.zeros(0, np.uint64), *(w for _, w in tables)]).astype(np.uint64)
    place = np.array([machines[machine] for machine, _ in tables], dtype=np.int64)[process]
    place = np.where(words & np.uint64(LOCAL), place, -1)
    cls = ((words >> np.uint64(CLASS_SHIFT)) & np.uint64(CLASS_MASK)).astype(np.int64)
    use = (words & np.uint64(READ | WRITTEN)).astype(np.int64)
    known = (use > 0) & (cls < len(FILE_CLASSES))
    identity = (words >> np.uint64(IDENTITY_SHIFT)).astype(np.int64)
    process, place, cls, use, identity = process[known], place[known], cls[known], use[known], identity[known]
    _, file = np.unique(np.stack((place, cls, identity)), axis=1, return_inverse=True)
    file = file.reshape(-1)
    users = np.bincount(file)
    together = np.zeros(users.size, dtype=np.int64)
    np.bitwise_or.at(together, file, use)
    first = np.zeros(file.size, dtype=np.bool_)
    first[np.unique(file, return_index=True)[1]] = True
    shared = users[file] > 1
    counts = np.zeros((len(FILE_CLASSES), len(tables), len(FILE_COUNTS)), dtype=np.int64)
    np.add.at(counts, (cls, process, 3 * shared + use - 1), 1)
    once = shared & first
    np.add.at(counts, (cls[once], process[once], 6 + together[file[once]] - 1), 1)
    return {f"files_{name}": values for name, values in zip(FILE_CLASSES, counts, strict=True) if values.any()}


def pattern(access: Access, *, writes: bool) -> str:
    """What the steps say, in a few words; empty where there are none (pipes, sockets, terminals).

    The thesis' patterns: open-write-close, aggregate-write, write-seek; the same for reads. From half of the requests
    on a step names the pattern, "mostly" unless it is nine tenths.
    """
    verb = "write" if writes else "read"
    steps = access.steps
    total = sum(n for name, n in steps.items() if name != "strided")
    if not total:
        return ""
    if total == 1:
        return f"one {verb}"
    jumps = steps["back"] + steps["ahead"]
    names = {
        "first": f"open-{verb}-close",
        "next": f"aggregate-{verb}",
        "back": f"{verb}-seek",
        "ahead": f"skipping {verb}",
    }
    step, name = max(names.items(), key=lambda item: steps[item[0]])
    share = steps[step] / total
    if jumps >= SOME * total:
        if steps["strided"] >= SOME * jumps:
            name, share = f"strided {verb}", jumps / total
        elif steps[step] < SOME * total:
            name, share = f"random {verb}", jumps / total
    if share < SOME:
        return f"mixed {verb}"
    return name if share >= MOST else f"mostly {name}"


def size_label(bucket: int) -> str:
    """The bytes that a word of the histogram stands for, such as `4 to 8 KiB`; the upper end is not in it."""
    if bucket <= 1:
        return f"{bucket} B"
    low, high = bucket - 1, bucket
    if bucket == ACCESS_SIZES - 1:
        return f"{_power(low)} or more"
    same_unit = low // 10 == high // 10
    return f"{1 << low % 10 if same_unit else _power(low)} to {_power(high)}"


def _power(exponent: int) -> str:
    return f"{1 << exponent % 10} {('B', 'KiB', 'MiB', 'GiB')[exponent // 10]}"
