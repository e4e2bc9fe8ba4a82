"""The benchmarks: each returns the results that run.py shows."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import BenchError, Goal, Result, Variant, run, take_turns
from spool_growth import spool_growth

BARE, FORWARD, TICKS, CROSSWIND, UNTIMED = "bare", "forward", "forward + 2 ticks", "Crosswind", "Crosswind, no timing"
CALL_GOAL_NS = 5.0
TRUE_GOAL_US, TRUE_GOAL_MIB = 100.0, 0.3
MPI_GOAL_MS = 2.0
LAMMPS_GOAL_PERCENT = 0.5
SPOOL_GOAL_MB = 5.0

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


@dataclass(frozen=True)
class Setup:
    """What all benchmarks need: where the programs are, how many rounds, whom to tell about progress."""

    build: Path
    scale: float
    progress: Callable[[str, int], Callable[[], None]]

    def program(self, name: str) -> Path:
        """A program of tools/bench. Raises BenchError when it is not built."""
        path = self.build / "bench" / name
        if not path.exists():
            raise BenchError(f"{path} is missing: run `make build`")
        return path

    def rounds(self, full: int) -> int:
        """Rounds of a benchmark; --quick takes fewer."""
        return max(int(full * self.scale), 5)

    def variants(self) -> dict[str, Variant]:
        """All variants by name."""
        library = str(self.build / "libcrosswind.so")
        all_of_them = (
            Variant(BARE),
            Variant(FORWARD, str(self.program("forward.so"))),
            Variant(TICKS, str(self.program("forward_ticks.so"))),
            Variant(CROSSWIND, library),
            Variant(UNTIMED, library, {"CROSSWIND_TIMING": "0"}),
        )
        return {variant.name: variant for variant in all_of_them}


@contextmanager
def spool_directory() -> Iterator[dict[str, str]]:
    """Environment with a spool directory of its own, which is removed afterwards."""
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    path = tempfile.mkdtemp(prefix="crosswind-bench-", dir=base)
    try:
        yield {"CROSSWIND_SPOOL": path, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    finally:
        shutil.rmtree(path, ignore_errors=True)


def mpirun(*command: str | Path) -> list[str | Path]:
    """Two ranks; the launcher itself is never preloaded."""
    launcher = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if not launcher:
        raise BenchError("no mpirun: install openmpi-bin")
    return [launcher, "--oversubscribe", "-n", "2", *command]


def _medians(output: str) -> dict[str, float]:
    """Lines "KIND NS" -> median per kind."""
    values: dict[str, list[float]] = {}
    for line in output.splitlines():
        kind, ns = line.split()
        values.setdefault(kind, []).append(float(ns))
    return {kind: float(np.median(ns)) for kind, ns in values.items()}


def _call_results(samples: dict, note: str) -> list[Result]:
    goal = Goal(CALL_GOAL_NS, CROSSWIND, TICKS)
    return [Result(kind, "ns/call", 1, by_variant, goal, note=note) for kind, by_variant in samples.items()]


def posix_calls(setup: Setup) -> list[Result]:
    """write of 1 byte, pwrite and fwrite of 8 bytes, to /dev/null."""
    variants, rounds = list(setup.variants().values()), setup.rounds(60)
    with spool_directory() as environment:
        samples = take_turns(
            variants,
            rounds,
            lambda v: _medians(run(["env", *v.assignments(), setup.program("calls"), "20"], environment)),
            setup.progress("POSIX calls", rounds * len(variants)),
        )
    return _call_results(samples, "one thread, /dev/null")


def mpi_calls(setup: Setup) -> list[Result]:
    """MPI_Comm_rank, a ping-pong, an Allreduce on 2 ranks of one node."""
    variants, rounds = list(setup.variants().values()), setup.rounds(40)
    with spool_directory() as environment:
        samples = take_turns(
            variants,
            rounds,
            lambda v: _medians(run(mpirun("env", *v.assignments(), setup.program("mpi_calls"), "20"), environment)),
            setup.progress("MPI calls", rounds * len(variants)),
        )
    return _call_results(samples, "2 ranks, one node")


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
               Goal(TRUE_GOAL_US, CROSSWIND, BARE)),
        Result("/bin/true, CPU time", "us", 1, {name: r[:, 2] for name, r in runs.items()}),
        Result("/bin/true, peak memory", "MiB", 2, {name: r[:, 3] / 1024 for name, r in runs.items()},
               Goal(TRUE_GOAL_MIB, CROSSWIND, BARE)),
    ]  # fmt: skip


def trivial_mpi_program(setup: Setup) -> list[Result]:
    """CPU time of MPI_Init, MPI_Comm_rank, MPI_Finalize: the mean of 2 ranks."""
    variants = [setup.variants()[name] for name in (BARE, FORWARD, CROSSWIND)]
    rounds = setup.rounds(60)

    def cpu_ms(variant: Variant) -> dict[str, float]:
        command = mpirun(setup.program("spawn"), "1", variant.preload, "--", setup.program("mpi_trivial"))
        ranks = [line.split() for line in run(command, environment).splitlines()]
        return {"cpu": float(np.mean([int(rank[2]) for rank in ranks])) * 1e-3}

    with spool_directory() as environment:
        samples = take_turns(variants, rounds, cpu_ms, setup.progress("trivial MPI program", rounds * len(variants)))
    return [Result("trivial MPI program, CPU a rank", "ms", 2, samples["cpu"], Goal(MPI_GOAL_MS, CROSSWIND, BARE))]


def lammps(setup: Setup) -> list[Result]:
    """The time loop of LAMMPS with 256 atoms on 2 ranks, in percent of the bare one."""
    program = _lammps_program()
    variants = [setup.variants()[name] for name in (BARE, TICKS, CROSSWIND, UNTIMED)]
    rounds = setup.rounds(40)

    def loop_s(variant: Variant) -> dict[str, float]:
        output = run(mpirun("env", *variant.assignments(), program, "-in", script.name, "-log", "none"), environment)
        found = re.search(r"Loop time of (\S+) on 2 procs", output)
        if not found:
            raise BenchError("LAMMPS said no loop time")
        return {"loop": float(found[1])}

    with spool_directory() as environment, tempfile.NamedTemporaryFile("w", suffix=".in") as script:
        script.write(MELT.format(steps=20000, timer="normal"))
        script.flush()
        samples = take_turns(variants, rounds, loop_s, setup.progress("LAMMPS, 256 atoms", rounds * len(variants)))
    goal = Goal(LAMMPS_GOAL_PERCENT, CROSSWIND, BARE)
    return [Result("LAMMPS, 256 atoms, 20000 steps", "s", 2, samples["loop"], goal, percent=True)]


def spool_size(setup: Setup) -> list[Result]:
    """Bytes that one process's spool file holds after a day, from a LAMMPS run of some seven slices of 4 s."""
    library = setup.variants()[CROSSWIND].preload
    step = setup.progress("spool file", 1)
    with spool_directory() as environment, tempfile.NamedTemporaryFile("w", suffix=".in") as script:
        script.write(MELT.format(steps=100_000_000, timer="timeout 28 every 100"))
        script.flush()
        command = mpirun("env", f"LD_PRELOAD={library}", _lammps_program(), "-in", script.name, "-log", "none")
        run(command, {**environment, "CROSSWIND_SLICE": "4s"})
        growths = [spool_growth(path) for path in sorted(Path(environment["CROSSWIND_SPOOL"]).iterdir())]
    step()
    ranks = [growth for growth in growths if growth.segments]
    if len(ranks) != 2:
        raise BenchError(f"expected the spool files of 2 ranks with segments, found {len(ranks)} of {len(growths)}")
    note = "; ".join(growth.text() for growth in ranks)
    goal = Goal(SPOOL_GOAL_MB, CROSSWIND, BARE)
    amounts = {
        "spool file, slices of a day": [growth.slices_per_day() for growth in ranks],
        "spool file, all of a day": [growth.per_day() for growth in ranks],
    }
    return [
        Result(name, "MB", 2, {BARE: np.zeros(len(ranks)), CROSSWIND: np.array(values) * 1e-6}, goal, note=note)
        for name, values in amounts.items()
    ]


def _lammps_program() -> str:
    program = shutil.which("lmp")
    if not program:
        raise BenchError("no lmp: install lammps")
    return program


ALL: dict[str, Callable[[Setup], list[Result]]] = {
    "posix": posix_calls,
    "mpi": mpi_calls,
    "true": short_program,
    "mpi-trivial": trivial_mpi_program,
    "lammps": lammps,
    "spool": spool_size,
}
