#!/usr/bin/env python3
"""Turn the metric table (metrics.toml) into the C header, the Python module and the documentation page.

generate.py --header FILE     the C side: indices, names, the table text that every spool file carries
generate.py --python FILE     crosswind.profile.metrics
generate.py --docs FILE       docs/metrics.md
generate.py --check           exit 1 when the committed Python module or page is not current
"""

from __future__ import annotations

import argparse
import sys
import tomllib
import zlib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PYTHON_MODULE = HERE.parent / "python" / "metrics.py"
DOCS_PAGE = ROOT / "docs" / "metrics.md"
FIRST_CLASS_GROUP = 32  # group id of class c, op o: 32 + 8 c + o
OPS_PER_CLASS = 8


@dataclass(frozen=True)
class Group:
    """Four words per thread that wrappers count into."""

    id: int
    name: str
    fields: tuple[str, ...]
    brief: str


@dataclass(frozen=True)
class Column:
    """One column of the slices. `place` tells where the library finds it: group and field, or source and number."""

    id: int
    name: str
    unit: str
    kind: str
    place: str
    brief: str
    event: str = ""


@dataclass(frozen=True)
class Access:
    """What is counted about the access pattern: for each class and way, `steps` and `sizes` words."""

    ways: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    sizes: int
    steps_brief: str
    sizes_brief: str


@dataclass(frozen=True)
class Table:
    """The whole metric table, expanded and checked."""

    groups: tuple[Group, ...]
    columns: tuple[Column, ...]
    segments: tuple[tuple[str, str, str], ...]
    lost: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]
    ops: tuple[str, ...]
    access: Access

    @property
    def words(self) -> list[tuple[str, int]]:
        """The arrays of plain words of a thread, in memory order: name, length."""
        pairs = (f"{cls}_{way}" for cls in self.classes for way in self.access.ways)
        lengths = (("steps", len(self.access.steps)), ("sizes", self.access.sizes))
        return [(f"{what}_{pair}", length) for pair in pairs for what, length in lengths]


def load(path: Path = HERE / "metrics.toml") -> Table:
    """Read and expand the table. Raises ValueError on an id or a name that is used twice."""
    raw = tomllib.loads(path.read_text())
    groups = _expand_groups(raw)
    columns = _group_columns(raw["field"], groups) + _sampled_columns(raw["sampled"])
    _no_duplicates("group id", [g.id for g in groups])
    _no_duplicates("column id", [c.id for c in columns])
    _no_duplicates("column name", [c.name for c in columns])
    return Table(
        groups=tuple(groups),
        columns=tuple(columns),
        segments=tuple((s["name"], s["unit"], s["brief"]) for s in raw["segment"]),
        lost=tuple(raw["lost"].items()),
        classes=tuple(c["name"] for c in raw["class"]),
        ops=tuple(o["name"].replace("_{class}", "") for o in raw["op"]),
        access=Access(
            **raw["access"] | {"ways": tuple(raw["access"]["ways"]), "steps": tuple(raw["access"]["steps"].items())}
        ),
    )


def _expand_groups(raw: dict) -> list[Group]:
    groups = [Group(g["id"], g["name"], tuple(g["fields"]), g["brief"]) for g in raw["group"]]
    for cls in raw["class"]:
        for op in raw["op"]:
            groups.append(
                Group(
                    FIRST_CLASS_GROUP + OPS_PER_CLASS * cls["id"] + op["id"],
                    op["name"].format(**{"class": cls["name"]}),
                    tuple(op["fields"]),
                    f"{op['brief']} [{cls['brief']}]",
                )
            )
    return groups


def _group_columns(fields: dict, groups: list[Group]) -> list[Column]:
    columns = []
    for index, group in enumerate(groups):
        one_way = not {"bytes_in", "bytes_out"} <= set(group.fields)
        for name in group.fields:
            field = fields[name]
            suffix = "bytes" if one_way and name.startswith("bytes") else name
            columns.append(
                Column(
                    4 * group.id + field["id"],
                    f"{group.name}_{suffix}",
                    field["unit"],
                    "counter",
                    f"group {index} {field['id']}",
                    f"{group.brief}: {field['brief']}",
                )
            )
    return columns


def _sampled_columns(sampled: list[dict]) -> list[Column]:
    number = {"os": 0, "perf": 0}
    columns = []
    for s in sampled:
        columns.append(
            Column(
                s["id"], s["name"], s["unit"], s["kind"], f"{s['source']} {number[s['source']]}",
                s["brief"], s.get("event", ""),
            )
        )  # fmt: skip
        number[s["source"]] += 1
    return columns


def _no_duplicates(what: str, values: list) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise ValueError(f"metrics.toml: {what} {value!r} is used twice")
        seen.add(value)


def table_text(table: Table) -> str:
    """The text that every spool file carries, so that a reader needs no other source (docs/format.md)."""
    lines = [f"column {c.id} {c.name} {c.unit} {c.kind} {c.place}" for c in table.columns]
    lines += [f"segment {name} {unit}" for name, unit, _ in table.segments]
    lines += [f"lost {name}" for name, _ in table.lost]
    lines += [f"words {name} {length}" for name, length in table.words]
    return "\n".join(lines) + "\n"


def c_header(table: Table) -> str:
    """The C side of the table."""
    sampled = {source: [c for c in table.columns if c.place.startswith(source)] for source in ("os", "perf")}
    out = [
        "/* GENERATED by libprofiler/spec/generate.py from metrics.toml. Do not edit. */",
        "#ifndef XW_METRIC_TABLE_H",
        "#define XW_METRIC_TABLE_H",
        "",
        "/* Groups of four words {calls, bytes_out, bytes_in, ticks}; dense indices, not ids. */",
        _enum("xw_group", [(f"XW_G_{g.name.upper()}", None) for g in table.groups] + [("XW_N_GROUPS", None)]),
        "/* Classes of files; the group of an operation on a class is XW_G_POSIX(class, op). */",
        _enum("xw_class", [(f"XW_CLASS_{c.upper()}", None) for c in table.classes] + [("XW_N_CLASSES", None)]),
        _enum("xw_op", [(f"XW_OP_{o.upper()}", None) for o in table.ops] + [("XW_N_OPS", None)]),
        "#define XW_G_POSIX(cls, op) "
        f"((unsigned)(XW_G_POSIX_{table.classes[0].upper()}_READ + (cls) * XW_N_OPS + (op)))",
        "",
        _enum("xw_os_sample", [(f"XW_OS_{c.name.upper()}", None) for c in sampled["os"]] + [("XW_N_OS", None)]),
        _enum("xw_perf_sample", [(f"XW_PERF_{c.name.upper()}", None) for c in sampled["perf"]] + [("XW_N_PERF", None)]),
        "/* X(number, column name, event name) for each perf column */",
        "#define XW_PERF_EVENTS(X) \\",
        *[f'    X({i}, "{c.name}", "{c.event}") \\' for i, c in enumerate(sampled["perf"])],
        "",
        _enum(
            "xw_segment_field",
            [(f"XW_SEG_{n.upper()}", None) for n, _, _ in table.segments] + [("XW_N_SEG_FIELDS", None)],
        ),
        "/* The access pattern (struct xw_access, counters.h): words for each class and way */",
        _enum("xw_way", [(f"XW_WAY_{w.upper()}", None) for w in table.access.ways] + [("XW_N_WAYS", None)]),
        _enum("xw_step", [(f"XW_STEP_{s.upper()}", None) for s, _ in table.access.steps] + [("XW_N_STEPS", None)]),
        f"#define XW_N_SIZES {table.access.sizes}u",
        "",
        _enum("xw_lost", [(f"XW_LOST_{n.upper()}", None) for n, _ in table.lost] + [("XW_N_LOST", None)]),
        f"#define XW_N_COLUMNS {len(table.columns)}u",
        "",
        "/* X(column, kind, source, a, b): where the slice takes each column from */",
        "#define XW_COLUMNS(X) \\",
        *[_column_row(i, c) for i, c in enumerate(table.columns)],
        "",
        "/* tells this table from others */",
        f"#define XW_METRIC_TABLE_CHECK 0x{zlib.crc32(table_text(table).encode()):08x}u",
        "#define XW_METRIC_TABLE_TEXT \\",
        *[f'    "{line}\\n" \\' for line in table_text(table).splitlines()],
        "",
        "#endif",
    ]  # fmt: skip
    return "\n".join(out) + "\n"


def _column_row(index: int, column: Column) -> str:
    source, *numbers = column.place.split()
    a, b = [*numbers, "0"][:2]
    return f"    X({index}, XW_KIND_{column.kind.upper()}, XW_FROM_{source.upper()}, {a}, {b}) \\"


def _enum(name: str, values: list[tuple[str, int | None]]) -> str:
    body = ",\n".join(f"    {n}" if v is None else f"    {n} = {v}" for n, v in values)
    return f"enum {name} {{\n{body}\n}};\n"


def python_module(table: Table) -> str:
    """crosswind.profile.metrics: what the Python side may name."""
    rows = "\n".join(f"    Metric({c.id}, {c.name!r}, {c.unit!r}, {c.kind!r}, {c.brief!r})," for c in table.columns)
    segs = "\n".join(f"    ({n!r}, {u!r}, {b!r})," for n, u, b in table.segments)
    lost = "\n".join(f"    {n!r}: {b!r}," for n, b in table.lost)
    steps = "\n".join(f"    {n!r}: {b!r}," for n, b in table.access.steps)
    return f'''"""GENERATED by libprofiler/spec/generate.py from metrics.toml. Do not edit."""

# ruff: noqa: E501
from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """One column of the slices: its stable id, name, unit, kind (counter or gauge) and meaning."""

    id: int
    name: str
    unit: str
    kind: str
    brief: str


METRICS: tuple[Metric, ...] = (
{rows}
)

BY_NAME: dict[str, Metric] = {{m.name: m for m in METRICS}}

FILE_CLASSES: tuple[str, ...] = {table.classes!r}

SEGMENT_FIELDS: tuple[tuple[str, str, str], ...] = (
{segs}
)

LOST: dict[str, str] = {{
{lost}
}}

ACCESS_WAYS: tuple[str, ...] = {table.access.ways!r}

ACCESS_STEPS: dict[str, str] = {{
{steps}
}}

ACCESS_SIZES = {table.access.sizes}
'''


def docs_page(table: Table) -> str:
    """docs/metrics.md."""
    out = [
        "# Metrics",
        "",
        "Generated from `libprofiler/spec/metrics.toml`; do not edit. "
        "Ids are stable for ever. Kind: a *counter* is the",
        "difference over the slice, a *gauge* the value at its end.",
        "",
        "| id | name | unit | kind | meaning |",
        "| --- | --- | --- | --- | --- |",
        *[f"| {c.id} | `{c.name}` | {c.unit} | {c.kind} | {c.brief} |" for c in table.columns],
        "",
        "## Fields of a segment",
        "",
        "| name | unit | meaning |",
        "| --- | --- | --- |",
        *[f"| `{n}` | {u} | {b} |" for n, u, b in table.segments],
        "",
        "## What can be lost",
        "",
        "| name | meaning |",
        "| --- | --- |",
        *[f"| `{n}` | {b} |" for n, b in table.lost],
        "",
        "## Access pattern",
        "",
        "For each class of file ("
        + ", ".join(f"`{c}`" for c in table.classes)
        + ") and way ("
        + ", ".join(f"`{w}`" for w in table.access.ways)
        + "), once for the whole",
        "process; what they say: [access patterns](access-patterns.md).",
        "",
        f"`steps_CLASS_WAY`: {table.access.steps_brief}.",
        "",
        "| word | requests |",
        "| --- | --- |",
        *[f"| `{n}` | {b} |" for n, b in table.access.steps],
        "",
        f"`sizes_CLASS_WAY`: {table.access.sizes_brief}.",
    ]
    return "\n".join(out) + "\n"


def main(argv: list[str]) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", type=Path)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    table = load()
    for path, make in ((args.header, c_header), (args.python, python_module), (args.docs, docs_page)):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(make(table))
    if args.check:
        stale = [
            p
            for p, make in ((PYTHON_MODULE, python_module), (DOCS_PAGE, docs_page))
            if not p.exists() or p.read_text() != make(table)
        ]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: run `make generate`", file=sys.stderr)
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
