"""All benchmarks by name: each returns the results that run.py shows."""

from __future__ import annotations

from collections.abc import Callable

from app_costs import lammps, spool_size, steps
from call_costs import mpi_calls, posix_calls
from day import day
from flood import flood
from measure import Result
from process_costs import constructor, patching, short_program, trivial_mpi_program
from variants import Setup

ALL: dict[str, Callable[[Setup], list[Result]]] = {
    "posix": posix_calls,
    "mpi": mpi_calls,
    "flood": flood,
    "constructor": constructor,
    "patching": patching,
    "true": short_program,
    "mpi-trivial": trivial_mpi_program,
    "lammps": lammps,
    "steps": steps,
    "spool": spool_size,
    "day": day,
}
