"""The table text of a spool file: what its columns, segment fields, lost counters and functions are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crosswind.profile.model import Column

__all__ = ["Place", "Table", "TableError", "parse_table"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
UNIT = re.compile(r"[A-Za-z%/0-9_]{1,16}", re.ASCII)
SOURCE = re.compile(r"[a-z]{1,16}", re.ASCII)
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
MAX_LINES = 1 << 14
MAX_SEGMENT_FIELDS = 64  # each costs a pass over the rows of every chunk
MAX_WORDS = 1 << 16  # of a thread
KINDS = ("counter", "gauge")
FIELDS_OF_GROUP = 4


class TableError(ValueError):
    """The table is unusable; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where the library takes a column from: a field of a group of the thread blocks, or (group None) elsewhere."""

    group: int | None
    field: int


@dataclass(frozen=True)
class Table:
    """The names in a spool file. Positions are the numbers that records and blocks use.

    functions: (name, layer), the layer being `posix`, `stdio` or `mpi`. words: (name, length) of the arrays of words.
    segment_units: of the segment fields.
    """

    columns: tuple[Column, ...]
    places: tuple[Place, ...]
    n_groups: int
    segment_fields: tuple[str, ...]
    lost: tuple[str, ...]
    functions: tuple[tuple[str, str], ...]
    words: tuple[tuple[str, int], ...] = ()
    segment_units: tuple[str, ...] = ()

    @property
    def n_words(self) -> int:
        """Plain words of a thread."""
        return sum(length for _, length in self.words)

    def named_words(self, words: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The arrays of a thread's or process's words by name; those that are zero are left out."""
        ends = np.cumsum([length for _, length in self.words], dtype=np.int64)
        arrays = np.split(words, ends[:-1]) if self.words else []
        return {name: array for (name, _), array in zip(self.words, arrays, strict=True) if array.any()}


@lru_cache(maxsize=8)  # all processes of one library have the same table, and reading it is half of reading a file
def parse_table(raw: bytes, *, n_columns: int, n_groups: int, n_functions: int, n_lost: int) -> Table:
    """Read the table text and compare it with the header's numbers. Raises TableError.

    One line each: `column ID NAME UNIT KIND SOURCE NUMBER [FIELD]`, `segment NAME UNIT`, `lost NAME`,
    `function NAME LAYER`, `words NAME LENGTH`. Lines that begin with another word are left to later versions.
    """
    lines = raw.decode("ascii", errors="replace").split("\n")
    if len(lines) > MAX_LINES:
        raise TableError("its table has too many lines")
    words: dict[str, list[list[str]]] = {"column": [], "segment": [], "lost": [], "function": [], "words": []}
    for line in lines:
        kind, *rest = line.split(" ")
        if kind in words:
            words[kind].append(rest)
    placed = [_column(w, n_groups) for w in words["column"]]
    table = Table(
        columns=tuple(c for c, _ in placed),
        places=tuple(p for _, p in placed),
        n_groups=n_groups,
        segment_fields=tuple(_name(w, 2) for w in words["segment"]),
        lost=tuple(_name(w, 1) for w in words["lost"]),
        functions=tuple((_name(w, 2), _name(w[1:], 1)) for w in words["function"]),
        words=tuple((_name(w, 2), _length(w[1])) for w in words["words"]),
        segment_units=tuple(w[1] for w in words["segment"]),
    )
    found = (len(table.columns), len(table.functions), len(table.lost))
    if found != (n_columns, n_functions, n_lost) or n_groups > MAX_LINES or table.n_words > MAX_WORDS:
        raise TableError("its table and its header disagree about the number of columns, functions or lost counters")
    if len(table.segment_fields) > MAX_SEGMENT_FIELDS:
        raise TableError("its table has too many segment fields")
    pairs = ([name for name, _ in named] for named in (table.functions, table.words))
    for names in ([c.name for c in table.columns], table.segment_fields, table.lost, *pairs):
        if len(set(names)) != len(names):
            raise TableError("its table gives a name twice")
    return table


def _name(words: list[str], n_words: int) -> str:
    if len(words) != n_words or not NAME.fullmatch(words[0]):
        raise TableError("its table has a line that cannot be read")
    return words[0]


def _length(word: str) -> int:
    if not NUMBER.fullmatch(word) or int(word) == 0:
        raise TableError("its table has a line that cannot be read")
    return int(word)


def _column(words: list[str], n_groups: int) -> tuple[Column, Place]:
    if len(words) not in (6, 7):
        raise TableError("its table has a column that cannot be read")
    number, name, unit, kind, source, *place = words
    readable = NUMBER.fullmatch(number) and NAME.fullmatch(name) and UNIT.fullmatch(unit) and SOURCE.fullmatch(source)
    if not readable or kind not in KINDS or not all(NUMBER.fullmatch(p) for p in place):
        raise TableError("its table has a column that cannot be read")
    column = Column(int(number), name, unit, kind)
    if source != "group":
        return column, Place(None, int(place[0]))
    if len(place) != 2 or int(place[0]) >= n_groups or int(place[1]) >= FIELDS_OF_GROUP:
        raise TableError(f"its table puts column {name} where no group is")
    return column, Place(int(place[0]), int(place[1]))
