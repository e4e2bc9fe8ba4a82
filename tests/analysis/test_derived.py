"""The table of series against the metric table, and its sums against a profile with known rates."""

import numpy as np
import pytest

from crosswind.analysis import SERIES, Reduction, available, job_series, process_series, series_named
from crosswind.profile.metrics import METRICS
from support.profiles import LAMMPS_RATES, make_profile

BY_NAME = {metric.name: metric for metric in METRICS}


def of(profile, name):
    return job_series(series_named(name), profile.slices, profile.covered_ns, profile.slice_ns)


@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_a_series_sums_like_with_like(series):
    metrics = [BY_NAME[name] for name in series.metrics]
    assert len({(metric.unit, metric.kind) for metric in metrics}) == 1
    assert len(set(series.metrics)) == len(series.metrics)
    assert series.reduction is not Reduction.SHARE or metrics[0].unit == "ns"


@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_posix_and_stdio_are_never_added_up(series):
    layers = {name.split("_")[0] for name in series.metrics} & {"posix", "stdio"}
    assert len(layers) <= 1


def test_names_are_unique_and_panels_have_one_unit():
    assert len({series.name for series in SERIES}) == len(SERIES)
    for panel in {series.panel for series in SERIES}:
        assert len({series.unit for series in SERIES if series.panel == panel}) == 1


def test_series_of_a_profile_with_known_rates():
    profile = make_profile(n_ranks=3)
    expected = {
        "write_disk": (3 * LAMMPS_RATES["posix_disk_write_bytes"], "B/s"),
        "coll_calls": (3 * LAMMPS_RATES["mpi_coll_all_to_all_calls"], "1/s"),
        "cpu": (3 * 0.99, "processors"),
        "run_delay": (3 * 0.002, "processors"),
        "mpi_share": (0.03 + 0.06 + 0.04, "share"),
        "coll_share": (0.04, "share"),
        "posix_io_share": (0.02, "share"),
        "memory": (3 * LAMMPS_RATES["rss"], "B"),
    }
    for name, (value, unit) in expected.items():
        assert of(profile, name) == pytest.approx(np.full(profile.n_slices, value)), name
        assert series_named(name).unit == unit


def test_a_share_is_the_mean_over_those_present():
    """A killed rank takes its half of the time with it, not half of the share."""
    profile = make_profile(n_ranks=2, killed_rank=1)
    assert of(profile, "mpi_share") == pytest.approx(np.full(profile.n_slices, 0.13))
    assert of(profile, "cpu")[[0, -1]] == pytest.approx([1.98, 0.99])


def test_each_process_for_itself():
    profile = make_profile(n_ranks=2, killed_rank=1)
    rates = process_series(series_named("write_disk"), profile.slices, profile.covered_ns)
    assert rates.shape == (2, profile.n_slices)
    assert np.isnan(rates[1, -1])
    assert rates[0, -1] == LAMMPS_RATES["posix_disk_write_bytes"]


def test_only_series_with_data_are_available():
    names = [series.name for series in available(make_profile().slices)]
    assert "write_disk" in names
    assert "write_net" not in names
    assert names.index("mpi_share") == 0
    assert available({"rss": np.zeros((1, 3), dtype=np.int64)}) == []


def test_a_missing_metric_counts_as_zero():
    covered = np.full((1, 2), 10**9)
    assert job_series(series_named("flops"), {}, covered, 10**9).tolist() == [0, 0]


def test_unknown_series_is_named():
    with pytest.raises(KeyError, match="no series named 'luck'"):
        series_named("luck")
