"""The study on real programs: its arithmetic on made-up data, and one real run from end to end."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from accuracy.real.calibration import amount_for, clean_run
from accuracy.real.evaluation import evaluate
from accuracy.real.execution import LOG, PROFILE, RunFailed, execute
from accuracy.real.injection import COLLECTIVES, Clean, Injection, plan_injection
from accuracy.real.page import DATA, MARKS, PAGE, measured_part, section_text, write_section
from accuracy.real.programs import CG_ITERATIONS, PROGRAMS
from accuracy.real.results import Results
from accuracy.real.schedule import LEVELS, Run, study_runs, verdict_runs
from accuracy.real.study import AGAIN, Study
from accuracy.real.summary import counted, levels, scores, verdicts
from accuracy.real.truth import read_delays, true_loss

from crosswind.profile import SegmentTable, read_profile
from support.preload import ROOT

CLEAN = Clean(duration_s=8.0, start_s=0.5, usual_us=4000.0, calls={"MPI_Allreduce": 4000, "MPI_Send": 1000}, ranks=2)
SHARES = [level for level in LEVELS if level]


# --- the truth --------------------------------------------------------------------------------------------------------


def table(n: int, length_us: float = 1000.0) -> SegmentTable:
    """Two ranks, n segments of one length from instant 1e9 us on; rank 1 enters each 10 us later."""
    starts = 1e9 + length_us * np.arange(n)
    columns = {"t_start_us": np.array([starts, starts + 10]), "dur_us": np.full((2, n), length_us)}
    return SegmentTable(
        np.arange(n), np.array([0, 1]), columns, np.ones((2, n), dtype=bool), np.ones(n, dtype=np.int64)
    )


def write_log(directory, rank: int, *delays: tuple[float, float]) -> None:
    """A log of the injector; delays are (begin in us after the first segment's, added in us)."""
    directory.mkdir(exist_ok=True)
    lines = [f"{round((1e9 + at) * 1e3)},{round(added * 1e3)},MPI_Allreduce\n" for at, added in delays]
    (directory / f"{rank}.{100 + rank}.csv").write_text("".join(lines))


def test_ranks_held_up_in_one_segment_wait_at_the_same_time(tmp_path):
    write_log(tmp_path, 0, (500, 100), (600, 50), (2500, 70))
    write_log(tmp_path, 1, (700, 120), (3900, 30))
    truth = true_loss(table(5), read_delays(tmp_path))
    assert truth.lost_us.tolist() == [150, 0, 70, 30, 0]
    assert (truth.largest_rank_us, truth.all_ranks_us, truth.outside_us) == (220, 370, 0)


def test_delays_belong_to_the_segments_of_their_own_rank(tmp_path):
    write_log(tmp_path, 0, (1005, 40))
    write_log(tmp_path, 1, (1005, 60))  # rank 1 is still in its first segment
    assert true_loss(table(3), read_delays(tmp_path)).lost_us.tolist() == [60, 40, 0]


def test_what_was_added_outside_of_all_segments_is_told_apart(tmp_path):
    write_log(tmp_path, 0, (-100, 30), (100, 5), (9_000, 40))
    write_log(tmp_path, 7, (100, 25))  # no rank of this run
    truth = true_loss(table(3), read_delays(tmp_path))
    assert (truth.lost_us.sum(), truth.outside_us) == (5, 95)


def test_a_rank_without_segments_and_no_log_at_all(tmp_path):
    write_log(tmp_path / "log", 1, (100, 25))
    alone = table(2)
    alone.valid[1] = False
    assert true_loss(alone, read_delays(tmp_path / "log")).outside_us == 25
    assert true_loss(alone, read_delays(tmp_path)).lost_us.tolist() == [0, 0]


# --- what is injected -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pct", SHARES)
def test_calls_on_one_rank_make_the_share_aimed_at(pct):
    injection = plan_injection(CLEAN, "calls", pct, seed=4)
    added_s = 5000 * injection.probability * injection.mean_us / 1e6
    assert 100 * added_s / (CLEAN.duration_s + added_s) == pytest.approx(pct)
    assert injection.mean_us == 2000  # half a usual segment
    assert injection.ranks in ((0,), (1,))
    assert not injection.episodes


@pytest.mark.parametrize("pct", SHARES)
def test_episodes_make_the_share_aimed_at(pct):
    """By simulation: both ranks meet in each collective, which costs the longer of their delays."""
    injection = plan_injection(CLEAN, "episodes", pct, seed=4)
    rng = np.random.default_rng(1)
    hit = rng.random((2, 1_000_000)) < injection.probability
    added_s = 0.3 * 4000 * (injection.mean_us * hit).max(axis=0).mean() / 1e6
    assert 100 * added_s / (CLEAN.duration_s + added_s) == pytest.approx(pct, rel=0.01)
    assert injection.probability <= 0.5 + 1e-9
    assert injection.mean_us >= 300
    assert injection.functions == COLLECTIVES


@pytest.mark.parametrize("pct", SHARES)
def test_episodes_hold_30_percent_of_the_work_and_lie_in_the_run(pct):
    injection = plan_injection(CLEAN, "episodes", pct, seed=9)
    begins, ends = np.array(injection.episodes).T
    disturbed_s = CLEAN.duration_s / (1 - pct / 100)
    added_s = disturbed_s - CLEAN.duration_s
    assert (ends - begins).sum() == pytest.approx(0.3 * CLEAN.duration_s + added_s)
    assert CLEAN.start_s <= begins[0]
    assert ends[-1] <= CLEAN.start_s + disturbed_s
    assert np.all(ends[:-1] <= begins[1:])


def test_nothing_is_added_at_zero_and_nonsense_is_refused():
    for kind in ("calls", "episodes"):
        assert plan_injection(CLEAN, kind, 0, seed=1).probability == 0
    for kind, pct in (("calls", 100), ("storms", 10), ("calls", -1)):
        with pytest.raises(ValueError, match="no injection"):
            plan_injection(CLEAN, kind, pct, seed=1)


def test_amounts_follow_the_growth_of_the_run_time():
    assert amount_for(PROGRAMS["lammps"], 500, 0.5, 10) == 10_000
    assert amount_for(PROGRAMS["hpcc"], 1000, 1.0, 9) == 3000
    assert amount_for(PROGRAMS["cg"], 5, 1000, 0.1) == 1


# --- order, resumption, repetition ------------------------------------------------------------------------------------


def test_the_plan_is_complete_mixed_and_always_the_same():
    programs = [PROGRAMS["lammps"], PROGRAMS["cg"]]
    plan = list(study_runs(programs, LEVELS, 4, seed=1))
    assert plan == list(study_runs(programs, LEVELS, 4, seed=1)) != list(study_runs(programs, LEVELS, 4, seed=2))
    assert len({run.key for run in plan}) == len(plan) == 2 * 6 * 4
    each = [plan[i * 12 : (i + 1) * 12] for i in range(4)]
    assert all({run.repetition for run in one} == {i} for i, one in enumerate(each))
    assert [r.injected_pct for r in each[0]] != sorted(r.injected_pct for r in each[0])
    assert {(r.kind, r.repetition % 2) for r in plan if r.injected_pct} == {("calls", 0), ("episodes", 1)}
    assert len({run.seed(1) for run in plan}) == len(plan)
    verdict = list(verdict_runs(PROGRAMS["lammps"], seed=1))
    assert sorted(run.injected_pct for run in verdict) == [0.0] * 10 + [20.0] * 10


class Scripted(Study):
    """Runs that are made up: `delays` holds the run-queue delay that each next run will have."""

    def __init__(self, directory, delays):
        super().__init__(directory, ranks=2, seconds=1, seed=1)
        self.delays = delays
        self.made = []

    def _make(self, run, key):
        if not self.delays:
            raise KeyboardInterrupt
        record = made_up(run, key, self.delays.pop(0))
        self.made.append(key)
        self.results.add_run(record)
        return record


def made_up(run: Run, key: str, delay: float = 0.0, estimated: float | None = None, true: float | None = None) -> dict:
    """A record as `evaluate` makes them."""
    true = run.injected_pct if true is None else true
    pct = true if estimated is None else estimated
    said = {
        "pct": pct,
        "interval_pct": [pct - 1, pct + 1],
        "class": "high" if pct > 15 else "low",
        "certain": True,
        "uncovered_pct": 1.0,
    }
    return {
        "key": key, **vars(run), "ranks": 2, "true_pct": true, "run_delay_pct": delay, "others_pct": 0.0,
        "steal_pct": 0.0, "wall_s": 1.0, "total_s": 10.0, "counters": "none",
        "estimates": {"robust": said, "thesis": said},
    }  # fmt: skip


def test_a_stopped_study_goes_on_and_a_disturbed_run_is_made_once_more(tmp_path):
    plan = [Run("study", "cg", "none", 0.0, i) for i in range(4)]
    keys = [run.key for run in plan]
    first = Scripted(tmp_path, [0.0, 30.0])  # stopped before the second is made again
    with pytest.raises(KeyboardInterrupt):
        first.make(plan)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"key": "study-cg-')  # as a killed process leaves it
    second = Scripted(tmp_path, [40.0, 1.0, 6.0, 2.0])
    assert second.make(plan) == []
    assert second.made == [keys[1] + AGAIN, keys[2], keys[3], keys[3] + AGAIN]
    third = Scripted(tmp_path, [])
    assert third.make(plan) == []
    used = counted(third.results.runs, "study")
    assert [record["run_delay_pct"] for record in used] == [0.0, 40.0, 1.0, 2.0]
    assert [score.runs for score in scores(used)] == [3, 3]


def test_a_failed_run_is_named_and_tried_again_by_the_next_call(tmp_path):
    class Failing(Scripted):
        def _make(self, run, key):
            raise RunFailed("cg: exit code 1")

    plan = [Run("study", "cg", "none", 0.0, 0)]
    assert Failing(tmp_path, []).make(plan) == [plan[0].key]
    assert Scripted(tmp_path, [0.0]).make(plan) == []


def test_a_broken_results_file_is_refused_by_line(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"machine": "x"}\n{"neither": 1}\n')
    with pytest.raises(ValueError, match="line 2"):
        Results(tmp_path / "results.jsonl")


# --- figures of the page ----------------------------------------------------------------------------------------------


def test_scores_and_verdicts_are_those_of_the_records():
    runs = [Run("study", "cg", "calls", 20.0, i) for i in range(3)]
    records = [made_up(run, run.key, estimated=e) for run, e in zip(runs, (20.0, 21.0, 5.0), strict=True)]
    score, _ = scores(records)
    assert score.mean_pp == pytest.approx(16 / 3)
    assert score.least == pytest.approx(1 - (0.95526 - 0.10074), abs=1e-3)  # logistic, k 0.35 about 11.25 %
    assert (score.wrong_and_certain, score.meets) == (1, False)
    assert score.within == pytest.approx(2 / 3)
    (level,) = levels(records)
    assert (level.true, level.estimated["robust"]) == ((20, 20, 20), (20, 21, 5))
    held_up = [made_up(run, run.key, estimated=30.0) for run in runs]
    quiet = [made_up(Run("verdict", "cg", "none", 0.0, i), "", estimated=1.0 + 20 * (i == 0)) for i in range(10)]
    assert verdicts(held_up + quiet)[0].meets
    assert not verdicts(held_up[:1] + quiet[:2])[0].meets


def test_the_page_is_made_of_the_results(tmp_path):
    results = Results(tmp_path / "build" / "results.jsonl")
    results.add_machine("made-up machine")
    for program in (PROGRAMS["cg"], PROGRAMS["hpcc"]):
        for run in study_runs([program], LEVELS, 2, seed=1):
            results.add_run(made_up(run, run.key))
    for run in verdict_runs(PROGRAMS["lammps"], seed=1):
        results.add_run(made_up(run, run.key, estimated=99.0))
        results.add_run(made_up(run, run.key))
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text(f"before\n{MARKS.begin}\nold\n{MARKS.end}\nafter\n")
    write_section(results, tmp_path)
    page = (tmp_path / PAGE).read_text()
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert measured_part(page) == section_text(Results(tmp_path / DATA))
    assert (tmp_path / DATA).read_text().count("\n") == 1 + len(results.runs)  # the machine; replaced runs are gone
    assert "made-up machine" in page
    assert "low 10 of 10 times without, high 10 of 10 times with" in page
    figures = sorted((tmp_path / "docs" / "img").glob("*.svg"))
    assert len(figures) == 2
    before = [figure.read_bytes() for figure in figures]
    write_section(Results(tmp_path / DATA), tmp_path)
    assert [figure.read_bytes() for figure in figures] == before
    with pytest.raises(ValueError, match="has no runs"):
        write_section(Results(tmp_path / "none.jsonl"), tmp_path)


def test_the_documentation_says_what_was_measured():
    if not (ROOT / DATA).exists():
        pytest.skip(f"{DATA} is not there: nothing was measured yet (make accuracy-real, make accuracy-docs)")
    assert measured_part((ROOT / PAGE).read_text()) == section_text(Results(ROOT / DATA))


# --- one real run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_real_run_from_end_to_end(mpi, tmp_path):
    """The mini-app, 40 % injected in few long delays. What a busy machine adds is in no log, so the estimate is bounded
    from below only.
    """
    program = PROGRAMS["cg" if mpi == "openmpi" else f"cg-{mpi}"]
    if missing := program.missing():
        pytest.skip(missing)
    solves = 2
    execute(program, solves, 2, None, tmp_path / "clean")
    clean = clean_run(read_profile(tmp_path / "clean" / PROFILE))
    reductions = solves * (1 + 2 * CG_ITERATIONS)
    assert clean.calls["MPI_Allreduce"] == reductions
    assert clean.ranks == 2

    planned = plan_injection(clean, "calls", 40, seed=3)
    fewer = replace(planned, mean_us=8 * planned.mean_us, probability=planned.probability / 8)
    execute(program, solves, 2, fewer, tmp_path / "run")
    found = evaluate(tmp_path / "run")
    json.dumps(found)
    assert found["segments"] == reductions + 1 + 1  # the barrier, and what follows the last of them
    assert found["true_pct"] == pytest.approx(found["true_most_pct"])  # one rank alone was held up
    (log,) = (tmp_path / "run" / LOG).glob("*.csv")
    written_s = sum(int(line.split(",")[1]) for line in log.read_text().splitlines()) / 1e9
    assert found["true_pct"] / 100 * found["total_s"] == pytest.approx(written_s - found["outside_s"])
    assert 10 < found["true_pct"] < 60
    assert found["estimates"]["robust"]["pct"] > 0.5 * found["true_pct"]


def test_a_program_that_fails_says_why(tmp_path):
    program = PROGRAMS["cg"]
    if missing := program.missing():
        pytest.skip(missing)
    nothing = Injection(COLLECTIVES, 300.0, 0.0, 1)
    with pytest.raises(RunFailed, match="usage: cg N ITERATIONS SOLVES"):
        execute(program, -1, 2, nothing, tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
