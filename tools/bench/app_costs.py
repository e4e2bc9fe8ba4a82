"""What an application notices: LAMMPS, as small as it gets, and what its spool files hold after a day."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
from measure import BenchError, Goal, Result, Variant, run, take_turns
from spool_growth import spool_growth
from variants import BARE, CROSSWIND, MPIS, TICKS, UNTIMED, Setup, lammps_program, mpirun, spool_directory

LAMMPS_GOAL_PERCENT = 0.5
SPOOL_GOAL_MB = 5.0
STEPS, STEP_US, STEPS_GOAL_PERCENT = 10_000, 190, 1.0

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 100
timer {timer}
run {steps}
"""


def lammps(setup: Setup) -> list[Result]:
    """The time loop of LAMMPS with 256 atoms on 2 ranks, in percent of the bare one."""
    program = lammps_program()
    variants = [setup.variants()[name] for name in (BARE, TICKS, CROSSWIND, UNTIMED)]
    rounds = setup.rounds(40)

    def loop_s(variant: Variant) -> dict[str, float]:
        output = run(
            mpirun("openmpi", "env", *variant.assignments(), program, "-in", script.name, "-log", "none"), environment
        )
        found = re.search(r"Loop time of (\S+) on 2 procs", output)
        if not found:
            raise BenchError("LAMMPS said no loop time")
        return {"loop": float(found[1])}

    with spool_directory() as environment, tempfile.NamedTemporaryFile("w", suffix=".in") as script:
        script.write(MELT.format(steps=20000, timer="normal"))
        script.flush()
        samples = take_turns(variants, rounds, loop_s, setup.progress("LAMMPS, 256 atoms", rounds * len(variants)))
    goals = [Goal(LAMMPS_GOAL_PERCENT, CROSSWIND, BARE)]
    return [Result("LAMMPS, 256 atoms, 20000 steps", "s", 2, samples["loop"], goals, percent=True)]


def steps(setup: Setup) -> list[Result]:
    """A program of some 5000 steps a second on 2 ranks, each with one MPI_Allreduce: what cutting it there costs."""
    variants = [setup.variants()[name] for name in (BARE, TICKS, CROSSWIND)]
    rounds = setup.rounds(30)
    results = []
    for mpi, name in MPIS.items():

        def loop_s(variant: Variant, mpi: str = mpi) -> dict[str, float]:
            program = [setup.program(f"mpi_steps.{mpi}"), str(STEPS), str(STEP_US)]
            return {"loop": float(run(mpirun(mpi, "env", *variant.assignments(), *program), environment))}

        with spool_directory() as environment:
            progress = setup.progress(f"steps, {name}", rounds * len(variants))
            samples = take_turns(variants, rounds, loop_s, progress)
        goals = [Goal(STEPS_GOAL_PERCENT, CROSSWIND, BARE)]
        results.append(Result(f"5000 MPI_Allreduce a second, {name}", "s", 3, samples["loop"], goals, percent=True))
    return results


def spool_size(setup: Setup) -> list[Result]:
    """Bytes that one process's spool file holds after a day, from a LAMMPS run of some seven slices of 4 s."""
    library = setup.variants()[CROSSWIND].preload
    step = setup.progress("spool file", 1)
    with spool_directory() as environment, tempfile.NamedTemporaryFile("w", suffix=".in") as script:
        script.write(MELT.format(steps=100_000_000, timer="timeout 28 every 100"))
        script.flush()
        command = mpirun(
            "openmpi", "env", f"LD_PRELOAD={library}", lammps_program(), "-in", script.name, "-log", "none"
        )
        run(command, {**environment, "CROSSWIND_SLICE": "4s"})
        growths = [spool_growth(path) for path in sorted(Path(environment["CROSSWIND_SPOOL"]).iterdir())]
    step()
    ranks = [growth for growth in growths if growth.segments]
    if len(ranks) != 2:
        raise BenchError(f"expected the spool files of 2 ranks with segments, found {len(ranks)} of {len(growths)}")
    note = "; ".join(growth.text() for growth in ranks)
    goals = [Goal(SPOOL_GOAL_MB, CROSSWIND, BARE)]
    amounts = {
        "spool file, slices of a day": [growth.slices_per_day() for growth in ranks],
        "spool file, segments of a day": [growth.segments_of_a_day() for growth in ranks],
        "spool file, all of a day": [growth.per_day() for growth in ranks],
    }
    return [
        Result(name, "MB", 2, {BARE: np.zeros(len(ranks)), CROSSWIND: np.array(values) * 1e-6}, goals, note=note)
        for name, values in amounts.items()
    ]
