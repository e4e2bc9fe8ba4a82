"""What a process costs: from start to end, and its constructor alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import BenchError, Goal, Result, Variant, run, take_turns
from numpy.typing import NDArray
from variants import BARE, CROSSWIND, FORWARD, Setup, lammps_program, mpirun, spool_directory

TRUE_GOAL_US, TRUE_GOAL_MIB = 100.0, 0.3
MPI_GOAL_MS = 2.0
CONSTRUCTOR_GOAL_US, PATCH_GOAL_MS = 50.0, 1.0


def short_program(setup: Setup) -> list[Result]:
    """Wall time, CPU time and peak memory of /bin/true."""
    names = (BARE, FORWARD, CROSSWIND)
    rounds = setup.rounds(2000)
    step = setup.progress("/bin/true", 1)
    preloads = [setup.variants()[name].preload for name in names]
    with spool_directory() as environment:
        output = run([setup.program("spawn"), str(rounds), *preloads, "--", "/bin/true"], environment)
    step()
    rows = np.array([[float(word) for word in line.split()] for line in output.splitlines()])
    if rows[:, 4].any():
        raise BenchError("/bin/true failed under a preload library")
    runs = {name: rows[rows[:, 0] == number] for number, name in enumerate(names)}
    return [
        Result("/bin/true, wall time", "us", 1, {name: r[:, 1] * 1e-3 for name, r in runs.items()},
               [Goal(TRUE_GOAL_US, CROSSWIND, BARE)]),
        Result("/bin/true, CPU time", "us", 1, {name: r[:, 2] for name, r in runs.items()}),
        Result("/bin/true, peak memory", "MiB", 2, {name: r[:, 3] / 1024 for name, r in runs.items()},
               [Goal(TRUE_GOAL_MIB, CROSSWIND, BARE)]),
    ]  # fmt: skip


def trivial_mpi_program(setup: Setup) -> list[Result]:
    """CPU time of MPI_Init, MPI_Comm_rank, MPI_Finalize: the mean of 2 ranks."""
    variants = [setup.variants()[name] for name in (BARE, FORWARD, CROSSWIND)]
    rounds = setup.rounds(60)

    def cpu_ms(variant: Variant) -> dict[str, float]:
        program = setup.program("mpi_trivial.openmpi")
        command = mpirun("openmpi", setup.program("spawn"), "1", variant.preload, "--", program)
        ranks = [line.split() for line in run(command, environment).splitlines()]
        return {"cpu": float(np.mean([int(rank[2]) for rank in ranks])) * 1e-3}

    with spool_directory() as environment:
        samples = take_turns(variants, rounds, cpu_ms, setup.progress("trivial MPI program", rounds * len(variants)))
    return [Result("trivial MPI program, CPU a rank", "ms", 2, samples["cpu"], [Goal(MPI_GOAL_MS, CROSSWIND, BARE)])]


def constructor(setup: Setup) -> list[Result]:
    """The library's constructor and destructor in /bin/true, which does nothing."""
    rounds = setup.rounds(2000)
    stamps = _stamps(setup, rounds, ["/bin/true"], setup.progress("constructor", rounds)) * 1e-3
    return [
        Result("constructor, /bin/true", "us", 1, {BARE: np.zeros(rounds), CROSSWIND: stamps[:, 0]},
               [Goal(CONSTRUCTOR_GOAL_US, CROSSWIND)]),
        Result("destructor, /bin/true", "us", 1, {BARE: np.zeros(rounds), CROSSWIND: stamps[:, 1]}),
    ]  # fmt: skip


def patching(setup: Setup) -> list[Result]:
    """The constructor in LAMMPS over that in /bin/true: finding MPI and redirecting its calls in all objects."""
    rounds = setup.rounds(40)
    step = setup.progress("calls redirected in LAMMPS", 2 * rounds)
    in_lammps = _stamps(setup, rounds, [lammps_program(), "-help"], step)[:, 0] * 1e-6
    in_true = _stamps(setup, rounds, ["/bin/true"], step)[:, 0] * 1e-6
    samples = {BARE: in_true, CROSSWIND: in_lammps}
    return [Result("calls redirected in LAMMPS", "ms", 2, samples, [Goal(PATCH_GOAL_MS, CROSSWIND, BARE)])]


def _stamps(setup: Setup, rounds: int, command: list[str], step: Callable[[], None]) -> NDArray[np.float64]:
    """ns of constructor and destructor [round, 2], between two preloaded libraries that read the clock."""
    around = (setup.program("stamp_after.so"), setup.variants()[CROSSWIND].preload, setup.program("stamp_before.so"))
    with spool_directory() as environment:
        stamps = Path(environment["CROSSWIND_SPOOL"]).with_suffix(".stamps")
        preload = " ".join(str(library) for library in around)
        try:
            for _ in range(rounds):
                run(["env", f"LD_PRELOAD={preload}", f"BENCH_STAMPS={stamps}", *command], environment)
                step()
            rows = np.loadtxt(stamps, ndmin=2)
        finally:
            stamps.unlink(missing_ok=True)
    if len(rows) < rounds:
        raise BenchError(f"{command[0]}: {len(rows)} of {rounds} runs left their stamps")
    return rows[-rounds:]
