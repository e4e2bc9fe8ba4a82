"""Runs beside each other: a steady slow-down shows, different work does not pass for one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from accuracy.disturbances import episodes
from accuracy.simulator import Noise, molecular_dynamics, simulate

from crosswind.analysis import InputError, compare
from crosswind.profile.segments import SegmentTable
from support.segment_tables import table

N = 300
RNG = np.random.default_rng(11)


def run(step_us=10_000.0, output_us=30_000.0, n=N, work=1e7):
    """Time steps with an output every tenth, told apart by their I/O calls."""
    output = np.arange(n) % 10 == 9
    durations = np.where(output, output_us, step_us) * (1 + 0.002 * RNG.standard_normal(n))
    return table(durations, io_calls=output.astype(float), instructions=np.full(n, work))


def test_runs_that_are_alike_have_no_steady_loss():
    found = compare([run(), run(), run()])
    assert found.n_clusters == 2
    assert found.steady_pct == pytest.approx([0, 0, 0], abs=0.2)
    assert found.shared_pct == pytest.approx([100, 100, 100])


def test_a_steady_slow_down_shows_between_runs_only():
    found = compare([run(), run(step_us=12_000.0)])
    assert found.estimates[1].interference_pct < 0.1
    assert found.steady_pct[0] == pytest.approx(0, abs=0.1)
    assert found.steady_pct[1] == pytest.approx(100 * 0.9 * 2 / (0.9 * 12 + 0.1 * 30), rel=0.02)
    steps = int(np.argmax(found.size[0]))
    assert found.level_us[:, steps] == pytest.approx([10_000, 12_000], rel=0.002)


def test_episodes_are_not_a_steady_loss():
    disturbed = run()
    disturbed.columns["dur_us"][:, 50:100] += 8_000
    found = compare([run(), disturbed])
    assert found.steady_pct[1] == pytest.approx(0, abs=0.2)
    assert found.estimates[1].interference_s == pytest.approx(0.4, rel=0.02)


def test_medians_and_losses_of_each_run_stand_beside_each_other():
    disturbed = run()
    disturbed.columns["dur_us"][:, :200] += 8_000
    found = compare([run(), disturbed])
    steps = int(np.argmax(found.size[0]))
    assert found.median_us[:, steps] == pytest.approx([10_000, 18_000], rel=0.01)
    assert found.lost_s.sum(axis=1) == pytest.approx([e.interference_s for e in found.estimates])
    assert found.lost_s[1].tolist() == pytest.approx([180 * 0.008, 20 * 0.008], rel=0.02)


def test_the_document_is_json_and_says_what_the_arrays_say():
    found = compare([run(), table(np.full(N, 10_000.0), io_calls=np.zeros(N), instructions=np.full(N, 1e7))])
    document = json.loads(json.dumps(found.to_json(["a", "b"])))
    assert document["sentence"] == found.sentence(["a", "b"])
    assert [c["median_us"][0] for c in document["clusters"]] == found.median_us[0].tolist()
    assert sorted(c["median_us"][1] is None for c in document["clusters"]) == [False, True]
    assert [r["interference_s"] for r in document["runs"]] == [e.interference_s for e in found.estimates]
    assert len(found.to_json(["a", "b"], max_clusters=1)["clusters"]) == 1


def test_runs_of_different_length_are_matched():
    found = compare([run(), run(n=2 * N)])
    assert found.size.sum(axis=1).tolist() == [N, 2 * N]
    assert found.steady_pct == pytest.approx([0, 0], abs=0.2)


def test_more_work_is_no_slow_down():
    found = compare([run(), run(step_us=12_000.0, work=1.2e7)])
    assert not found.same_work.any()
    assert found.steady_pct.tolist() == [0, 0]


def test_a_phase_that_one_run_lacks_is_left_out():
    found = compare([run(), table(np.full(N, 10_000.0), io_calls=np.zeros(N), instructions=np.full(N, 1e7))])
    assert found.shared_pct[0] == pytest.approx(75, abs=1)
    assert np.isnan(found.level_us[1]).sum() == 1


def test_one_run_is_no_comparison():
    with pytest.raises(InputError, match="two runs"):
        compare([run()])


def test_runs_without_segments():
    found = compare([run(), table(np.zeros(0))])
    assert found.steady_pct.tolist() == [0, 0]


def simulated(seed, cost=1.0, noise=None, n=1_000, **options):
    work = molecular_dynamics(n)
    delays = episodes(work, options["lost_pct"], seed, share=0.15, n=3) if options.get("lost_pct") else None
    return simulate(replace(work, cost=work.cost * cost), delays, noise=noise or Noise(), seed=seed).table


@pytest.mark.parametrize("noise", [Noise(), Noise(jitter=0.03), Noise(io=0.3), Noise(p2p_bytes=0.01)], ids=str)
@pytest.mark.parametrize("n_runs", [2, 4])
def test_chance_is_not_called_a_slow_down(noise, n_runs):
    """Runs that differ in speed by 0.3 % as a whole, some of them with episodes: at most one false call in fifty."""
    called = 0
    for seed in range(25):
        speeds = 1 + 0.003 * np.random.default_rng([seed, 9]).standard_normal(n_runs)
        runs = [simulated(10 * seed + i, speed, noise, lost_pct=10 * (i % 2)) for i, speed in enumerate(speeds)]
        called += compare(runs).is_slower.any()
    assert called <= 1


@pytest.mark.parametrize("noise", [Noise(), Noise(jitter=0.03)], ids=str)
@pytest.mark.parametrize("slow_pct", [3, 10, 30])
def test_a_steady_slow_down_is_called_and_measured(noise, slow_pct):
    for seed in range(5):
        runs = [simulated(10 * seed, noise=noise), simulated(10 * seed + 1, 1 + slow_pct / 100, noise)]
        found = compare(runs)
        computed = 0.93  # of a step; the rest is communication
        assert found.is_slower.tolist() == [False, True]
        expected = 100 * (1 - 1 / (1 + computed * slow_pct / 100))
        assert found.steady_pct[1] == pytest.approx(expected, abs=found.chance_pct[1])


def test_runs_without_a_common_usable_cluster():
    found = compare([run(n=4), run(n=4), run(n=4)])
    assert found.steady_pct.tolist() == [0, 0, 0]
    assert found.differ_pct is None


def test_several_slow_runs_do_not_hide_each_other():
    found = compare([run(step, 3 * step) for step in (10_000.0, 11_100.0, 12_100.0, 20_000.0)])
    assert found.is_slower.tolist() == [False, False, False, True]
    assert found.differ_pct == pytest.approx(100, abs=1)
    found = compare([run(step, 3 * step) for step in (10_000.0, 12_000.0, 12_000.0)])
    assert not found.is_slower.any()
    assert found.differ_pct == pytest.approx(20, abs=1)
    assert found.chance_pct.max() < 20


def test_runs_that_differ_little_can_be_told_from_chance():
    assert compare([run(step, 3 * step) for step in (10_000.0, 10_200.0, 10_300.0)]).differ_pct is None


def test_runs_that_were_merged_differently_are_matched():
    counts = np.full(N // 4, 4)
    one, other = run(n=N), run(n=N)
    ends = np.cumsum(counts)
    columns = {name: np.add.reduceat(values, ends - counts, axis=1) for name, values in other.columns.items()}
    merged = SegmentTable(other.index[::4], other.ranks, columns, other.valid[:, ::4], counts)
    plain = [replace(t, columns=t.columns | {"io_calls": np.zeros_like(t.columns["io_calls"])}) for t in (one, merged)]
    found = compare(plain)
    assert found.n_clusters == 1
    assert found.size.tolist() == [[N], [N]]
