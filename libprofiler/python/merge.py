"""The spool files of one job step -> a `Profile`."""

from __future__ import annotations

import os
import pwd
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.align import align_segments
from crosswind.profile.errors import FormatError
from crosswind.profile.fold import MAX_SLICES, Folded, fold
from crosswind.profile.layout import SliceFlag
from crosswind.profile.lifecycle import Ending, Machine, endings
from crosswind.profile.model import Clock, Column, Job, Process, Profile
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import Dropped, group_by_step, main_world, read_spools, worlds_of

__all__ = ["merge_directory", "merge_files", "merge_spools"]

SUFFIX = ".xws"
MAX_BYTES = 8 << 30  # of the arrays of one profile
# Programs that only start others: never what a job is about, unless there is nothing else.
STARTERS = frozenset((
    "sh", "bash", "dash", "zsh", "csh", "tcsh", "ksh", "env", "time", "timeout", "nice", "numactl", "taskset", "stdbuf",
    "xargs", "make", "mpirun", "mpiexec", "mpiexec.hydra", "prterun", "orterun", "hydra_pmi_proxy", "orted", "prted",
    "srun", "slurmstepd",
))  # fmt: skip


def merge_spools(
    paths: Iterable[str | os.PathLike[str]],
    *,
    last_seen_ns: Mapping[str, int] | None = None,
    now_ns: int | None = None,
    check_owner: bool = True,
) -> Profile:
    """Merge the spool files of one job step.

    last_seen_ns: when a process was last seen alive, by path; now_ns: UTC, default the clock; both tell how long a
    killed or running process lived. Files that can't be read are listed in `dropped_files`. Raises FormatError when
    none can be read or they belong to several steps.
    """
    paths = list(paths)
    files, dropped = read_spools(paths, check_owner=check_owner)
    steps = group_by_step(files)
    if not steps:
        name = paths[0] if paths else "(no file)"
        raise FormatError(name, dropped[0][1] if len(dropped) == 1 else f"none of {len(paths)} spool files can be read")
    if len(steps) > 1:
        names = ", ".join(f"{k.job_id}.{k.step_id} (uid {k.uid})" for k in list(steps)[:4])
        raise FormatError(
            paths[0], f"the spool files belong to {len(steps)} job steps ({names}): merge them one by one"
        )
    return merge_files(next(iter(steps.values())), dropped, last_seen_ns=last_seen_ns, now_ns=now_ns)


def merge_directory(
    directory: str | os.PathLike[str], *, now_ns: int | None = None, check_owner: bool = True
) -> list[Profile]:
    """Merge all spool files of a directory, one profile per job step, ordered by start.

    A file that can't be read is listed with the steps of the job that its name begins with. Raises OSError.
    """
    paths = sorted(p for p in Path(directory).iterdir() if p.name.endswith(SUFFIX))
    files, dropped = read_spools(paths, check_owner=check_owner)
    profiles = [
        merge_files(members, [d for d in dropped if _is_named_after(d[0], key.job_id)], now_ns=now_ns)
        for key, members in group_by_step(files).items()
    ]
    return sorted(profiles, key=lambda p: p.job.start_ns)


def merge_files(
    files: Sequence[SpoolFile],
    dropped: Sequence[tuple[str, str]] = (),
    *,
    last_seen_ns: Mapping[str, int] | None = None,
    now_ns: int | None = None,
    machine: Machine | None = None,
) -> Profile:
    """Merge files that were read and belong to one step (at least one). Raises FormatError when they are too much."""
    files, misfits = _fitting(files)
    ends = endings(files, machine=machine, now_ns=now_ns, last_seen_ns=last_seen_ns)
    worlds = worlds_of(files)
    order = _order(files, worlds)
    files, ends = [files[i] for i in order], [ends[i] for i in order]
    folded = [fold(f, e.end_ns) for f, e in zip(files, ends, strict=True)]
    first, n_slices = _span(files, folded)
    problems = [(f.path, p) for f, d in zip(files, folded, strict=True) for p in (*f.problems, *d.problems)]
    columns = _columns(files)
    return Profile(
        job=_job(files, ends, worlds),
        processes=tuple(_process(f, e) for f, e in zip(files, ends, strict=True)),
        columns=columns,
        slice_ns=files[0].slice_ns,
        first_slice=first,
        n_slices=n_slices,
        slices=_grid(folded, columns, first, n_slices),
        covered_ns=np.stack([_placed(d.covered_ns, d.first - first, n_slices) for d in folded]),
        totals=_totals(folded, columns),
        functions=_functions(files),
        segments=align_segments(main_world(worlds)) if worlds else None,
        clock=_clock(files),
        lost=dict(sum((Counter(f.lost) for f in files), Counter())),
        dropped_files=(*dropped, *misfits, *problems),
        partial=np.array([e.guessed for e in ends], dtype=np.bool_),
        mpi_functions=frozenset(name for f in files for name, layer in f.table.functions if layer == "mpi"),
    )


def _is_named_after(path: str, job_id: str) -> bool:
    """Whether the file is named after the job: JOB.RANK.PID.TIME.xws, where unusual characters of JOB are `_`."""
    return Path(path).name.startswith(re.sub(r"[^0-9A-Za-z_-]", "_", job_id) + ".")


def _fitting(files: Sequence[SpoolFile]) -> tuple[list[SpoolFile], Dropped]:
    """The files that agree on the slice length and on what their columns are, and lie near one another in time."""
    slice_ns = Counter(f.slice_ns for f in files).most_common(1)[0][0]
    middle = sorted(f.start.real_ns for f in files)[len(files) // 2]
    described: dict[str, Column] = {}
    fitting: list[SpoolFile] = []
    misfits: Dropped = []
    for file in files:
        columns = {c.name: c for c in file.table.columns}
        clash = [n for n, c in columns.items() if n in described and described[n] != c]
        if file.slice_ns != slice_ns:
            misfits.append((file.path, f"has slices of {file.slice_ns / 1e9:g} s, the job has {slice_ns / 1e9:g} s"))
        elif clash:
            misfits.append((file.path, f"has another idea of the column {clash[0]} than the rest of the job"))
        elif abs(file.start.real_ns - middle) // slice_ns >= MAX_SLICES:
            misfits.append((file.path, "began too far away in time from the rest of the job"))
        else:
            described |= columns
            fitting.append(file)
    return fitting, misfits


def _order(files: Sequence[SpoolFile], worlds: Sequence[list[SpoolFile]]) -> list[int]:
    """MPI ranks by rank, world by world, then the others by start."""
    place = {id(f): i for i, f in enumerate(files)}
    ranked = [place[id(f)] for world in worlds for f in world]
    others = sorted(set(range(len(files))) - set(ranked), key=lambda i: (files[i].start.real_ns, files[i].pid))
    return ranked + others


def _span(files: Sequence[SpoolFile], folded: Sequence[Folded]) -> tuple[int, int]:
    """First slice and number of slices of the job; refused if its arrays would not fit."""
    first = min(d.first for d in folded)
    n_slices = max(d.first + d.covered_ns.size for d in folded) - first
    metrics = {name for d in folded for name in d.values}
    if len(files) * n_slices * (len(metrics) + 1) * 8 > MAX_BYTES:
        raise FormatError(files[0].path, f"{len(files)} processes over {n_slices} slices are too much for one profile")
    return first, n_slices


def _placed(values: NDArray[np.int64], at: int, n: int) -> NDArray[np.int64]:
    out = np.zeros(n, dtype=np.int64)
    out[at : at + values.size] = values
    return out


def _columns(files: Sequence[SpoolFile]) -> tuple[Column, ...]:
    return tuple({c.name: c for f in files for c in f.table.columns}.values())


def _grid(folded: Sequence[Folded], columns: Sequence[Column], first: int, n: int) -> dict[str, NDArray[np.int64]]:
    """Per metric int64 [process, slice]."""
    slices = {}
    for column in columns:
        if any(column.name in d.values for d in folded):
            array = np.zeros((len(folded), n), dtype=np.int64)
            for row, d in enumerate(folded):
                if column.name in d.values:
                    array[row] = _placed(d.values[column.name], d.first - first, n)
            slices[column.name] = array
    return slices


def _totals(folded: Sequence[Folded], columns: Sequence[Column]) -> dict[str, NDArray[np.int64]]:
    """Per metric int64 [process]."""
    totals = {c.name: np.array([d.totals.get(c.name, 0) for d in folded], dtype=np.int64) for c in columns}
    return {name: values for name, values in totals.items() if values.any()}


def _functions(files: Sequence[SpoolFile]) -> dict[str, NDArray[np.int64]]:
    """Per function name int64 [process, 4]: calls, bytes out, bytes in, ns."""
    functions: dict[str, NDArray[np.int64]] = {}
    for row, file in enumerate(files):
        quads = file.functions.copy()
        quads[:, 3] = file.ticks_to_ns(quads[:, 3])
        for (name, _), quad in zip(file.table.functions, quads, strict=True):
            if quad.any():
                functions.setdefault(name, np.zeros((len(files), 4), dtype=np.int64))[row] = quad
    return functions


def _process(file: SpoolFile, end: Ending) -> Process:
    return Process(
        host=file.host,
        pid=file.pid,
        rank=file.rank,
        exe=file.exe,
        uid=file.uid,
        start_ns=file.start.real_ns,
        end_ns=end.end_ns,
        state=end.state,
        is_mpi=file.ranks > 0,
        lost=file.lost,
        counters=file.counters,
    )


def _job(files: Sequence[SpoolFile], ends: Sequence[Ending], worlds: Sequence[list[SpoolFile]]) -> Job:
    """Files and ends in the order of the profile."""
    key = next(iter(group_by_step(files)))
    return Job(
        id=key.job_id,
        step=key.step_id,
        user=_user(key.uid),
        uid=key.uid,
        hosts=tuple(dict.fromkeys(f.host for f in files)),
        ranks=max((w[0].ranks for w in worlds), default=0),
        start_ns=min(f.start.real_ns for f in files),
        end_ns=max(e.end_ns for e in ends),
        command=_command(files, ends, worlds),
        mpi=next((f.mpi for w in worlds for f in w if f.mpi), ""),
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def _command(files: Sequence[SpoolFile], ends: Sequence[Ending], worlds: Sequence[list[SpoolFile]]) -> str:
    """Base name of rank 0's executable; without MPI that of the longest-living process, starters of others aside."""
    if worlds:
        return main_world(worlds)[0].exe
    lives = [(f.exe not in STARTERS, e.end_ns - f.start.real_ns, f.exe) for f, e in zip(files, ends, strict=True)]
    return max(lives, key=lambda life: life[:2])[2]


def _clock(files: Sequence[SpoolFile]) -> Clock:
    """What the slices say about the nodes' clocks. How late slices close is told by those that a boundary ended."""
    flags = np.concatenate([f.slices.flags for f in files])
    if not flags.size:
        return Clock()
    late = np.concatenate([f.slices.end_ns - (f.slices.index + 1) * f.slice_ns for f in files])
    late = late[(flags & (SliceFlag.LAST | SliceFlag.GAP)) == 0] / 1e6
    return Clock(
        synchronised=float(np.mean((flags & SliceFlag.UNSYNCHRONISED) == 0)),
        max_error_us=float(max(int(f.slices.max_error_us.max(initial=0)) for f in files)),
        late_median_ms=round(float(np.median(late)), 6) if late.size else 0.0,
        late_max_ms=round(float(late.max()), 6) if late.size else 0.0,
    )
