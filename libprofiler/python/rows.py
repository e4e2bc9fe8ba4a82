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
    where its local files lie and the words of its files. problems: what was left out, in sentences. lived_ns: from its
    begin to its end, of short ones from the first begin to the last end.
    """

    path: str
    process: Process
    folded: Folded
    functions: dict[str, NDArray[np.int64]]
    partial: bool
    problems: tuple[str, ...]
    access: dict[str, NDArray[np.int64]]
    lived_ns: int
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
    lived = process.end_ns - process.start_ns
    problems = (*file.problems, *folded.problems)
    return Row(file.path, process, folded, functions, ending.guessed, problems, access, lived, file.boot_id, file.files)


def short_rows(log: ShortLog) -> list[Row]:
    """A row for each executable of a log, those with most runs first; those that come behind the first
    MAX_SHORT_ROWS - 1 executables share one. What is said of the whole log, what was lost too, stands in the row of the
    first executable.

    A log that has grown gives the same rows with more in them, so that what was loaded of it before can be told: an
    executable never moves to another row, and a row begins with its first record.
    """
    near = np.abs(log.pieces.index - log.start_ns // log.slice_ns) < MAX_SLICES
    exes, first = np.unique(log.exe[near], return_index=True)
    in_order = exes[np.argsort(first)].tolist()
    own, others = in_order[: MAX_SHORT_ROWS - 1], in_order[MAX_SHORT_ROWS - 1 :]
    rows = {e: _short_row(log, log.names[e], near & (log.exe == e)) for e in own}
    if rows and (log.problems or log.lost or not near.all()):
        far = () if near.all() else (f"{np.count_nonzero(~near)} short processes lie outside the job's life",)
        row = rows[own[0]]
        process = replace(row.process, lost=log.lost)
        rows[own[0]] = replace(row, process=process, problems=(*log.problems, *far, *row.problems))
    ranked = [rows[e] for e in sorted(own, key=lambda e: (-rows[e].process.count, e))]
    return [*ranked, _short_row(log, OTHERS, near & np.isin(log.exe, others))] if others else ranked


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
        start_ns=int(pieces.begin[0]),
        end_ns=int(pieces.end.max()),
        state="short",
        count=int(np.count_nonzero(chosen)),
    )
    access = log.table.named_words(_words_of(log, chosen))
    lived = int(pieces.end.max() - pieces.begin.min())
    return Row(log.path, process, folded, _functions_of(log, chosen), False, tuple(problems), access, lived)


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
