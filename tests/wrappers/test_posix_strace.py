"""Real programs: the bytes that Crosswind counts are the bytes that strace sees, to the last one.

strace knows system calls, Crosswind knows calls of libc (support/strace.py); both watch the same run. What is known
to be missed has its reason and its bound here; docs/coverage.md has the figures.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import strace
from support.preload import counts, environment, profile

SOURCES = Path(__file__).parent
NUMBERS = 20_000

# A process that lives for two seconds, as any does where the machine is busy, gets a helper, which reads /proc: strace
# sees that too, and nothing tells it from what the program reads.
NO_HELPER = {"CROSSWIND_HELPER_AFTER": "86400000"}

# Why bytes that were read are missed: stdio reads a buffer ahead of what the program asks for; a process that has
# started a thread reads characters (configuration files) by inlined getc.
READ_AHEAD, INLINED = 4096, 4096


@dataclass(frozen=True)
class Program:
    """A command; what it needs; what it compiles first; how many of the bytes that it reads are missed at most."""

    command: Sequence[str]
    needs: tuple[str, ...] = ()
    module: str = ""  # of Python
    build: Sequence[str] = ()
    missed: int = 0


PYTHON = """
import os, socket
data = bytes(100_001)
with open('big', 'rb') as f, open('py-out', 'wb') as g:
    while chunk := f.read(10_007):
        g.write(chunk)
    os.pwrite(g.fileno(), data, 5)
a, b = socket.socketpair()
a.sendall(data[:3000]); b.recv(10_000)
print(sum(len(line) for line in open('text')))
"""
NUMPY = """
import numpy as np
a = np.arange(100_000.0)
np.save('a.npy', a); np.load('a.npy')
np.savetxt('a.txt', a[:5000]); np.loadtxt('a.txt')
np.savez('a.npz', a=a); np.load('a.npz')['a']
a.tofile('raw'); np.fromfile('raw')
"""
H5PY = """
import h5py
with h5py.File('a.h5', 'w') as f:
    f['plain'] = [float(i) for i in range(10_000)]
    f.create_dataset('chunked', shape=(300, 300), chunks=(50, 50), compression='gzip', data=[[1.0] * 300] * 300)
with h5py.File('a.h5') as f:
    print(f['plain'][:].sum(), f['chunked'][:].sum())
"""
SQL = f"""
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < {NUMBERS})
insert into t select x, x * x from c;
create index i on t(b); select sum(b) from t; vacuum; pragma integrity_check;
"""
GIT_CONFIG = "[user]\nname = somebody\nemail = somebody@example.org\n[gc]\nauto = 0\n[pack]\nthreads = 1\n"
GIT = "git init -q s && cd s && cp ../big ../text . && git add . && git commit -qm first && "
PIPES = "sort -r text | uniq | grep 1 | sed s/1/2/ | awk '{print $2}' | tr 2 3 | cut -c1-3 | od -c | wc"
SCRIPT = "head -1000 numbers | while read a b; do echo $b; done | tail -1; for f in *; do echo $f; done > list"


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-B", "-c", script)


PROGRAMS = {
    "dd": Program(("dd", "if=big", "of=copy", "bs=10k", "status=none")),
    "dd with a short last block": Program(("dd", "if=big", "of=copy", "bs=777", "count=501", "status=none")),
    "cp": Program(("cp", "big", "copy")),
    "cp without copy_file_range": Program(("cp", "big", "/dev/shm/crosswind-test-copy")),
    "cat to a file": Program(("sh", "-c", "cat big text > copy")),
    "cat to a pipe": Program(("sh", "-c", "cat big | cat > copy")),
    "tar": Program(("tar", "cf", "archive.tar", "big", "text")),
    "tar out": Program(("sh", "-c", "tar cf - big text | tar xf - -C sub")),
    "head": Program(("head", "-c", "12345", "big")),
    "gzip": Program(("sh", "-c", "gzip -c big > big.gz")),
    "pipeline": Program(("sh", "-c", PIPES)),
    "sort": Program(("sort", "-S", "100k", "--parallel=2", "-o", "sorted", "text")),
    "script": Program(("bash", "-c", SCRIPT)),
    "Python": Program(python(PYTHON)),
    "NumPy": Program(python(NUMPY), missed=3 * READ_AHEAD),
    "h5py": Program(python(H5PY), module="h5py"),
    "gcc": Program(("gcc", "-O2", "-S", "hello.c", "-o", "hello.s")),  # reads by read(), writes by functions of stdio
    "gcc and as": Program(("gcc", "-O2", "-c", "hello.c", "-o", "hello.o"), missed=READ_AHEAD),
    "C++ streams": Program(("./real",), build=("g++", "-O2", "-o", "real", f"{SOURCES}/posix_real_stream.cpp")),
    "Fortran": Program(
        ("./real",), needs=("gfortran",), build=("gfortran", "-O2", "-o", "real", f"{SOURCES}/posix_real_fortran.f90")
    ),
    "scanf and inlined calls": Program(
        ("./real",), build=("gcc", "-O2", "-o", "real", f"{SOURCES}/posix_real_stdio.c")
    ),
    "sqlite3": Program(("sqlite3", "data.db", SQL), needs=("sqlite3",)),
    "rsync": Program(("rsync", "-a", "big", "text", "sub/"), needs=("rsync",)),
    "git commit and gc": Program(("sh", "-c", GIT + "git gc -q"), needs=("git",)),
    "git clone": Program(("sh", "-c", GIT + "cd .. && git clone -q --no-local s t"), needs=("git",), missed=INLINED),
}  # fmt: skip


@pytest.fixture
def work(tmp_path):
    if not shutil.which("strace"):
        pytest.fail("strace is missing: apt install strace")
    directory = tmp_path / "work"
    (directory / "sub").mkdir(parents=True)
    (directory / "big").write_bytes(random.Random(1).randbytes(1_234_567))
    (directory / "text").write_text("".join(f"line {i}\n" for i in range(NUMBERS)))
    (directory / "numbers").write_text("".join(f"{i} {i / 7:.6f}\n" for i in range(NUMBERS)))
    (directory / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    (directory / ".gitconfig").write_text(GIT_CONFIG)
    yield directory
    Path("/dev/shm/crosswind-test-copy").unlink(missing_ok=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_equal_those_of_strace(name, work, tmp_path):
    program = PROGRAMS[name]
    if missing := [n for n in program.needs if not shutil.which(n)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if program.module:
        pytest.importorskip(program.module)
    if program.build:
        subprocess.run(program.build, cwd=work, check=True)
    spool, log = tmp_path / "spool", tmp_path / "strace.log"
    spool.mkdir()
    clean = environment(spool, {"HOME": str(work), **NO_HELPER})
    library = {name: clean.pop(name) for name in list(clean) if name.startswith(("LD_PRELOAD", "CROSSWIND_"))}
    traced = strace.command_line(program.command, log, library, "-f")
    subprocess.run(traced, cwd=work, env=clean, check=True, capture_output=True, timeout=100)
    truth, seen = strace.moved(strace.transfers([log], spool)), Counter()
    for _, out, into in counts(profile(spool)).values():  # no byte counts in two layers
        seen += Counter({"out": out, "in": into})
    assert truth["in"] > 10_000 or truth["out"] > 10_000
    assert seen["out"] == truth["out"]
    assert truth["in"] - program.missed <= seen["in"] <= truth["in"]
