"""What one call costs: the functions of calls.c and, under each MPI, of mpi_calls.c."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from measure import Goal, Result, Samples, Variant, run, take_turns
from variants import BARE, CROSSWIND, MPIS, TICKS, UNTIMED, Setup, mpirun, spool_directory

TIMED_GOAL_NS, UNTIMED_GOAL_NS = 5.0, 3.0
CHUNKS = "10"


def posix_calls(setup: Setup) -> list[Result]:
    """POSIX and stdio functions, on /dev/null, /dev/zero and a file in memory."""
    variants, rounds = list(setup.variants().values()), setup.rounds(60)
    with spool_directory() as environment:
        samples = take_turns(
            variants,
            rounds,
            lambda v: _medians(run(["env", *v.assignments(), setup.program("calls"), CHUNKS], environment)),
            setup.progress("POSIX calls", rounds * len(variants)),
        )
    return _results(samples, "", "one thread; /dev/null, /dev/zero, a file")


def mpi_calls(setup: Setup) -> list[Result]:
    """MPI functions on 2 ranks of one node, under each MPI."""
    results: list[Result] = []
    variants, rounds = list(setup.variants().values()), setup.rounds(30)
    for mpi, name in MPIS.items():
        program = setup.program(f"mpi_calls.{mpi}")
        with spool_directory() as environment:
            samples = take_turns(
                variants,
                rounds,
                partial(_under_mpi, mpi, program, environment),
                setup.progress(f"MPI calls, {name}", rounds * len(variants)),
            )
        results += _results(samples, f", {name}", "2 ranks, one node")
    return results


def _under_mpi(mpi: str, program: Path, environment: Mapping[str, str], variant: Variant) -> dict[str, float]:
    return _medians(run(mpirun(mpi, "env", *variant.assignments(), program, CHUNKS), environment))


def _medians(output: str) -> dict[str, float]:
    """Lines "KIND NS" -> median per kind."""
    values: dict[str, list[float]] = {}
    for line in output.splitlines():
        kind, ns = line.split()
        values.setdefault(kind, []).append(float(ns))
    return {kind: float(np.median(ns)) for kind, ns in values.items()}


def _results(samples: Mapping[str, Samples], suffix: str, note: str) -> list[Result]:
    goals = (Goal(TIMED_GOAL_NS, CROSSWIND, TICKS), Goal(UNTIMED_GOAL_NS, UNTIMED, BARE))
    return [Result(kind + suffix, "ns/call", 1, by_variant, goals, note=note) for kind, by_variant in samples.items()]
