"""Slurm's lists of nodes, such as `n[1-3,07],login1`, as names. What a list says is bounded before it is made."""

from __future__ import annotations

import itertools
import re

__all__ = ["MAX_HOSTS", "expand"]

MAX_HOSTS = 1 << 17
_NAME = re.compile(r"[\w.-]*(?:\[[\d,-]+\][\w.-]*)*", re.ASCII)
_PIECE = re.compile(r"\[([\d,-]+)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str) -> tuple[str, ...]:
    """The names of a list, in its order. Raises ValueError for what is no list, or one of more than MAX_HOSTS."""
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text) if text else ():
        if not part or not _NAME.fullmatch(part):
            raise ValueError(f"this is no list of nodes: {text[:80]!r}")
        pieces = [_numbers(numbers) if numbers else [fixed] for numbers, fixed in _PIECE.findall(part)]
        count = 1
        for piece in pieces:
            count *= len(piece)
        if len(names) + count > MAX_HOSTS:
            raise ValueError(f"more than {MAX_HOSTS} nodes: {text[:80]!r}")
        names += ("".join(words) for words in itertools.product(*pieces))
    return tuple(names)


def _numbers(text: str) -> list[str]:
    """`1-3,07` as 1, 2, 3, 07: the width of the first number of a range is that of all."""
    out: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"this is no range of numbers: {text[:80]!r}")
        first, last = match[1], match[2] or match[1]
        if len(out) + int(last) - int(first) >= MAX_HOSTS:
            raise ValueError(f"more than {MAX_HOSTS} nodes: {text[:80]!r}")
        out += (f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1))
    return out
