"""What pages ask of stored jobs is what the files say: the tables come back from the database as they were loaded."""

import pytest

from crosswind.analysis import cluster_view, compare, estimate
from crosswind.db import load_profile, open_database, queries, reading
from crosswind.profile.segments import SegmentTable
from support.profiles import make_profile

SLOW_MS = {i: 15.0 for i in range(200, 260)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[list[SegmentTable], list[SegmentTable]]:
    """The segments of two runs as made, and as read from a database."""
    profiles = [make_profile(job_id=f"job{len(slow)}", n_segments=1_000, slow_segments=slow) for slow in ({}, SLOW_MS)]
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('db')}/jobs.db")
    keys = [load_profile(engine, profile).job_key for profile in profiles]
    with reading(engine) as conn:
        stored = [queries.get_segments(conn, key) for key in keys]
    engine.dispose()
    return [profile.segments for profile in profiles], stored


def test_a_comparison_of_stored_jobs_is_that_of_their_files(runs):
    of_files, of_jobs = (compare(tables) for tables in runs)
    assert of_jobs.to_json(["quiet", "hit"]) == of_files.to_json(["quiet", "hit"])
    assert of_jobs.estimates[1].interference_s == pytest.approx(60 * 0.015, rel=0.02)


def test_clusters_of_a_stored_job_are_those_of_its_file(runs):
    of_files, of_jobs = (
        [view.to_json() for view in cluster_view(t, estimate(t))] for t in (tables[1] for tables in runs)
    )
    assert of_jobs == of_files
    assert set(SLOW_MS) == {number for view in of_jobs for number in view["hits"]["segment"]}
