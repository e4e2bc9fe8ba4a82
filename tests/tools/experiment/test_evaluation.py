"""Results of made-up experiments against what was planted in them."""

import json

import numpy as np
import pytest

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.evaluation import evaluate
from crosswind.tools.experiment.records import Conditions, read_records, write_record
from crosswind.tools.experiment.results import Results, read_results
from support.experiments import PERIODIC, Made, Work, dents, matrix, periodic, phases


def pair_of(results, probe, signal):
    return next(p for p in results.pairs if (p.probe, p.signal) == (probe, signal))


@pytest.fixture(scope="module")
def dented(tmp_path_factory):
    """Segments of 20 ms; every twentieth takes 10 ms more."""
    made = periodic(
        tmp_path_factory.mktemp("dents"), n_segments=1500, slow_segments=dict.fromkeys(range(0, 1500, 20), 10)
    )
    made.close()
    return made.directory, evaluate(made.directory)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    made = matrix(tmp_path_factory.mktemp("matrix"))
    made.close()
    return evaluate(made.directory)


def test_slow_down_against_running_alone(dented):
    _, results = dented
    change = pair_of(results, "writer", "noise").change
    assert change.isolated.median == pytest.approx(1.01e8)
    assert change.together.median == pytest.approx(0.75e8, rel=0.03)
    assert change.lost_pct == pytest.approx(26, abs=2)
    assert change.slow_down_pct == pytest.approx(35, abs=3)
    low, high = change.lost_interval_pct
    assert low <= change.lost_pct <= high
    assert (change.isolated.n, change.together.n, len(change.each_pct)) == (3, 3, 3)


def test_dents_fall_into_active_phases(dented):
    _, results = dented
    found = pair_of(results, "writer", "noise").phases
    assert found.what == "bytes written"
    assert found.rho < -0.8
    assert found.p < 0.005
    assert found.depth_pct == pytest.approx(50, abs=3)
    assert (found.slices_inside, found.slices_outside) == (60, 60)


def test_the_courses_are_those_of_the_profiles(dented):
    _, results = dented
    pair = pair_of(results, "writer", "noise")
    assert len(pair.course.rate) == 40
    assert pair.course.phases_s == [(0, 4), (8, 12), (16, 20), (24, 28), (32, 36)]
    assert np.mean(pair.alone_course.rate) == pytest.approx(1.01e8, rel=1e-3)
    assert (pair.alone_course.end_s, pair.course.end_s) == (30.0, 40.0)


def test_the_estimate_of_each_run_stands_beside(dented):
    _, results = dented
    pair = pair_of(results, "writer", "noise")
    assert len(pair.estimate.pct) == 3
    assert all(pct > 0 for pct in pair.estimate.pct)
    assert results.program("writer").estimate.pct


def test_what_is_kept_is_what_was_found(dented):
    directory, results = dented
    assert read_results(directory / "results.json") == results


def test_every_cell_of_the_matrix(crossed):
    for chunk in ("1M", "16M"):
        seek, append = f"seek.{chunk}", f"append.{chunk}"
        for probe, signal, expected in ((seek, append, 50), (append, seek, 10), (seek, seek, 40), (append, append, 40)):
            pair = pair_of(crossed, probe, signal)
            assert pair.change.lost_pct == pytest.approx(expected, abs=8), (probe, signal)
            assert (pair.runs, pair.change.together.n, pair.mutual) == (5, 5, True)
    assert [pair.group for pair in crossed.pairs] == [0] * 4 + [1] * 4
    assert pair_of(crossed, "seek.1M", "append.1M").phases is None


def test_no_estimate_says_why(crossed):
    pair = pair_of(crossed, "seek.1M", "append.1M")
    assert pair.estimate.pct == []
    assert "no segments" in pair.estimate.why


def test_the_lookup_names_the_noise(tmp_path):
    """Without segments a probe is judged by its rate; the noise writes where the probe's rate falls."""
    made = Made(tmp_path, PERIODIC.format(repetitions=1))
    made.run(0, Work("writer", [1e8] * 96))
    at_work = [8e7 * (t % 24 < 12) for t in range(120)]
    noise = Work("noise", at_work, phases_s=phases(120, 12, 12), ended="stopped")
    made.run(0, Work("writer", dents(120, 12, 12)), noise)
    made.close()
    found = pair_of(evaluate(tmp_path), "writer", "noise").lookup
    assert (found.ranks, found.named, found.runs, found.why) == ([1], 1, 1, "")


def test_only_the_balanced_part_of_fixed_volumes(tmp_path):
    """Both end by their volume, and have stragglers: until one has written nine tenths."""
    made = Made(tmp_path, PERIODIC.format(repetitions=1))
    made.run(0, Work("writer", [100.0] * 9 + [10.0] * 10))
    made.run(0, Work("writer", [50.0] * 18 + [10.0] * 10), Work("noise", [90.0] * 9 + [1.0] * 90))
    made.close()
    pair = pair_of(evaluate(tmp_path), "writer", "noise")
    assert pair.balanced
    assert pair.change.lost_pct == pytest.approx(50.0, abs=0.1)


def test_half_finished(tmp_path):
    made = matrix(tmp_path, repetitions=2, chunks=("1M",), skip=2)
    made.close()
    results = evaluate(tmp_path)
    assert results.done == 4
    assert len(results.missing) == 6
    pair = pair_of(results, "seek.1M", "append.1M")
    assert pair.change is None
    assert pair.why == "no run of seek.1M beside the other has a measure"


def test_only_pairs_and_none_alone(tmp_path):
    made = Made(tmp_path, PERIODIC.format(repetitions=1))
    made.run(0, Work("writer", dents(40)), Work("noise", [1e8] * 40, phases_s=phases(40), ended="stopped"))
    made.close()
    pair = pair_of(evaluate(tmp_path), "writer", "noise")
    assert pair.why == "no run of writer alone has a measure"
    assert pair.phases is not None
    assert pair.alone_course is None


def test_discarded_and_failed_runs_do_not_count(tmp_path):
    made = periodic(tmp_path, repetitions=2)
    slow = Work("writer", [1.0] * 30)
    made.run(0, slow, status="discarded", why="others made 40 % of the traffic", try_number=1)
    made.run(7, slow, Work("noise", [1.0] * 40), status="failed", why="exit code 3")
    made.close()
    results = evaluate(tmp_path)
    assert pair_of(results, "writer", "noise").change.isolated.n == 2
    assert results.discarded == 1
    assert results.failed == [("writer--noise--7", "exit code 3")]
    assert results.done == 6


def test_a_signals_period_is_told_by_its_whole_phases():
    """The first begins late, for the signal did, and the last was cut off."""
    from crosswind.tools.experiment.courses import _OverTime

    cut = tuple((round(a * 1e9), round(b * 1e9)) for a, b in ((2, 5), (10, 15.2), (20, 25), (30, 35), (40, 43)))
    for phases_ns, period in ((cut, 10), (cut[:2], 10), (cut[:1], None), ((), None)):
        found = _OverTime(None, 0, 1, 0, 2 * 10**9, np.zeros(3), phases_ns).period
        assert found == (None if period is None else pytest.approx(period / 2, rel=0.03))


def test_a_run_that_was_made_again_has_not_failed(tmp_path):
    periodic(tmp_path, repetitions=1).close()
    record = next(record for record in read_records(tmp_path) if record.key == "writer--alone--0")
    earlier = tmp_path / "runs" / f"{record.key}.try1"
    earlier.mkdir()
    write_record(earlier, record.model_copy(update={"status": "failed", "why": "exit code 3"}))
    assert evaluate(tmp_path).failed == []


def test_runs_of_which_nobody_knows_what_others_moved_are_counted(tmp_path):
    periodic(tmp_path, repetitions=1).close()
    runs = evaluate(tmp_path).done
    assert evaluate(tmp_path).unwatched == runs > 0
    description = tmp_path / "experiment.toml"
    description.write_text(description.read_text().replace("[experiment]", "[experiment]\noutside_pct = 0"))
    assert evaluate(tmp_path).unwatched == 0


def test_nothing_but_a_description(tmp_path):
    (tmp_path / "experiment.toml").write_text(PERIODIC.format(repetitions=2))
    results = evaluate(tmp_path)
    assert (results.done, len(results.missing), results.begin_ns) == (0, 4, None)
    assert results.programs[0].alone is None


def test_reports_profiles_and_database_that_are_lost_or_damaged(tmp_path):
    made = periodic(tmp_path, repetitions=1)
    made.close()
    (tmp_path / "jobs.db").unlink()
    for path in (tmp_path / "runs").glob("*/probe.xwp"):
        path.write_bytes(b"XWPROF\r\nno")
    results = evaluate(tmp_path)
    pair = pair_of(results, "writer", "noise")
    assert pair.change.lost_pct > 0
    assert pair.phases is None
    assert pair.estimate.why == pair.lookup.why == "its profile is not in jobs.db"
    (tmp_path / "jobs.db").write_bytes(b"no database" * 1000)
    assert pair_of(evaluate(tmp_path), "writer", "noise").estimate.why


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"start_ns": -1},
        {"start_ns": 5, "end_ns": 4, "ended": "time", "unit": "B", "total": 1, "active_ns": [], "per_second": [1]},
        {"start_ns": 1, "end_ns": 4, "ended": "time", "unit": "B", "total": 1, "active_ns": [[9, 2]], "per_second": []},
        {"start_ns": 1, "end_ns": 4, "ended": "time", "unit": "B", "total": 1, "active_ns": [], "per_second": ["x"]},
        {"start_ns": 1, "end_ns": 4, "ended": "?", "unit": "B" * 99, "total": 1, "active_ns": [], "per_second": [1]},
    ],
)
def test_a_report_that_makes_no_sense_costs_its_run(tmp_path, report):
    made = periodic(tmp_path, repetitions=2)
    made.close()
    for key, number in (("writer--alone--0", 0), ("writer--noise--0", 1)):
        path = tmp_path / "runs" / key / "record.json"
        record = json.loads(path.read_text())
        record["programs"][number]["report"] = report
        path.write_text(json.dumps(record))
    results = evaluate(tmp_path)
    assert pair_of(results, "writer", "noise").change.isolated.n == 1


def test_a_profile_outside_its_folder_is_not_read(tmp_path):
    made = periodic(tmp_path, repetitions=1)
    made.close()
    path = tmp_path / "runs" / "writer--noise--0" / "record.json"
    record = json.loads(path.read_text())
    record["programs"][0]["profile"] = "../writer--alone--0/probe.xwp"
    path.write_text(json.dumps(record))
    assert pair_of(evaluate(tmp_path), "writer", "noise").phases is None


def test_results_that_are_none(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"name": 3}')
    with pytest.raises(CommandError, match="holds no results"):
        read_results(path)
    with pytest.raises(FileNotFoundError):
        read_results(tmp_path / "none.json")


def test_no_number_is_null_in_json():
    from crosswind.tools.experiment.results import PhaseResult

    found = PhaseResult(what="x", unit="B/s", rho=float("nan"), by_run=[float("inf")], p=None, inside=1.0, outside=1.0,
                        depth_pct=0.0, slices_inside=0, slices_outside=0)  # fmt: skip
    assert json.loads(found.model_dump_json())["rho"] is None
    assert Results.model_fields["pairs"]


def test_how_busy_others_kept_the_machine_is_of_the_runs_that_count(tmp_path):
    made = Made(tmp_path, PERIODIC.format(repetitions=3))
    of_runs = [(1.0, 0.5, "done"), (3.0, 0.1, "done"), (2.5, 0.2, "done"), (90.0, 50.0, "discarded")]
    for number, (others, steal, status) in enumerate(of_runs):
        conditions = Conditions(load=1, steal_pct=steal, others_pct=others)
        made.run(number, Work("writer", [1e8] * 5), status=status, conditions=conditions)
    made.run(4, Work("writer", [1e8] * 5))  # of an old version, or through Slurm
    made.close()
    assert evaluate(tmp_path).busy.model_dump() == {
        "others": {"median": 2.5, "most": 3.0},
        "hypervisor": {"median": 0.2, "most": 0.5},
    }


def test_nobody_knows_how_busy_nodes_were(dented):
    assert dented[1].busy is None
