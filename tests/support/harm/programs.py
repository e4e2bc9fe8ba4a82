"""Programs that no CMake target builds: other languages, sanitizers, profilers. Each is built when a case asks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.preload import BUILD, ROOT

__all__ = ["BUILT", "build"]

SOURCES = ROOT / "tests" / "harm" / "programs"
BUILT = BUILD / "tests" / "harm"

# name of what is made: source, command; {source} and {out} are filled in
COMMANDS = {
    "aio_list": ("aio_list.c", "gcc -O1 -pthread {source} -o {out}"),
    "asan_dynamic": ("memory.c", "gcc -g -fsanitize=address -pthread {source} -o {out}"),
    "asan_static": ("memory.c", "gcc -g -fsanitize=address -static-libasan -pthread {source} -o {out}"),
    "audit.so": ("audit.c", "gcc -shared -fPIC {source} -o {out}"),
    "exception": ("exception.cpp", "g++ -O1 -pthread {source} -o {out}"),
    "fortran": ("fortran.f90", "gfortran -O1 {source} -o {out}"),
    "go_program": ("program.go", "go build -o {out} {source}"),
    "gprof_program": ("memory.c", "gcc -pg -pthread {source} -o {out}"),
    "handler_fork": ("handler_fork.c", "gcc -O1 -D_GNU_SOURCE {source} -o {out}"),
    "harmful.so": ("harmful.c", "gcc -shared -fPIC -pthread {source} -o {out} -ldl"),
    "kernel": ("kernel.c", "gcc -O1 -pthread {source} -o {out}"),
    "memory": ("memory.c", "gcc -g -pthread {source} -o {out}"),
    "memory_32": ("memory.c", "gcc -m32 -g -pthread {source} -o {out}"),
    "memory_stream": ("memory_stream.c", "gcc -g -O1 {source} -o {out}"),
    "mpi_end.openmpi": ("mpi_end.c", "mpicc.openmpi {source} -o {out}"),
    "mpi_end.mpich": ("mpi_end.c", "mpicc.mpich {source} -o {out}"),
    "openmp": ("openmp.c", "gcc -O1 -fopenmp {source} -o {out}"),
    "plugin.so": ("plugin.c", "gcc -shared -fPIC {source} -o {out}"),
    "plugin_host": ("plugin_host.c", "gcc -O1 {source} -o {out} -ldl"),
    "Program.class": ("Program.java", "javac -d {directory} {source}"),
    "rust_program": ("program.rs", "rustc -O -o {out} {source}"),
    "static_pie": ("memory.c", "gcc -static-pie -fPIE -pthread {source} -o {out}"),
    "tsan": ("memory.c", "gcc -g -fsanitize=thread -pthread {source} -o {out}"),
    "waiting": ("waiting.c", "gcc -O1 -pthread {source} -o {out}"),
}  # fmt: skip


def build(name: str) -> Path:
    """Make the program if it is missing or older than its source; skip the test where its compiler is not there."""
    source_name, command = COMMANDS[name]
    source, out = SOURCES / source_name, BUILT / name
    words = [word.format(source=source, out=out, directory=BUILT) for word in command.split()]
    if not shutil.which(words[0]):
        pytest.skip(f"not installed: {words[0]}")
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        BUILT.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
    return out
