"""Runs that do not count: a real neighbour of this machine's processors is seen, the run's own load is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crosswind.profile.store import read_profile
from crosswind.tools.experiment import runner as runner_module
from crosswind.tools.experiment.description import Settings
from crosswind.tools.experiment.discarding import why_discarded
from crosswind.tools.experiment.progress import Progress
from crosswind.tools.experiment.records import Conditions, Outside, read_records
from crosswind.tools.machine import Conditions as Seen
from support.preload import BUILD

PROCESSORS = os.cpu_count() or 1
TICK = os.sysconf("SC_CLK_TCK")
INACCURATE_PCT = 8.0  # the kernel counts a processor's time by ticks, a process's exactly
SLEEP = '["sleep", "2"]'
BARE = 'mpi = ""'
ALONE = "signals = []"


def cpu_s(pid: int) -> float:
    """Processor time of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


@contextmanager
def spinning() -> Iterator[int]:
    """Somebody else's process that wants a whole processor; its id."""
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield neighbour.pid
    finally:
        neighbour.kill()
        neighbour.wait()


def test_a_busy_neighbour_is_seen_and_its_run_is_made_again_three_times(write, runner):
    settings = f"outside_pct = 0\noutside_cpu_pct = {25 / PROCESSORS}"
    made = runner(write(SLEEP, of_probe=BARE, pairs=ALONE, settings=settings))
    with spinning() as pid:
        begin, before = time.monotonic(), cpu_s(pid)
        lacking = made.make(Progress(1, 0, None))
        share = (cpu_s(pid) - before) / (time.monotonic() - begin)  # of one processor
    assert share > 0.3, "it hardly ran: this tests nothing"
    records = read_records(made.directory)
    assert lacking == 1
    assert [(r.status, r.try_number) for r in records] == [("discarded", n) for n in (1, 2, 3)]
    for record in records:
        assert record.conditions.others_pct > 0.7 * 100 * share / PROCESSORS
        found = re.fullmatch(
            r"others took (\d+) % of the processors \(processes (\d+) %, the hypervisor (\d+) %\)", record.why
        )
        assert int(found[1]) == pytest.approx(int(found[2]) + int(found[3]), abs=1)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_run_s_own_load_is_nobody_else_s(write, runner, mpi):
    """Whatever others do meanwhile: what they use and what the run uses is not more than there is."""
    if not (BUILD / "load" / f"load-cpu.{mpi}").exists() or not shutil.which(f"mpirun.{mpi}"):
        pytest.skip(f"no load programs of {mpi}: install it and run `make build`")
    of_both = f'measure = "rate"\nmpi = "{mpi}"\nranks_per_node = {PROCESSORS}'
    spin = '["{load}/load-cpu", "--seconds", "SECONDS"]'
    file = write(
        spin.replace("SECONDS", "3"), spin.replace("SECONDS", "60"), of_probe=of_both, of_signal=of_both,
        pairs='signals = ["s"]\nlead_s = 1',
    )  # fmt: skip
    made = runner(file)
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    assert made.make(Progress(1, 0, None)) == 0
    (record,) = read_records(made.directory)
    used_s = sum(
        read_profile(made.directory / "runs" / record.key / program.profile).totals["cpu_time"].sum() / 1e9
        for program in record.programs
    )
    used_pct = 100 * used_s / (PROCESSORS * (record.end_ns - record.begin_ns) / 1e9)
    assert used_pct > 3 * INACCURATE_PCT, "it hardly ran: this tests nothing"
    assert used_pct + record.conditions.taken_pct < 100 + INACCURATE_PCT


def test_a_run_whose_processors_others_took_once_is_made_again(write, runner, monkeypatch):
    said = iter([Seen(1.0, steal_pct=2.0, others_pct=9.0), Seen(1.0, steal_pct=1.0, others_pct=9.0)])
    monkeypatch.setattr(runner_module.Watch, "conditions", lambda self: next(said))
    made = runner(write('["true"]', of_probe=BARE, pairs=ALONE, settings="outside_pct = 0\noutside_cpu_pct = 10"))
    assert made.make(Progress(1, 0, None)) == 0
    assert [(r.status, r.why) for r in read_records(made.directory)] == [
        ("discarded", "others took 11 % of the processors (processes 9 %, the hypervisor 2 %)"),
        ("done", ""),
    ]


@pytest.mark.parametrize(
    ("settings", "slept_s", "why"),
    [
        ({}, 0, ""),  # nobody asked about the processors
        ({"outside_cpu_pct": 50}, 0, ""),
        ({"outside_cpu_pct": 49}, 0, "others took 50 % of the processors (processes 30 %, the hypervisor 20 %)"),
        ({"outside_pct": 5}, 0, "others made 6 % of the traffic (disk x)"),
        ({"outside_pct": 5, "outside_cpu_pct": 1}, 9, "the machine was asleep for 9 s"),
    ],
)
def test_why_a_run_does_not_count(settings, slept_s, why):
    outside = Outside(server_bytes=1 << 40, own_bytes=0, outside_pct=6, source="disk x")
    seen = Conditions(load=9, steal_pct=20, others_pct=30)
    assert why_discarded(Settings(name="x", **settings), 10, slept_s, outside, seen) == why


def test_what_is_not_known_disturbs_nobody():
    assert why_discarded(Settings(name="x", outside_cpu_pct=1), 10, 0, None, None) == ""
