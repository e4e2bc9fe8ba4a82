#!/usr/bin/env python3
"""Turn the rows of functions.toml into the MPI wrappers (its head explains the rows).

generate.py --header FILE     mpi_table.h: sizes of the table
generate.py --special FILE    mpi_special.h: what special.c implements
generate.py --source FILE     mpi_wrappers.c: one wrapper per row, and the table that finds it by name
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"P": "pointer", "H": "handle", "I": "int", "L": "64-bit integer"}
INDEX_SIZE = 1024
NAME_SIZE = 40
NOT_HOT = ("mpi_other", "mpi_io")  # groups whose wrappers also look for modules loaded since
PEER = {"out": ("dest", "target_rank"), "in": ("source", "target_rank")}


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
    rules: dict[str, str]
    boundary: bool
    special: bool

    def kind(self, argument: str) -> str | None:
        """The kind of an argument, None if there is none of that name."""
        return next((a.kind for a in self.args if a.name == argument), None)

    @property
    def received(self) -> bool:
        """Whether its bytes come from the status."""
        return self.rules.get("in") == "received"


def load(path: Path = HERE / "functions.toml") -> list[Function]:
    """All rows. Raises ValueError when one can't be understood."""
    return [_function(row) for row in tomllib.loads(path.read_text())["function"]]


def _function(row: dict) -> Function:
    unknown = row.keys() - {"name", "layer", "group", "args", "out", "in", "boundary", "special"}
    if unknown:
        raise ValueError(f"{row['name']}: unknown key {', '.join(sorted(unknown))}")
    args = tuple(Argument(*a.split()) for a in row["args"].split(", ")) if row["args"] else ()
    for arg in args:
        if arg.kind not in KINDS:
            raise ValueError(f"{row['name']}: argument {arg.name}: kind {arg.kind!r} is not one of {', '.join(KINDS)}")
    rules = {way: row[way] for way in ("out", "in") if way in row}
    return Function(row["name"], row["group"], args, rules, row.get("boundary", False), row.get("special", False))


# --- byte rules -> C ------------------------------------------------------------------------------------------


class Rule:
    """Compiles the byte rules of one function to C expressions."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def statement(self, way: str) -> list[str]:
        """C statements that set the variable `way` (out or in)."""
        text = self.function.rules[way]
        if text == "received":
            self._argument("status", "P")
            return [f"{way} = xw_mpi_received(status);"]
        peer = next((a.name for a in self.function.args if a.name in PEER[way]), None)
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
        pairs = re.fullmatch(r"sum\((\w+) \* (\w+)\)", text)
        if pairs:
            counts, types = (self._argument(p, "P") for p in pairs.groups())
            return f"xw_mpi_sum_types({counts}, {types}, xw_mpi_peers({self._argument('comm', 'H')}))"
        *factors, datatype = text.split(" * ")
        if not factors:
            raise self._error(f"{text!r} is no product")
        counts = " * ".join(self._factor(f) for f in factors)
        return f"xw_mpi_times_type({counts}, {self._argument(datatype, 'H')})"

    def _factor(self, text: str) -> str:
        if text.isdigit():
            return text
        if text == "peers":
            return f"xw_mpi_peers({self._argument('comm', 'H')})"
        call = re.fullmatch(r"(sum|total|own)\((\w+)\)", text)
        if not call:
            return f"(int64_t)xw_mpi_int({self._argument(text, 'I')})"
        array, comm = self._argument(call[2], "P"), self._argument("comm", "H")
        extent = {"sum": f"xw_mpi_peers({comm})", "total": f"xw_mpi_group_size({comm})"}
        return f"xw_mpi_own({array}, {comm})" if call[1] == "own" else f"xw_mpi_sum({array}, {extent[call[1]]})"

    def _argument(self, name: str, kind: str) -> str:
        if self.function.kind(name) != kind:
            raise self._error(f"{name!r} is no argument of kind {KINDS[kind]}")
        return name

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.function.name}: {what}")


# --- one wrapper ------------------------------------------------------------------------------------------------


def _parameters(function: Function) -> str:
    return ", ".join(f"xw_word {a.name}" for a in function.args) or "void"


def _names(function: Function) -> str:
    return ", ".join(a.name for a in function.args)


def _with(first: str, rest: str) -> str:
    return f"{first}, {rest}" if rest else first


def body_prototype(function: Function) -> str:
    """What works behind both names of a function: gets the definition to forward to and the address of the call."""
    parameters = "" if not function.args else _parameters(function)
    return _with(f"int xw_mpi_body_{function.name}(xw_mpi_fn_{function.name} *real, const void *site", parameters) + ")"


def body(function: Function) -> str:
    """The one shape of all wrappers: enter, forward, bytes after success, call site, leave, cut."""
    row = f"XW_F_{function.name}, XW_G_{function.group.upper()}"
    lines = [f"struct xw_call call = xw_enter_mpi({row});"]
    if function.received:
        lines += ["struct xw_mpi_status own;", "if (status == xw_mpi.status_ignore)", "    status = (xw_word)&own;"]
    if function.boundary:
        lines += [
            "int cuts = call.outermost && xw_mpi_is_world_sized(comm);",
            "if (cuts)",
            "    xw_segment_boundary();",
        ]
    lines += [f"int error = real({_names(function)});"]
    lines += [f"uint64_t {way} = 0;" for way in function.rules]
    lines += ["if (call.outermost) {"]
    if function.rules:
        rule = Rule(function)
        lines += ["    if (!error) {"]
        lines += [f"        {line}" for way in function.rules for line in rule.statement(way)]
        lines += ["    }"]
    lines += [f"    xw_segment_site(call.block, XW_F_{function.name}, site);"]
    if function.group in NOT_HOT or function.boundary:
        lines += ["    xw_mpi_look(call.begin);"]
    lines += ["}"]
    out_in = ", ".join(way if way in function.rules else "0" for way in ("out", "in"))
    lines += [f"xw_leave(call, {row}, {out_in});"]
    if function.boundary:
        lines += ["if (cuts && !error)", f"    xw_segment_cut(XW_F_{function.name});"]
    lines += ["return error;"]
    text = "\n".join(f"    {line}" for line in lines)
    return f"static inline __attribute__((always_inline)) {body_prototype(function)}\n{{\n{text}\n}}\n"


def entry_points(function: Function) -> str:
    """The two functions that slots lead to."""
    text = ""
    for name, prefix in (("XW_MPI_PLAIN", ""), ("XW_MPI_PROFILING", "P")):
        arguments = _with(f"xw_mpi_real[R_{function.name}][{name}], __builtin_return_address(0)", _names(function))
        text += f"static int wrap_{prefix}{function.name}({_parameters(function)})\n"
        text += f"{{\n    return xw_mpi_body_{function.name}({arguments});\n}}\n"
    return text


def function_type(function: Function) -> str:
    """Every argument is a 64-bit word: handles of 4 and 8 bytes pass through registers and stack slots unchanged."""
    return f"typedef int xw_mpi_fn_{function.name}({_parameters(function)});"


# --- the table --------------------------------------------------------------------------------------------------


def gnu_hash(name: str) -> int:
    """The hash of GNU symbol tables, xw_elf_hash in loaded.c."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def index_table(functions: list[Function]) -> list[int]:
    """Open addressing with linear probing: function number + 1, 0 where free."""
    table = [0] * INDEX_SIZE
    if len(functions) > INDEX_SIZE // 2:
        raise ValueError(f"{len(functions)} functions need a larger INDEX_SIZE than {INDEX_SIZE}")
    for number, function in enumerate(functions):
        place = gnu_hash(function.name) % INDEX_SIZE
        while table[place]:
            place = (place + 1) % INDEX_SIZE
        table[place] = number + 1
    return table


def tables(functions: list[Function]) -> str:
    """The definitions that table.h declares. Names and hashes hold no pointers, so that loading them costs nothing."""
    out = ["const char xw_mpi_names[XW_MPI_N][XW_MPI_NAME_SIZE] = {"]
    out += [f'    "P{f.name}",' for f in functions]
    out += ["};", "const uint32_t xw_mpi_hashes[XW_MPI_N][XW_MPI_N_NAMES] = {"]
    out += [f"    {{{gnu_hash(f.name):#x}, {gnu_hash('P' + f.name):#x}}}," for f in functions]
    out += ["};", "const uint16_t xw_mpi_index[XW_MPI_INDEX_SIZE] = {"]
    out += [f"    {', '.join(map(str, chunk))}," for chunk in _chunks(index_table(functions), 32)]
    out += ["};", "void *const xw_mpi_wrappers[XW_MPI_N][XW_MPI_N_NAMES] = {"]
    out += [f"    {{wrap_{f.name}, wrap_P{f.name}}}," for f in functions]
    out += ["};", "void *xw_mpi_real[XW_MPI_N][XW_MPI_N_NAMES];"]
    return "\n".join(out) + "\n"


def _chunks(values: list[int], size: int) -> list[list[int]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


# --- files --------------------------------------------------------------------------------------------------------

BANNER = "/* GENERATED by wrappers/mpi/generate.py from functions.toml. Do not edit. */\n"


def header(functions: list[Function]) -> str:
    """mpi_table.h."""
    return (
        f"{BANNER}#ifndef XW_MPI_TABLE_SIZES_H\n#define XW_MPI_TABLE_SIZES_H\n\n#define XW_MPI_N {len(functions)}u\n"
        f"#define XW_MPI_INDEX_SIZE {INDEX_SIZE}u\n#define XW_MPI_NAME_SIZE {NAME_SIZE}u\n\n#endif\n"
    )


def special_header(functions: list[Function]) -> str:
    """mpi_special.h."""
    out = [f'{BANNER}#ifndef XW_MPI_SPECIAL_H\n#define XW_MPI_SPECIAL_H\n\n#include "abi.h"\n']
    for function in functions:
        if function.special:
            out += [function_type(function), f"{body_prototype(function)} XW_HIDDEN;"]
    return "\n".join([*out, "\n#endif\n"])


def source(functions: list[Function]) -> str:
    """mpi_wrappers.c."""
    includes = ("attach.h", "bytes.h", "counters.h", "segment.h", "mpi_special.h", "table.h")
    out = [BANNER, *[f'#include "{name}"' for name in includes], ""]
    out += ["enum row {", *[f"    R_{f.name}," for f in functions], "};", ""]
    for function in functions:
        if not function.special:
            out += [function_type(function), body(function)]
        out += [entry_points(function)]
    return "\n".join([*out, tables(functions)])


def main(argv: list[str]) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    writers = {"header": header, "special": special_header, "source": source}
    for name in writers:
        parser.add_argument(f"--{name}", type=Path)
    args = vars(parser.parse_args(argv))
    functions = load()
    for name, write in writers.items():
        if args[name]:
            args[name].parent.mkdir(parents=True, exist_ok=True)
            args[name].write_text(write(functions))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
