"""The series of a job as pages read them: against arithmetic on the profile that was loaded, whole and in parts."""

from dataclasses import replace

import numpy as np
import pytest

from crosswind.db import load_profile, open_database, queries, reading
from crosswind.profile.model import Process
from crosswind.web.jobdata import read_frames, read_series
from support.profiles import SLICE_NS, make_profile, make_writer

BANDS = ("total", "low", "median", "high")


@pytest.fixture
def engine(tmp_path):
    opened = open_database(f"sqlite:///{tmp_path}/jobs.db")
    yield opened
    opened.dispose()


def load(engine, profile):
    with reading(engine) as conn:
        assert queries.list_jobs(conn)[1] == 0
    key = load_profile(engine, profile).job_key
    with reading(engine) as conn:
        return queries.get_job(conn, key)


def with_launcher(profile):
    """The same with a process beside the ranks that writes a lot and was there for half of the first slice."""
    launcher = Process("node01", 1, None, "mpirun", 1000, 0, SLICE_NS, "clean")
    row = np.zeros(profile.n_slices, dtype=np.int64)
    covered = row.copy()
    covered[0] = SLICE_NS // 2
    wrote = row.copy()
    wrote[0] = 8_000_000_000
    return replace(
        profile,
        processes=(*profile.processes, launcher),
        covered_ns=np.vstack([profile.covered_ns, covered]),
        slices={
            name: np.vstack([v, wrote if name == "posix_disk_write_bytes" else row])
            for name, v in profile.slices.items()
        },
        totals={name: np.append(v, 0) for name, v in profile.totals.items()},
        functions={name: np.vstack([v, np.zeros((1, 4), dtype=np.int64)]) for name, v in profile.functions.items()},
        access={name: np.vstack([v, np.zeros_like(v[:1])]) for name, v in profile.access.items()},
        partial=np.append(profile.partial, False),
    )


def test_totals_are_of_all_and_the_spread_is_of_the_ranks(engine):
    profile = with_launcher(make_profile(n_ranks=5, n_slices=12, jitter=0.3, killed_rank=4))
    job = load(engine, profile)
    with reading(engine) as conn:
        series = read_series(conn, job)
    written = profile.slices["posix_disk_write_bytes"]
    np.testing.assert_allclose(series["write_disk"].total, written.sum(axis=0) / 4)
    per_rank = np.where(profile.covered_ns[:5] > 0, written[:5] / 4, np.nan)
    np.testing.assert_allclose(series["write_disk"].low, np.nanmin(per_rank, axis=0))
    np.testing.assert_allclose(series["write_disk"].median, np.nanmedian(per_rank, axis=0))
    np.testing.assert_allclose(series["write_disk"].high, np.nanmax(per_rank, axis=0))
    share = profile.slices["mpi_coll_all_to_all_time"][:5]
    np.testing.assert_allclose(series["coll_share"].total, share.sum(axis=0) / profile.covered_ns[:5].sum(axis=0))
    assert "flops" not in series


def test_a_range_is_a_piece_of_the_whole(engine):
    """Also at the ends of the job, where its processes were there for a part of a slice."""
    profile = make_profile(n_ranks=3, n_slices=30, jitter=0.3)
    profile.covered_ns[:, [0, -1]] //= 4
    job = load(engine, profile)
    with reading(engine) as conn:
        whole = read_series(conn, job)
        assert whole["cpu"].total[0] == pytest.approx(profile.slices["cpu_time"][:, 0].sum() / 1e9)
        for first, n in ((0, 7), (7, 1), (8, 22), (29, 5), (0, None), (12, None), (30, 4)):
            part = read_series(conn, job, first=first, n=n)
            assert part.keys() == whole.keys()
            end = 30 if n is None else first + n
            for name in whole:
                for band in BANDS:
                    expected = getattr(whole[name], band)[first:end]
                    np.testing.assert_allclose(getattr(part[name], band), expected, err_msg=f"{name} {band} {first}")


def test_only_what_was_asked_for_and_zeros_where_it_rests(engine):
    job = load(engine, make_writer())  # writes in slices 6 to 8
    with reading(engine) as conn:
        assert list(read_series(conn, job, names=["write_disk", "cpu", "no_such"])) == ["cpu", "write_disk"]
        quiet = read_series(conn, job, first=0, n=3, names=["write_disk"])["write_disk"]
        assert quiet.total.tolist() == quiet.high.tolist() == [0, 0, 0]


def test_pruned_jobs_have_none(engine):
    job = load(engine, make_writer())
    with engine.begin() as conn:
        for table in ("frame", "coverage"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
    with reading(engine) as conn:
        assert read_series(conn, job) == {}
        assert read_frames(conn, job).covered_ns.shape == (1, 15)
