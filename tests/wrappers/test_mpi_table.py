"""The table of MPI functions against the MPI Forum's data and every mpi.h on the machine; the generator's errors."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.preload import ROOT

FOLDER = ROOT / "wrappers" / "mpi"
HANDLES = ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"]
WIDE = {"MPI_Aint", "MPI_Count", "MPI_Offset"}


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mpi_generate", FOLDER / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _generator()
FUNCTIONS = generate.load()


def _kind(declaration: str) -> str:
    """The kind of a C parameter as the table writes it."""
    words = declaration.replace("const ", "").split()
    if "*" in declaration or "[" in declaration or words[0].endswith("function"):
        return "P"
    if words[0].removeprefix("MPI_") in HANDLES:
        return "H"
    return "L" if words[0] in WIDE else {"int": "I"}[words[0]]


def _parameters(prototype: str) -> list[str]:
    inside = re.search(r"\((.*)\)", prototype, re.DOTALL)[1].strip()
    return [] if inside == "void" else [p.strip() for p in inside.split(",")]


def _name(declaration: str) -> str:
    return re.sub(r"\[.*", "", declaration).split()[-1].lstrip("*")


def test_rows_agree_with_the_forum() -> None:
    import pympistandard as standard

    standard.use_api_version(1)
    prototypes = {}
    for procedure in standard.PROCEDURES.values():
        if procedure.express.iso_c:
            text = str(procedure.express.iso_c)
            prototypes[re.search(r"\b(MPI_\w+)\(", text)[1]] = _parameters(text)
    for function in FUNCTIONS:
        expected = [(_kind(p), _name(p)) for p in prototypes[function.name]]
        assert [(a.kind, a.name) for a in function.args] == expected, function.name


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_rows_agree_with_the_header(mpi: str) -> None:
    if not shutil.which(f"mpicc.{mpi}"):
        pytest.skip(f"{mpi} is not installed: no mpicc.{mpi}")
    done = subprocess.run(
        [f"mpicc.{mpi}", "-E", "-P", "-x", "c", "-"],
        input="#include <mpi.h>\n",
        capture_output=True,
        text=True,
        check=True,
    )
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", done.stdout, flags=re.DOTALL)
    prototypes = dict(re.findall(r"\bint\s+(MPI_\w+)\s*(\([^;]*?\))\s*;", text))
    missing = [f.name for f in FUNCTIONS if f.name not in prototypes]
    assert not missing
    for function in FUNCTIONS:
        assert len(_parameters(prototypes[function.name])) == len(function.args), function.name


@pytest.mark.parametrize(("mpi", "library"), [("openmpi", "libmpi.so"), ("mpich", "libmpich.so")])
def test_constants_agree_with_the_header(tmp_path: Path, mpi: str, library: str) -> None:
    """abi.c's table against what a compiler makes of mpi.h (Open MPI's objects are variables: their names)."""
    if not shutil.which(f"mpicc.{mpi}"):
        pytest.skip(f"{mpi} is not installed: no mpicc.{mpi}")
    names = ["IN_PLACE", "STATUS_IGNORE", "PROC_NULL", "ROOT", "COMBINER_NAMED"]
    handles = ["COMM_WORLD", "BYTE", "DOUBLE", "MAX", "SUM", "REQUEST_NULL", "ERRORS_RETURN"]
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
    width = 1 << 64
    assert [table[f] % width for f in fields] == [header[n] % width for n in names]
    assert table["handle_size"] == header["handle_size"]
    if mpi == "mpich":
        fields = ["world", "type_byte", "type_double", "op_max", "op_sum", "request_null", "errors_return"]
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


def test_every_function_is_found_by_its_name() -> None:
    table = generate.index_table(FUNCTIONS)
    for number, function in enumerate(FUNCTIONS):
        place = generate.gnu_hash(function.name) % len(table)
        while table[place] != number + 1:
            assert table[place] != 0, function.name
            place = (place + 1) % len(table)


def test_names_fit_their_room() -> None:
    assert max(len(f"P{f.name}") for f in FUNCTIONS) < generate.NAME_SIZE


def test_boundaries_are_the_blocking_synchronising_collectives() -> None:
    names = "Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block"
    assert {f.name for f in FUNCTIONS if f.boundary} == {f"MPI_{n}" for n in names.split()}


def test_what_lammps_and_hpcc_call_is_wrapped() -> None:
    """Time functions, conversions of handles and version queries are left alone: they move nothing."""
    known = {f.name for f in FUNCTIONS} | {"MPI_Wtime", "MPI_Wtick", "MPI_Comm_c2f", "MPI_Comm_f2c"}
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
            assert not called - known, file


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "count * nonsense"}, "'nonsense' is no argument of kind handle"),
        ({"out": "tag * datatype if sometimes"}, "unknown condition 'sometimes'"),
        ({"out": "datatype"}, "'datatype' is no product"),
        ({"in": "received"}, "'status' is no argument of kind pointer"),
        ({"args": "X buf"}, "kind 'X' is not one of"),
        ({"outt": "count * datatype"}, "unknown key outt"),
    ],
)
def test_a_wrong_row_is_named(change: dict[str, str], message: str) -> None:
    row = {
        "name": "MPI_Send",
        "group": "mpi_p2p",
        "args": "P buf, I count, H datatype, I dest, I tag, H comm",
        **change,
    }
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        generate.body(generate._function(row))
    assert "MPI_Send" in str(caught.value)
