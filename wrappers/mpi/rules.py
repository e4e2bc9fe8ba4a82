"""Byte rules of functions.toml -> C. The C functions are those of bytes.h."""

from __future__ import annotations

import re

from rows import KINDS, Form

SETS = ("peers", "group", "sources", "destinations")
PEER = {"out": ("dest", "target_rank"), "in": ("source", "target_rank")}


class Rule:
    """Compiles the byte rules of one form of a function to C expressions."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def statement(self, way: str) -> list[str]:
        """C statements that set the variable `way` (out or in)."""
        text = self.form.function.rules[way]
        if text == "moved":
            return [f"{way} = xw_mpi_moved({self._argument('status', 'P')});"]
        peer = next((a.name for a in self.form.args if a.name in PEER[way]), None)
        guard = [f"if (xw_mpi_int({peer}) != xw_mpi.proc_null)"] if peer else []
        return [*guard, f"{'    ' if peer else ''}{way} = {self._choice(text)};"]

    def _choice(self, text: str) -> str:
        rule, _, otherwise = text.partition(" else ")
        product, _, conditions = rule.partition(" if ")
        value = self._product(product)
        if not conditions:
            return value
        tests = " && ".join(self._condition(c) for c in conditions.split(" and "))
        return f"{tests} ? {value} : {self._choice(otherwise) if otherwise else '0'}"

    def _condition(self, text: str) -> str:
        given = re.fullmatch(r"given\((\w+)\)", text)
        if given:
            return f"{self._argument(given[1], 'P')} != xw_mpi.in_place"
        if text not in ("root", "member", "leaf"):
            raise self._error(f"unknown condition {text!r}")
        member = f"xw_mpi_int({self._argument('root', 'I')}) >= 0"
        root = f"xw_mpi_is_root(root, {self._argument('comm', 'H')})"
        return {"root": root, "member": member, "leaf": f"{member} && !{root}"}[text]

    def _product(self, text: str) -> str:
        pairs = re.fullmatch(r"sum\((\w+) \* (\w+) over (\w+)\)", text)
        if pairs:
            counts, types = self._argument(pairs[1], "A"), self._argument(pairs[2], "P")
            return f"xw_mpi_sum_types({counts}, {self._width()}, {types}, {self._set(pairs[3])})"
        *factors, datatype = re.split(r" \* ", text)
        if not factors:
            raise self._error(f"{text!r} is no product")
        counts = " * ".join(self._factor(f) for f in factors)
        return f"xw_mpi_times_type({counts}, {self._argument(datatype, 'H')})"

    def _factor(self, text: str) -> str:
        if text.isdigit():
            return text
        if text in SETS:
            return f"xw_mpi_size({self._set(text)})"
        own = re.fullmatch(r"own\((\w+)\)", text)
        if own:
            return f"xw_mpi_own({self._argument(own[1], 'A')}, {self._width()}, {self._argument('comm', 'H')})"
        total = re.fullmatch(r"sum\((\w+) over (\w+)\)", text)
        if total:
            return f"xw_mpi_sum({self._argument(total[1], 'A')}, {self._width()}, {self._set(total[2])})"
        self._argument(text, "INL")
        return f"(int64_t){text}" if self._is_wide(text) else f"(int64_t)xw_mpi_int({text})"

    def _set(self, name: str) -> str:
        if name not in SETS:
            raise self._error(f"{name!r} is not one of {', '.join(SETS)}")
        return f"xw_mpi_{name}({self._argument('comm', 'H')})"

    def _width(self) -> str:
        """Size of an entry of an array of counts."""
        return "8" if self.form.large else "4"

    def _is_wide(self, argument: str) -> bool:
        kind = self.form.kind(argument)
        return kind == "L" or (kind == "N" and self.form.large)

    def _argument(self, name: str, kinds: str) -> str:
        kind = self.form.kind(name)
        if kind is None or kind not in kinds:
            raise self._error(f"{name!r} is no argument of kind {' or '.join(KINDS[k] for k in kinds)}")
        return name

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.form.symbol}: {what}")
