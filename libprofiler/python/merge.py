"""The spool files of one job step -> a `Profile`."""

from __future__ import annotations

import os
import pwd
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.access import count_files, width_of
from crosswind.profile.align import align_segments
from crosswind.profile.errors import FormatError
from crosswind.profile.fold import MAX_SLICES
from crosswind.profile.layout import SliceFlag, State
from crosswind.profile.lifecycle import Ending, Machine, endings
from crosswind.profile.model import Clock, Column, Job, Profile
from crosswind.profile.rows import Row, short_rows, spool_row
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile
from crosswind.profile.steps import (
    SHORT_SUFFIX,
    SPOOL_SUFFIX,
    Dropped,
    StepKey,
    group_by_step,
    main_world,
    read_spools,
    worlds_of,
)  # fmt: skip

__all__ = ["merge_directory", "merge_files", "merge_spools"]

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
    believe_uid: bool = False,
) -> Profile:
    """Merge the spool files and logs of short processes of one job step.

    last_seen_ns: when a process was last seen alive, by path; now_ns: UTC, default the clock; both tell how long a
    killed or running process lived. Files that can't be read are listed in `dropped_files`. Raises FormatError when
    none can be read or they belong to several steps.
    """
    paths = list(paths)
    files, dropped = read_spools(paths, believe_uid=believe_uid)
    steps = group_by_step(files)
    if not steps:
        name = paths[0] if paths else "(no file)"
        raise FormatError(name, dropped[0][1] if len(dropped) == 1 else f"none of {len(paths)} files can be used")
    if len(steps) > 1:
        names = ", ".join(f"{k.job_id}.{k.step_id} (uid {k.uid})" for k in list(steps)[:4])
        raise FormatError(paths[0], f"the files belong to {len(steps)} job steps ({names}): merge them one by one")
    return merge_files(next(iter(steps.values())), dropped, last_seen_ns=last_seen_ns, now_ns=now_ns)


def merge_directory(
    directory: str | os.PathLike[str], *, now_ns: int | None = None, believe_uid: bool = False
) -> list[Profile]:
    """Merge all spool files of a directory, one profile per job step, ordered by start.

    A file that can't be read is listed with the steps of the job that its name begins with. Raises OSError.
    """
    paths = sorted(p for p in Path(directory).iterdir() if p.suffix in (SPOOL_SUFFIX, SHORT_SUFFIX))
    files, dropped = read_spools(paths, believe_uid=believe_uid)
    profiles = [
        merge_files(members, [d for d in dropped if _is_named_after(d[0], key.job_id)], now_ns=now_ns)
        for key, members in group_by_step(files).items()
    ]
    return sorted(profiles, key=lambda p: p.job.start_ns)


def merge_files(
    files: Sequence[SpoolFile | ShortLog],
    dropped: Sequence[tuple[str, str]] = (),
    *,
    last_seen_ns: Mapping[str, int] | None = None,
    now_ns: int | None = None,
    machine: Machine | None = None,
    running: Collection[str] = (),
    unheard: Collection[str] = (),
    ended_ns: int = 0,
) -> Profile:
    """Merge files that were read and belong to one step (at least one). running, unheard, ended_ns: see
    lifecycle.endings. Raises FormatError when they are too much.
    """
    key = next(iter(group_by_step(files)))
    originals, copies = _without_copies(files)
    fitting, misfits = _fitting(originals)
    spools = [f for f in fitting if isinstance(f, SpoolFile)]
    worlds = worlds_of(spools)
    logs = [f for f in fitting if isinstance(f, ShortLog)]
    ends = endings(spools, logs, machine=machine, now_ns=now_ns, last_seen_ns=last_seen_ns, running=running,
                   unheard=unheard, ended_ns=ended_ns)  # fmt: skip
    rows = _rows(spools, ends, worlds, logs)
    if not rows:
        raise FormatError(files[0].path, "holds no process")
    first, n_slices = _span(rows)
    columns = tuple({c.name: c for f in fitting for c in f.table.columns}.values())
    unlike: Dropped = []
    segments = align_segments(main_world(worlds), unlike) if worlds else None
    return Profile(
        job=_job(key, rows, worlds),
        processes=tuple(r.process for r in rows),
        columns=columns,
        slice_ns=fitting[0].slice_ns,
        first_slice=first,
        n_slices=n_slices,
        slices=_grid(rows, columns, first, n_slices),
        covered_ns=np.stack([_placed(r.folded.covered_ns, r.folded.first - first, n_slices) for r in rows]),
        totals=_totals(rows, columns),
        functions=_functions(rows),
        segments=segments,
        clock=_clock(spools),
        lost=dict(sum((Counter(r.process.lost) for r in rows), Counter())),
        dropped_files=(*dropped, *copies, *misfits, *unlike, *((r.path, p) for r in rows for p in r.problems)),
        partial=np.array([r.partial for r in rows], dtype=np.bool_),
        mpi_functions=frozenset(name for f in fitting for name, layer in f.table.functions if layer == "mpi"),
        access=_access(rows),
    )


def _is_named_after(path: str, job_id: str) -> bool:
    """Whether the file is named after the job: JOB.RANK.PID.TIME.xws, where unusual characters of JOB are `_`."""
    return Path(path).name.startswith(re.sub(r"[^0-9A-Za-z_-]", "_", job_id) + ".")


def _without_copies(files: Sequence[SpoolFile | ShortLog]) -> tuple[list[SpoolFile | ShortLog], Dropped]:
    """Each process image and each log once, in the file that holds most: copies and hard links count nothing twice."""
    longest: dict[tuple[object, ...], SpoolFile | ShortLog] = {}
    for file in files:
        image = _image(file)
        if image not in longest or _length(file) > _length(longest[image]):
            longest[image] = file
    kept = {id(file) for file in longest.values()}
    copies = [(f.path, "is a copy of another file of the job") for f in files if id(f) not in kept]
    return list(longest.values()), copies


def _image(file: SpoolFile | ShortLog) -> tuple[object, ...]:
    """What tells process images, and logs, apart."""
    if isinstance(file, ShortLog):
        return file.boot_id, file.host, file.start_ns
    return file.boot_id, file.host, file.pid, file.start_ticks, file.start.real_ns, file.exe


def _length(file: SpoolFile | ShortLog) -> tuple[int, int]:
    if isinstance(file, ShortLog):
        return len(file), 0
    return len(file.slices), int(file.state != State.RUNNING)


def _fitting(files: Sequence[SpoolFile | ShortLog]) -> tuple[list[SpoolFile | ShortLog], Dropped]:
    """The files that agree on the slice length and on what their columns are, and lie near one another in time."""
    slice_ns = Counter(f.slice_ns for f in files).most_common(1)[0][0]
    middle = sorted(_begin(f) for f in files)[len(files) // 2]
    described: dict[str, Column] = {}
    fitting: list[SpoolFile | ShortLog] = []
    misfits: Dropped = []
    for file in files:
        columns = {c.name: c for c in file.table.columns}
        clash = [n for n, c in columns.items() if n in described and described[n] != c]
        if file.slice_ns != slice_ns:
            misfits.append((file.path, f"has slices of {file.slice_ns / 1e9:g} s, the job has {slice_ns / 1e9:g} s"))
        elif clash:
            misfits.append((file.path, f"has another idea of the column {clash[0]} than the rest of the job"))
        elif abs(_begin(file) - middle) // slice_ns >= MAX_SLICES:
            misfits.append((file.path, "began too far away in time from the rest of the job"))
        else:
            described |= columns
            fitting.append(file)
    return fitting, misfits


def _begin(file: SpoolFile | ShortLog) -> int:
    return file.start.real_ns if isinstance(file, SpoolFile) else file.start_ns


def _rows(
    spools: Sequence[SpoolFile],
    ends: Sequence[Ending],
    worlds: Sequence[list[SpoolFile]],
    logs: Sequence[ShortLog],
) -> list[Row]:
    """MPI ranks by rank, world by world, then the other processes by start, then the short ones."""
    row_of = {id(f): spool_row(f, e) for f, e in zip(spools, ends, strict=True)}
    ranked = [row_of.pop(id(f)) for world in worlds for f in world]
    others = sorted(row_of.values(), key=lambda r: (r.process.start_ns, r.process.host, r.process.pid))
    return ranked + others + [row for log in logs for row in short_rows(log)]


def _span(rows: Sequence[Row]) -> tuple[int, int]:
    """First slice and number of slices of the job; refused if its arrays would not fit."""
    first = min(r.folded.first for r in rows)
    n_slices = max(r.folded.first + r.folded.covered_ns.size for r in rows) - first
    metrics = {name for r in rows for name in r.folded.values}
    if len(rows) * n_slices * (len(metrics) + 1) * 8 > MAX_BYTES:
        raise FormatError(rows[0].path, f"{len(rows)} processes over {n_slices} slices are too much for one profile")
    return first, n_slices


def _placed(values: NDArray[np.int64], at: int, n: int) -> NDArray[np.int64]:
    out = np.zeros(n, dtype=np.int64)
    out[at : at + values.size] = values
    return out


def _grid(rows: Sequence[Row], columns: Sequence[Column], first: int, n: int) -> dict[str, NDArray[np.int64]]:
    """Per metric int64 [process, slice]."""
    slices = {}
    for name in (c.name for c in columns):
        if any(name in r.folded.values for r in rows):
            slices[name] = np.zeros((len(rows), n), dtype=np.int64)
            for line, row in zip(slices[name], rows, strict=True):
                if name in row.folded.values:
                    line[:] = _placed(row.folded.values[name], row.folded.first - first, n)
    return slices


def _totals(rows: Sequence[Row], columns: Sequence[Column]) -> dict[str, NDArray[np.int64]]:
    """Per metric int64 [process]."""
    totals = {c.name: np.array([r.folded.totals.get(c.name, 0) for r in rows], dtype=np.int64) for c in columns}
    return {name: values for name, values in totals.items() if values.any()}


def _functions(rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """Per function name int64 [process, 4]: calls, bytes out, bytes in, ns."""
    names = dict.fromkeys(name for r in rows for name in r.functions)
    none = np.zeros(4, dtype=np.int64)
    return {name: np.stack([r.functions.get(name, none) for r in rows]) for name in names}


def _access(rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """Per name int64 [process, number]: the words, and which files are shared."""
    widths = {name: width for r in rows for name in r.access if (width := width_of(name)) == r.access[name].size}
    words = {
        name: np.stack([_fitted(r.access.get(name), width) for r in rows]) for name, width in sorted(widths.items())
    }
    return words | count_files([(r.machine, r.files) for r in rows])


def _fitted(values: NDArray[np.int64] | None, width: int) -> NDArray[np.int64]:
    """The array, or zeros where a process has none of this length."""
    return values if values is not None and values.size == width else np.zeros(width, dtype=np.int64)


def _job(key: StepKey, rows: Sequence[Row], worlds: Sequence[list[SpoolFile]]) -> Job:
    return Job(
        id=key.job_id,
        step=key.step_id,
        user=_user(key.uid),
        uid=key.uid,
        hosts=tuple(dict.fromkeys(r.process.host for r in rows)),
        ranks=max((w[0].ranks for w in worlds), default=0),
        start_ns=min(r.process.start_ns for r in rows),
        end_ns=max(r.process.end_ns for r in rows),
        command=_command(rows, worlds),
        mpi=next((f.mpi for w in worlds for f in w if f.mpi), ""),
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def _command(rows: Sequence[Row], worlds: Sequence[list[SpoolFile]]) -> str:
    """Base name of rank 0's executable; without MPI that of the longest-living process, starters of others aside."""
    if worlds:
        return main_world(worlds)[0].exe

    def weight(row: Row) -> tuple[bool, bool, int]:
        p = row.process
        return p.state != "short", p.exe not in STARTERS, row.lived_ns

    return max(rows, key=weight).process.exe


def _clock(files: Sequence[SpoolFile]) -> Clock:
    """What the slices say about the nodes' clocks. How late slices close is told by those that a boundary ended."""
    if not any(len(f.slices) for f in files):
        return Clock()
    flags = np.concatenate([f.slices.flags for f in files])
    late = np.concatenate([f.slices.end_ns - (f.slices.index + 1) * f.slice_ns for f in files])
    late = late[(flags & (SliceFlag.LAST | SliceFlag.GAP)) == 0] / 1e6
    return Clock(
        synchronised=float(np.mean((flags & SliceFlag.UNSYNCHRONISED) == 0)),
        max_error_us=float(max(int(f.slices.max_error_us.max(initial=0)) for f in files)),
        late_median_ms=round(float(np.median(late)), 6) if late.size else 0.0,
        late_max_ms=round(float(late.max()), 6) if late.size else 0.0,
    )
