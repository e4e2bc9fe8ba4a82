#!/usr/bin/env python3
"""Turn the rows of functions.toml into the MPI wrappers (its head explains the rows).

generate.py --header FILE     mpi_table.h: sizes of the table
generate.py --special FILE    mpi_special.h: what special.c implements
generate.py --source FILE     mpi_wrappers.c: one wrapper per C symbol, and the table that finds it by name
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import hooks
from rows import Form, Function, load
from rules import Rule

INDEX_SIZE = 2048
NAME_SIZE = 40
NOT_HOT = ("mpi_other", "mpi_io")  # groups of functions that cost more than counting them, or are seldom called
NAMES = (("XW_MPI_PLAIN", ""), ("XW_MPI_PROFILING", "P"))


# --- one wrapper ------------------------------------------------------------------------------------------------


def _parameters(form: Form) -> str:
    return ", ".join(f"xw_word {a.name}" for a in form.args)


def _names(form: Form) -> str:
    return ", ".join(a.name for a in form.args)


def _with(first: str, rest: str) -> str:
    return f"{first}, {rest}" if rest else first


def function_type(form: Form) -> str:
    """Every argument is a 64-bit word: handles of 4 and 8 bytes pass through registers and stack slots unchanged."""
    return f"typedef int xw_mpi_fn_{form.symbol}({_parameters(form) or 'void'});"


def body_prototype(form: Form) -> str:
    """What works behind both names of a function: gets the definition to forward to and the address of the call."""
    first = f"int xw_mpi_body_{form.symbol}(xw_mpi_fn_{form.symbol} *real, const void *site"
    return _with(first, _parameters(form)) + ")"


def body(form: Form) -> str:
    """The one shape of all wrappers: enter, forward, bytes after success, call site, leave; segments around it."""
    function = form.function
    row = f"XW_F_{function.name}, XW_G_{function.group.upper()}"
    looks = function.group in NOT_HOT or function.boundary
    inlined = "" if function.hot or function.group not in NOT_HOT else "_seldom"
    lines = [f"struct xw_call call = xw_enter_mpi{inlined}({row});"]
    if function.asks_status:
        lines += [
            "struct xw_mpi_status own = {0};",
            "if (status == xw_mpi.status_ignore)",
            "    status = (xw_word)&own;",
        ]
    lines += hooks.before(form)
    lines += [f"int error = real({_names(form)});"]
    lines += [f"uint64_t {way} = 0;" for way in function.rules]
    lines += ["if (call.outermost) {"]
    if function.rules:
        rule = Rule(form)
        lines += ["    if (!error) {"]
        lines += [f"        {line}" for way in function.rules for line in rule.statement(way)]
        lines += ["    }"]
    lines += [f"    xw_segment_site(XW_F_{function.name}, site);"]
    lines += ["    xw_mpi_look(call.begin);"] if looks else []
    lines += ["}"]
    out_in = ", ".join(way if way in function.rules else "0" for way in ("out", "in"))
    lines += [f"xw_leave{inlined}(call, {row}, {out_in});"]
    lines += hooks.after(form)
    lines += ["return error;"]
    text = "\n".join(f"    {line}" for line in lines)
    return f"static inline __attribute__((always_inline)) {body_prototype(form)}\n{{\n{text}\n}}\n"


def entry_points(form: Form) -> str:
    """The two functions that slots lead to."""
    text = ""
    for name, prefix in NAMES:
        arguments = _with(f"xw_mpi_real[R_{form.symbol}][{name}], __builtin_return_address(0)", _names(form))
        text += f"XW_OFFSETS_FUNCTION int wrap_{prefix}{form.symbol}({_parameters(form) or 'void'})\n"
        text += f"{{\n    return xw_mpi_body_{form.symbol}({arguments});\n}}\n"
    return text


# --- the table --------------------------------------------------------------------------------------------------


def gnu_hash(name: str) -> int:
    """The hash of GNU symbol tables, xw_elf_hash in loaded.c."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def index_table(forms: list[Form]) -> list[int]:
    """Open addressing with linear probing: number of the symbol + 1, 0 where free."""
    table = [0] * INDEX_SIZE
    if len(forms) > INDEX_SIZE // 2:
        raise ValueError(f"{len(forms)} symbols need a larger INDEX_SIZE than {INDEX_SIZE}")
    for number, form in enumerate(forms):
        place = gnu_hash(form.symbol) % INDEX_SIZE
        while table[place]:
            place = (place + 1) % INDEX_SIZE
        table[place] = number + 1
    return table


def tables(forms: list[Form]) -> str:
    """The definitions that table.h declares. They hold no pointers, so that loading them costs nothing."""
    out = ["const char xw_mpi_names[XW_MPI_N][XW_MPI_NAME_SIZE] = {"]
    out += [f'    "P{f.symbol}",' for f in forms]
    out += ["};", "const uint32_t xw_mpi_hashes[XW_MPI_N][XW_MPI_N_NAMES] = {"]
    out += [f"    {{{gnu_hash(f.symbol):#x}, {gnu_hash('P' + f.symbol):#x}}}," for f in forms]
    out += ["};", "const uint16_t xw_mpi_index[XW_MPI_INDEX_SIZE] = {"]
    out += [f"    {', '.join(map(str, chunk))}," for chunk in _chunks(index_table(forms), 32)]
    out += ["};", "const struct xw_mpi_counted xw_mpi_counted[XW_MPI_N] = {"]
    out += [f"    {{XW_F_{f.function.name}, XW_G_{f.function.group.upper()}}}," for f in forms]
    out += ["};", "void *xw_mpi_real[XW_MPI_N][XW_MPI_N_NAMES];", "XW_OFFSETS_BEGIN(xw_mpi_wrapper_offsets)"]
    out += [f"XW_OFFSET(xw_mpi_wrapper_offsets, wrap_{prefix}{f.symbol})" for f in forms for _, prefix in NAMES]
    out += ["XW_OFFSETS_END"]
    return "\n".join(out) + "\n"


def _chunks(values: list[int], size: int) -> list[list[int]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


# --- files --------------------------------------------------------------------------------------------------------

BANNER = "/* GENERATED by wrappers/mpi/generate.py from functions.toml. Do not edit. */\n"


def header(functions: list[Function]) -> str:
    """mpi_table.h."""
    n = sum(1 for f in functions for _ in f.forms())
    return (
        f"{BANNER}#ifndef XW_MPI_TABLE_SIZES_H\n#define XW_MPI_TABLE_SIZES_H\n\n"
        f"#define XW_MPI_N {n} /* for the assembler too: no suffix */\n"
        f"#define XW_MPI_INDEX_SIZE {INDEX_SIZE}u\n#define XW_MPI_NAME_SIZE {NAME_SIZE}u\n\n#endif\n"
    )


def special_header(functions: list[Function]) -> str:
    """mpi_special.h."""
    out = [f'{BANNER}#ifndef XW_MPI_SPECIAL_H\n#define XW_MPI_SPECIAL_H\n\n#include "abi.h"\n']
    for form in (form for f in functions if f.special for form in f.forms()):
        out += [function_type(form), f"{body_prototype(form)} XW_HIDDEN;"]
    return "\n".join([*out, "\n#endif\n"])


def source(functions: list[Function]) -> str:
    """mpi_wrappers.c."""
    forms = [form for f in functions for form in f.forms()]
    includes = ("attach.h", "bytes.h", "pending.h", "seldom.h", "segment.h", "mpi_special.h", "table.h")
    out = [BANNER, *[f'#include "{name}"' for name in includes], ""]
    out += ["enum row {", *[f"    R_{form.symbol}," for form in forms], "};", ""]
    for form in forms:
        if not form.function.special:
            out += [function_type(form), body(form)]
        out += [entry_points(form)]
    return "\n".join([*out, tables(forms)])


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
