"""The processes of a profile, one row each: what one spool file, or the short runs of one executable, come to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.fold import MAX_SLICES, Folded, Pieces, fold, lay
from crosswind.profile.lifecycle import Ending
from crosswind.profile.model import Process
from crosswind.profile.short import ShortLog
from crosswind.profile.spool import SpoolFile

__all__ = ["Row", "short_rows", "spool_row"]

MAX_SHORT_ROWS = 64  # executables of one node that get a row of their own
OTHERS = "other"


@dataclass(frozen=True)
class Row:
    """One process. functions: per name calls, bytes out, bytes in, ns. access: arrays of words by name. machine, files:
    where its local files lie and the words of its files. problems: what was left out, in sentences.
    """

    path: str
    process: Process
    folded: Folded
    functions: dict[str, NDArray[np.int64]]
    partial: bool
    problems: tuple[str, ...]
    access: dict[str, NDArray[np.int64]]
    machine: str = ""
    files: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))


def spool_row(file: SpoolFile, ending: Ending) -> Row:
    """The row of one spool file."""
    process = Process(
        host=file.host,
        pid=file.pid,
        rank=file.rank,
        exe=file.exe,
        uid=file.uid,
        start_ns=file.start.real_ns,
        end_ns=ending.end_ns,
        state=ending.state,
        is_mpi=file.ranks > 0,
        lost=file.lost,
        counters=file.counters,
        omp_num_threads=file.omp_num_threads,
    )
    quads = file.functions.copy()
    quads[:, 3] = file.ticks_to_ns(quads[:, 3])
    functions = {name: quad for (name, _), quad in zip(file.table.functions, quads, strict=True) if quad.any()}
    folded = fold(file, ending.end_ns)
    access = file.table.named_words(file.words)
    problems = (*file.problems, *folded.problems)
    return Row(file.path, process, folded, functions, ending.guessed, problems, access, file.boot_id, file.files)


def short_rows(log: ShortLog) -> list[Row]:
    """A row for each executable of a log, those with most runs first; beyond MAX_SHORT_ROWS they share one. What is
    said of the whole log, what was lost too, stands in the first row.
    """
    near = np.abs(log.pieces.index - log.start_ns // log.slice_ns) < MAX_SLICES
    runs = np.bincount(log.exe[near], minlength=len(log.names))
    ranked = [e for e in np.argsort(-runs, kind="stable").tolist() if runs[e]]
    own = ranked[: MAX_SHORT_ROWS - 1] if len(ranked) > MAX_SHORT_ROWS else ranked
    rows = [_short_row(log, log.names[e], near & (log.exe == e)) for e in own]
    if len(own) < len(ranked):
        rows.append(_short_row(log, OTHERS, near & ~np.isin(log.exe, own)))
    if rows and (log.problems or log.lost or not near.all()):
        far = () if near.all() else (f"{np.count_nonzero(~near)} short processes lie outside the job's life",)
        process = replace(rows[0].process, lost=log.lost)
        rows[0] = replace(rows[0], process=process, problems=(*log.problems, *far, *rows[0].problems))
    return rows


def _short_row(log: ShortLog, exe: str, chosen: NDArray[np.bool_]) -> Row:
    """The row of the chosen processes of a log."""
    pieces = _pieces_of(log.pieces, chosen)
    problems: list[str] = []
    folded = lay(pieces, log.table.columns, log.slice_ns, problems)
    # Several may have run at once: covered is whether any did, not how much time they had together.
    folded.covered_ns[:] = np.minimum(folded.covered_ns, log.slice_ns)
    process = Process(
        host=log.host,
        pid=0,
        rank=None,
        exe=exe,
        uid=log.uid,
        start_ns=int(pieces.begin.min()),
        end_ns=int(pieces.end.max()),
        state="short",
        count=int(np.count_nonzero(chosen)),
    )
    access = log.table.named_words(_words_of(log, chosen))
    return Row(log.path, process, folded, _functions_of(log, chosen), False, tuple(problems), access)


def _pieces_of(pieces: Pieces, chosen: NDArray[np.bool_]) -> Pieces:
    number = np.cumsum(chosen) - 1
    keep = chosen[pieces.piece]
    return Pieces(
        pieces.index[chosen],
        pieces.begin[chosen],
        pieces.end[chosen],
        number[pieces.piece[keep]],
        pieces.column[keep],
        pieces.value[keep],
    )


def _functions_of(log: ShortLog, chosen: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    rows = log.functions[chosen[log.functions[:, 0]]]
    quads = np.zeros((len(log.table.functions), 4), dtype=np.int64)
    np.add.at(quads, rows[:, 1], rows[:, 2:])
    return {name: quad for (name, _), quad in zip(log.table.functions, quads, strict=True) if quad.any()}


def _words_of(log: ShortLog, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    rows = log.words[chosen[log.words[:, 0]]]
    words = np.zeros(log.table.n_words, dtype=np.int64)
    np.add.at(words, rows[:, 1], rows[:, 2])
    return words
