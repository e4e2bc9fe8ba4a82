"""The rows of functions.toml (its head explains them), checked as far as that is possible without their rules."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "functions.toml"
KINDS = {
    "P": "pointer",
    "H": "handle",
    "I": "int",
    "L": "64-bit integer",
    "N": "count",
    "A": "array of counts",
}
MARKS = ("boundary", "recurs", "completes", "starts", "forgets", "hot", "special")
KEYS = {"name", "layer", "group", "args", "large", "out", "in", *MARKS}


@dataclass(frozen=True)
class Argument:
    """One argument of an MPI function: its kind (a key of KINDS) and the standard's name."""

    kind: str
    name: str


@dataclass(frozen=True)
class Function:
    """One row of the table."""

    name: str
    group: str
    args: tuple[Argument, ...]
    large_args: tuple[Argument, ...] | None
    rules: dict[str, str]
    boundary: bool
    recurs: bool
    completes: bool
    starts: bool
    forgets: bool
    hot: bool
    special: bool

    def forms(self) -> Iterator[Form]:
        """Its C symbols: the plain one, and the one for large counts where that exists."""
        yield Form(self, self.name, self.args, large=False)
        if self.large_args is not None:
            yield Form(self, f"{self.name}_c", self.large_args, large=True)

    @property
    def asks_status(self) -> bool:
        """Whether its bytes come from the status."""
        return "moved" in self.rules.values()


@dataclass(frozen=True)
class Form:
    """One C symbol of a function."""

    function: Function
    symbol: str
    args: tuple[Argument, ...]
    large: bool

    def kind(self, argument: str) -> str | None:
        """The kind of an argument, None if there is none of that name."""
        return next((a.kind for a in self.args if a.name == argument), None)


def load(path: Path = TABLE) -> list[Function]:
    """All rows. Raises ValueError when one can't be understood."""
    return [function(row) for row in tomllib.loads(path.read_text())["function"]]


def left_out(path: Path = TABLE) -> list[str]:
    """Patterns of the names that have no row on purpose."""
    return [entry["name"] for entry in tomllib.loads(path.read_text())["left_out"]]


def function(row: dict) -> Function:
    """One row. Raises ValueError when it can't be understood."""
    name = row["name"]
    unknown = row.keys() - KEYS
    if unknown:
        raise ValueError(f"{name}: unknown key {', '.join(sorted(unknown))}")
    args = _arguments(name, row["args"])
    large = row.get("large")
    return Function(
        name=name,
        group=row["group"],
        args=args,
        large_args=args if large is True else _arguments(name, large) if large else None,
        rules={way: row[way] for way in ("out", "in") if way in row},
        **{mark: row.get(mark, False) for mark in MARKS},
    )


def _arguments(function_name: str, text: str) -> tuple[Argument, ...]:
    args = tuple(Argument(*a.split()) for a in text.split(", ")) if text else ()
    for arg in args:
        if arg.kind not in KINDS:
            kinds = ", ".join(KINDS)
            raise ValueError(f"{function_name}: argument {arg.name}: kind {arg.kind!r} is not one of {kinds}")
    return args
