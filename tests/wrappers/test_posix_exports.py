"""The library asks nothing of the dynamic linker, and replaces exactly the symbols of its tables."""

import re
import subprocess

import pytest

from support.preload import FUNCTION_PROGRAMS, LIBRARY, PROGRAMS, ROOT, generator, table

PROCESS_SYMBOLS = {
    # exit.c, spawn.c
    "_exit", "_Exit", "fork", "pthread_create", "posix_spawn", "posix_spawnp",
    # jump.c
    "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk",
    # guards.c
    "setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
    "setgroups", "initgroups", "capset", "unshare", "setns", "prctl",
}  # fmt: skip
MPI_SYMBOLS = {"MPI_Init", "MPI_Init_thread"}
NEVER = {"syscall", "vfork", "__vfork", "execve", "execv", "execvp", "clone", "pthread_atfork"}


def symbols(path, *options):
    """{name: type letter} of the dynamic symbol table."""
    lines = subprocess.run(["nm", "-D", *options, path], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [re.fullmatch(r"\s*[0-9a-f]*\s+(\S) (\S+?)(@.*)?", line) for line in lines]
    return {m[2]: m[1] for m in found}


def test_no_other_library_is_needed():
    dynamic = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
    assert "SONAME" in dynamic
    assert "NEEDED" not in dynamic


def test_undefined_symbols_are_weak():
    undefined = symbols(LIBRARY, "--undefined-only")
    assert {name for name, kind in undefined.items() if kind not in "wv"} == set()


def test_exported_symbols_are_those_of_the_tables():
    posix = generator().exported_names(table())
    assert set(symbols(LIBRARY, "--defined-only")) == posix | PROCESS_SYMBOLS | MPI_SYMBOLS
    assert not posix & NEVER


def test_each_symbol_is_called_by_a_test_program():
    called = set().union(*(symbols(PROGRAMS / program, "--undefined-only") for program in FUNCTION_PROGRAMS))
    newer_than_some_libc = {name for name in generator().exported_names(table()) if name.startswith("__isoc23_")}
    assert generator().exported_names(table()) - newer_than_some_libc <= called


def test_a_row_with_an_unknown_key_is_refused(tmp_path):
    path = tmp_path / "functions.toml"
    path.write_text('[[function]]\nname = "read"\nlayer = "posix"\nop = "read"\nsignture = "int (int fd)"\n')
    with pytest.raises(ValueError, match=r"functions\.toml: function read: unknown keys \['signture'\]"):
        generator().load(path)


def test_a_row_that_does_not_tell_its_file_is_refused():
    row = {"name": "f", "layer": "posix", "op": "read", "signature": "int (int descriptor)"}
    with pytest.raises(ValueError, match="function f: no parameter tells the class of the file"):
        generator().c_source([row])


def test_the_wrappers_never_name_what_must_not_be_wrapped():
    text = "".join(p.read_text() for p in (ROOT / "wrappers" / "process").glob("*.c"))
    assert not re.search(r"XW_EXPORT[^;{]*\b(syscall|vfork|exec\w*)\s*\(", text)
