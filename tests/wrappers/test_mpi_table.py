"""The table of MPI functions against the MPI Forum's data and every mpi.h on the machine; the generator's errors."""

from __future__ import annotations

import fnmatch
import importlib
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from abi.mpis import ENVIRONMENTS
from support.preload import ROOT

FOLDER = ROOT / "wrappers" / "mpi"
HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"]
WIDE = {"MPI_Aint", "MPI_Count", "MPI_Offset"}
REMOVED = {  # from the standard in MPI-3.0, and so from the Forum's data; libraries still have them
    *("MPI_Address", "MPI_Errhandler_create", "MPI_Errhandler_get", "MPI_Errhandler_set", "MPI_Type_extent"),
    *("MPI_Type_hindexed", "MPI_Type_hvector", "MPI_Type_lb", "MPI_Type_struct", "MPI_Type_ub"),
}


def _modules(*names: str) -> tuple[ModuleType, ...]:
    """Modules of the generator. Those of other generators have the same names."""
    sys.path.insert(0, str(FOLDER))
    others = {name: sys.modules.pop(name, None) for name in names}
    try:
        return tuple(importlib.import_module(name) for name in names)
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.update({name: module for name, module in others.items() if module})
        for name in names:
            if not others[name]:
                del sys.modules[name]


rows, _, generate = _modules("rows", "rules", "generate")
FUNCTIONS = rows.load()
FORMS = {form.symbol: form for function in FUNCTIONS for form in function.forms()}
LEFT_OUT = rows.left_out()


def _is_left_out(symbol: str) -> bool:
    return any(fnmatch.fnmatchcase(symbol, pattern) for pattern in LEFT_OUT)


def _kind(declaration: str) -> str:
    """The kind of a C parameter as the table writes it."""
    words = declaration.replace("const ", "").split()
    if "*" in declaration or "[" in declaration or words[0].endswith("function"):
        return "P"
    if words[0].removeprefix("MPI_") in HANDLES:
        return "H"
    return "L" if words[0] in WIDE else {"int": "I"}.get(words[0], words[0])


def _is_array_of(declaration: str, types: set[str]) -> bool:
    return "[" in declaration and "][" not in declaration and declaration.replace("const ", "").split()[0] in types


def _parameters(prototype: str) -> list[str]:
    inside = re.search(r"\((.*)\)", prototype, re.DOTALL)[1].strip()
    return [] if inside == "void" else [p.strip() for p in inside.split(",")]


def _name(declaration: str) -> str:
    return re.sub(r"\[.*", "", declaration).split()[-1].lstrip("*")


@cache
def _forum() -> dict[str, list[str]]:
    """The parameters of every C symbol of the standard."""
    import pympistandard as standard

    standard.use_api_version(1)
    prototypes = {}
    for procedure in standard.PROCEDURES.values():
        large = procedure.express.embiggen.iso_c if procedure.has_embiggenment() else None
        for text in map(str, filter(None, (procedure.express.iso_c, large))):
            prototypes[re.search(r"\b(MPI_\w+)\(", text)[1]] = _parameters(text)
    return prototypes


def _expected_kinds(form: object) -> list[str]:
    """The kinds that the Forum's prototypes of a form and of its counterpart mean."""
    own = _forum()[form.symbol]
    function = form.function
    if function.large_args != function.args:
        return [_kind(p) for p in own]
    plain, large = _forum()[function.name], _forum()[f"{function.name}_c"]
    kinds = []
    for p, q in zip(plain, large, strict=True):
        both = {_kind(p), _kind(q)}
        widens = _is_array_of(p, {"int"}) and _is_array_of(q, WIDE)
        kinds.append("N" if both == {"I", "L"} else "A" if widens else _kind(p))
        assert len(both) == 1 or both == {"I", "L"}, (form.symbol, p, q)
    return kinds


def test_every_function_of_the_forum_has_a_row_or_a_reason() -> None:
    assert len(_forum()) == 690
    assert {name for name in _forum() if not _is_left_out(name)} == FORMS.keys() - REMOVED
    assert not [name for name in FORMS if _is_left_out(name)]


def test_rows_agree_with_the_forum() -> None:
    for symbol in FORMS.keys() - REMOVED:
        form = FORMS[symbol]
        expected = list(zip(_expected_kinds(form), map(_name, _forum()[symbol]), strict=True))
        assert [(a.kind, a.name) for a in form.args] == expected, symbol


def _headers() -> list[Path]:
    """Every mpi.h of a C library on this machine, those that `make test-abi` has fetched too."""
    patterns = ("usr/lib/*/openmpi/include", "usr/include/*/mpich", "include")
    roots = (Path("/"), *sorted(ENVIRONMENTS.glob("*")))
    return [header for root in roots for pattern in patterns for header in sorted(root.glob(f"{pattern}/mpi.h"))]


HEADERS = [(header, ()) for header in _headers()]
HEADERS += [(header, ("-DMPI_ABI",)) for header in _headers() if (header.parent / "mpi_abi.h").exists()]


@cache
def _declared(header: Path, flags: tuple[str, ...]) -> dict[str, list[str]]:
    """The functions that a header declares, with their parameters."""
    command = ["gcc", "-E", "-P", *flags, "-D_Static_assert(...)=", f"-I{header.parent}", "-x", "c", "-"]
    done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", done.stdout, flags=re.DOTALL)
    found = re.findall(r"\b(?:int|double|MPI_\w+)\s+\*?(MPIX?_\w+)\s*(\([^;]*?\))\s*;", text)
    return {name: _parameters(parameters) for name, parameters in found}


@pytest.mark.parametrize(("header", "flags"), HEADERS, ids=lambda part: "".join(map(str, [part])))
def test_every_function_of_the_header_has_a_row_or_a_reason(header: Path, flags: tuple[str, ...]) -> None:
    declared = _declared(header, flags)
    assert len(declared) > 400
    assert not [name for name in declared if name not in FORMS and not _is_left_out(name)]
    both = declared.keys() & FORMS.keys()
    assert not [name for name in both if len(declared[name]) != len(FORMS[name].args)]


def test_every_left_out_name_is_one_that_exists() -> None:
    known = set(_forum()).union(*(_declared(*header) for header in HEADERS))
    optional = {"MPIX_*", "MPI_*_FN", "MPI_Session_set_info"}  # not in every mpi.h
    assert not [pattern for pattern in LEFT_OUT if pattern not in optional and not fnmatch.filter(known, pattern)]


@pytest.mark.parametrize(("mpi", "library"), [("openmpi", "libmpi.so"), ("mpich", "libmpich.so")])
def test_constants_agree_with_the_header(tmp_path: Path, mpi: str, library: str) -> None:
    """abi.c's table against what a compiler makes of mpi.h (Open MPI's objects are variables: their names)."""
    if not shutil.which(f"mpicc.{mpi}"):
        pytest.skip(f"{mpi} is not installed: no mpicc.{mpi}")
    names = ["IN_PLACE", "STATUS_IGNORE", "PROC_NULL", "ROOT", "COMBINER_NAMED", "CART", "GRAPH", "DIST_GRAPH"]
    handles = ["COMM_WORLD", "COMM_NULL", "BYTE", "DOUBLE", "MAX", "SUM", "REQUEST_NULL", "ERRORS_RETURN"]
    source = tmp_path / "constants.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(void) {\n"
        + "".join(f'printf("{n} %lld\\n", (long long)MPI_{n});\n' for n in names + handles)
        + 'printf("handle_size %zu\\n", sizeof(MPI_Comm));\nreturn 0; }\n'
    )
    subprocess.run([f"mpicc.{mpi}", "-w", "-o", tmp_path / "constants", source], check=True)
    output = subprocess.run([tmp_path / "constants"], capture_output=True, text=True, check=True).stdout
    header = {name: int(value) for name, value in (line.split() for line in output.splitlines())}
    table = _abi_table(mpi)
    fields = ["in_place", "status_ignore", "proc_null", "root", "combiner_named"]
    fields += ["topo_cart", "topo_graph", "topo_dist_graph"]
    width = 1 << 64
    assert [table[f] % width for f in fields] == [header[n] % width for n in names]
    assert table["handle_size"] == header["handle_size"]
    if mpi == "mpich":
        fields = ["world", "comm_null", "type_byte", "type_double", "op_max", "op_sum", "request_null", "errors_return"]
        assert [table[f] for f in fields] == [header[n] for n in handles]
    else:
        objects = set(re.findall(r'XW_OBJECT\(\w+, "(\w+)"\)', (FOLDER / "abi.c").read_text()))
        path = subprocess.run(["gcc", f"-print-file-name={library}"], capture_output=True, text=True).stdout.strip()
        symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
        assert len(objects) == len(handles)
        assert objects <= {line.split()[-1] for line in symbols.splitlines()}


def _abi_table(mpi: str) -> dict[str, int]:
    text = re.search(rf"static const struct xw_mpi {mpi} = {{(.*?)}};", (FOLDER / "abi.c").read_text(), re.DOTALL)[1]
    values = dict(re.findall(r"\.(\w+) = (-?\w+|~UINT64_C\(0\)),", text))
    numbers = {k: -1 if v.startswith("~") else v for k, v in values.items() if k != "kind"}
    return {k: int(str(v), 0) for k, v in numbers.items()}


def test_every_symbol_is_found_by_its_name() -> None:
    table = generate.index_table(list(FORMS.values()))
    for number, symbol in enumerate(FORMS):
        place = generate.gnu_hash(symbol) % len(table)
        while table[place] != number + 1:
            assert table[place] != 0, symbol
            place = (place + 1) % len(table)


def test_names_fit_their_room() -> None:
    assert max(len(f"P{symbol}") for symbol in FORMS) < generate.NAME_SIZE


def test_boundaries_are_the_synchronising_collectives_in_all_three_forms() -> None:
    names = "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block"
    boundaries = {f.name: {a.name for a in f.args} for f in FUNCTIONS if f.boundary}
    blocking = {f"MPI_{n}" for n in names.split()}
    nonblocking = {f"MPI_I{n.lower()}" for n in names.split()}
    persistent = {f"MPI_{n}_init" for n in names.split()}
    assert set(boundaries) == blocking | nonblocking | persistent
    for name, args in boundaries.items():
        assert ("request" in args, "info" in args) == (name not in blocking, name in persistent), name


def test_waits_tests_and_starts_are_marked() -> None:
    completing = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"}
    assert {f.name for f in FUNCTIONS if f.completes} == {f"MPI_{n}" for n in completing}
    assert {f.name for f in FUNCTIONS if f.starts} == {"MPI_Start", "MPI_Startall"}
    assert {f.name for f in FUNCTIONS if f.forgets} == {"MPI_Request_free", "MPI_Cancel"}
    polls = {f.name for f in FUNCTIONS if f.recurs and any(a.name in ("flag", "request", "outcount") for a in f.args)}
    assert polls == {"MPI_Wait"}


def test_what_lammps_and_hpcc_call_is_wrapped() -> None:
    for name in ("hpcc", "lmp"):
        path = shutil.which(name)
        if not path:
            pytest.skip(f"{name} is not installed")
        files = [path]
        linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        files += re.findall(r"=> (\S*liblammps\S*)", linked)
        for file in files:
            symbols = subprocess.run(["nm", "-D", "-u", file], capture_output=True, text=True, check=True).stdout
            called = set(re.findall(r"\b(MPI_\w+)", symbols))
            assert called
            assert not [name for name in called if name not in FORMS and not _is_left_out(name)], file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "count * nonsense"}, "'nonsense' is no argument of kind handle"),
        ({"out": "nonsense * datatype"}, "'nonsense' is no argument of kind int or count or 64-bit integer"),
        ({"out": "comm * datatype"}, "'comm' is no argument of kind int or count or 64-bit integer"),
        ({"out": "sum(buf over peers) * datatype"}, "'buf' is no argument of kind array of counts"),
        ({"out": "sum(counts over nobody) * datatype"}, "'nobody' is not one of peers, group, sources, destinations"),
        ({"out": "tag * datatype if sometimes"}, "unknown condition 'sometimes'"),
        ({"out": "datatype"}, "'datatype' is no product"),
        ({"in": "moved"}, "'status' is no argument of kind pointer"),
        ({"args": "X buf"}, "kind 'X' is not one of"),
        ({"large": "X buf"}, "kind 'X' is not one of"),
        ({"outt": "count * datatype"}, "unknown key outt"),
    ],
)
def test_a_wrong_row_is_named(change: dict[str, str], message: str) -> None:
    row = {
        "name": "MPI_Send",
        "group": "mpi_p2p",
        "args": "P buf, A counts, N count, H datatype, I dest, I tag, H comm",
        **change,
    }
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        generate.body(next(rows.function(row).forms()))
    assert "MPI_Send" in str(caught.value)


@pytest.mark.parametrize(
    ("large", "expected"),
    [
        (False, "(int64_t)xw_mpi_int(count) * xw_mpi_sum(counts, 4, xw_mpi_peers(comm))"),
        (True, "(int64_t)count * xw_mpi_sum(counts, 8, xw_mpi_peers(comm))"),
    ],
)
def test_counts_are_read_as_wide_as_the_form_has_them(large: bool, expected: str) -> None:
    row = {"name": "MPI_X", "group": "mpi_p2p", "args": "N count, A counts, H datatype, H comm", "large": True}
    forms = list(rows.function({**row, "out": "count * sum(counts over peers) * datatype"}).forms())
    assert [form.symbol for form in forms] == ["MPI_X", "MPI_X_c"]
    assert f"out = xw_mpi_times_type({expected}, datatype);" in generate.body(forms[large])
