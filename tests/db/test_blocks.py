"""Slices in blocks: what is read of them is what was loaded, whatever the cut; old databases' one block a job too."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sqlalchemy import event, func, select, update

from crosswind.analysis import SERIES
from crosswind.analysis.series_bands import VERSION, series_bands, summarize, zero_row
from crosswind.db import frames, load_profile, queries, reading, schema
from crosswind.db.codec import encode_ints
from crosswind.db.connection import writing
from crosswind.db.job_blocks import Span, assembled, cut, width_of
from crosswind.db.summaries import LEAST_PROCESSES
from crosswind.db.summary_fill import fill_summaries
from support.profiles import make_profile, part_of

from .comparing import assert_same_profile

EDGE = 107_423 * 4096  # a slice at which blocks of any width begin
NAMES = {series.name: zero_row(series) for series in SERIES}


def wide(**changes):
    """Sixteen ranks over two blocks; the first ends a slice early, half are gone in the second, one is asleep."""
    profile = make_profile(n_ranks=16, n_slices=40, first_slice=EDGE - 10, jitter=0.3, **changes)
    profile.covered_ns[8:, 30:] = 0
    profile.covered_ns[:, 20] = 0
    for name, values in profile.slices.items():
        values[profile.covered_ns == 0] = 0
        if name.startswith("posix_disk"):
            values[:, :25] = 0
        if name == "mpi_p2p_calls":
            values[:, 10:] = 0
    profile.covered_ns[:, [0, -1]] //= 2
    return profile


@pytest.mark.parametrize("n_processes", [1, 16, 33, 512, 1000, 100_000])
def test_blocks_have_no_gaps_and_align(n_processes):
    width = width_of(n_processes)
    assert 64 <= width <= 4096
    assert width == 64 or width * n_processes <= 1 << 17
    spans = list(cut(EDGE - 5, 10_000, n_processes))
    assert spans[0].first_slice == EDGE - 5
    for one, following in pairwise(spans):
        assert one.first_slice + one.n_slices == following.first_slice
        assert following.first_slice % width == 0
    assert spans[-1].first_slice + spans[-1].n_slices == EDGE - 5 + 10_000
    assert list(cut(7, 0, n_processes)) == []


@pytest.mark.parametrize(("first", "n"), [(0, None), (0, 10), (9, 2), (10, 1), (12, 20), (39, 5), (40, 1)])
def test_what_comes_back_is_what_was_loaded(engine, first, n):
    profile = wide()
    key = load_profile(engine, profile).job_key
    end = min(40, 40 if n is None else first + n)
    with reading(engine) as conn:
        assert conn.execute(select(func.count()).select_from(schema.coverage)).scalar_one() == 2
        assert_same_profile(queries.get_profile(conn, key), profile)
        found = queries.get_frames(conn, key, None, first, n)
        assert found.keys() == {name for name, values in profile.slices.items() if values.any()}
        for name, frame in found.items():
            np.testing.assert_array_equal(frame.values, profile.slices[name][:, first:end], err_msg=name)
        np.testing.assert_array_equal(queries.get_covered(conn, key, first, n), profile.covered_ns[:, first:end])
        for name, values in frames.each_frame(conn, key):
            np.testing.assert_array_equal(values, profile.slices[name])
        rows = np.array([0, 3, 15])
        for name, values in frames.each_frame(conn, key, rows=rows):
            np.testing.assert_array_equal(values, profile.slices[name][rows])
        np.testing.assert_array_equal(
            queries.get_covered(conn, key, first, n, rows=slice(9, 10)), profile.covered_ns[9:10, first:end]
        )


@pytest.mark.parametrize("rows", [slice(0, 1), slice(2, 4), slice(4, 5), slice(5, 9), np.array([0, 2, 4])])
@pytest.mark.parametrize(("first", "n"), [(0, 7), (1, 2), (2, 5), (3, 4)])
def test_some_processes_are_those_of_all(rows, first, n):
    """Also those that came after the first block, and of a block that they all are in."""
    random = np.random.default_rng(1)
    spans = (Span(0, 3, 3), Span(3, 4, 5))
    blobs = {s: encode_ints(random.integers(0, 1 << 40, (s.n_processes, s.n_slices))) for s in spans}
    whole = assembled(blobs, 5, first, n)
    assert whole.any()
    np.testing.assert_array_equal(assembled(blobs, 5, first, n, rows), whole[rows])


@pytest.mark.parametrize(("first", "n"), [(0, None), (3, 5), (9, 3), (15, 20), (38, 9)])
def test_summaries_are_what_the_frames_say(engine, first, n):
    profile = wide()
    key = load_profile(engine, profile, summarize=summarize).job_key
    here = slice(first, None if n is None else first + n)
    ranks = np.array([p.rank is not None for p in profile.processes])
    with reading(engine) as conn:
        sums = queries.get_sums(conn, key, None, first, n)
        stored = queries.get_series(conn, key, VERSION, NAMES, first, n)
        few = queries.get_sums(conn, key, ["cpu_time", "no_such"], first, n)
    for name, values in profile.slices.items():
        expected = values.sum(axis=0)[here]
        np.testing.assert_array_equal(sums.get(name, np.zeros_like(expected)), expected, err_msg=name)
    assert list(few) == ["cpu_time"]
    assert {"write_disk", "p2p_calls", "cpu", "memory"} <= stored.alive < NAMES.keys()
    for series in SERIES:
        bands = series_bands(series, profile.slices, profile.covered_ns, ranks, profile.slice_ns)
        for row, band in enumerate(("total", "low", "median", "high")):
            expected = getattr(bands, band)[here]
            np.testing.assert_allclose(stored.values[series.name][row], expected, rtol=1e-6, err_msg=series.name)


def test_a_zoom_reads_no_more_than_it_shows(engine):
    key = load_profile(engine, wide(), summarize=summarize).job_key
    read = []

    def note(_conn, _cursor, statement, parameters, _context, _many):
        read.append(statement)

    with reading(engine) as conn:
        event.listen(engine, "before_cursor_execute", note)
        queries.get_series(conn, key, VERSION, NAMES, 12, 3)
        event.remove(engine, "before_cursor_execute", note)
        bands = [statement for statement in read if "summary.bands" in statement]
    assert len(bands) == 1
    assert "BETWEEN" in bands[0]


def test_another_definition_or_a_missing_block_is_noticed(engine):
    key = load_profile(engine, wide(), summarize=summarize).job_key
    with reading(engine) as conn:
        assert queries.get_series(conn, key, VERSION, NAMES) is not None
        assert queries.get_series(conn, key, VERSION + 1, NAMES) is None
    with writing(engine) as conn:
        second = EDGE * 4_000_000_000
        conn.execute(schema.summary.delete().where(schema.summary.c.start_ns == second))
    with reading(engine) as conn:
        assert queries.get_series(conn, key, VERSION, NAMES) is None
        assert queries.get_sums(conn, key) is None
        assert queries.get_sums(conn, key, None, 0, 5) is not None, "the blocks of the range are there"


def test_narrow_jobs_and_loaders_without_series_have_none(engine):
    narrow = make_profile(n_ranks=LEAST_PROCESSES - 1, job_id="1")
    keys = [load_profile(engine, narrow, summarize=summarize).job_key, load_profile(engine, wide()).job_key]
    with reading(engine) as conn:
        assert [queries.get_series(conn, key, VERSION, NAMES) for key in keys] == [None, None]
        assert [queries.get_sums(conn, key) is None for key in keys] == [True, False]


def test_parts_in_any_order_leave_the_same_blocks(engine):
    """Two nodes' parts of a job, of which one begins weeks before the other ends: whole blocks of both, and no more."""
    whole = wide()
    for part in (part_of(whole, range(8, 16)), part_of(whole, range(8)), part_of(whole, range(8, 16))):
        key = load_profile(engine, part, summarize=summarize).job_key
    with reading(engine) as conn:
        spans = frames.spans_of(conn, key, frames.grid_of(conn, key))
        assert [(s.first_slice, s.n_slices, s.n_processes) for s in spans.values()] == [
            (EDGE - 10, 10, 16),
            (EDGE, 30, 16),
        ]
        found = queries.get_sums(conn, key)
    for name, values in found.items():
        np.testing.assert_array_equal(values, whole.slices[name].sum(axis=0))


def test_a_part_far_from_the_other_finds_its_partition(engine):
    """Together they have blocks in weeks in which neither has any alone."""
    first, last = (
        make_profile(first_slice=at, n_slices=3, n_ranks=1, hosts=(host,), jitter=0.1)
        for at, host in ((EDGE - 400_000, "n1"), (EDGE + 2, "n2"))
    )
    load_profile(engine, first)
    last = replace(last, processes=tuple(replace(p, pid=77, host="n2") for p in last.processes))
    key = load_profile(engine, last).job_key
    with reading(engine) as conn:
        found = queries.get_frames(conn, key, ["cpu_time"])["cpu_time"].values
        assert found.shape == (2, 400_005)
        assert found.sum() == first.slices["cpu_time"].sum() + last.slices["cpu_time"].sum()


def test_one_block_of_an_old_database_is_read_like_any_other(engine):
    """As a migration leaves it: one block with no digest and no summary."""
    profile = make_profile(n_ranks=2, n_slices=40, first_slice=EDGE - 10, jitter=0.3)
    key = load_profile(engine, profile).job_key
    with reading(engine) as conn:
        blobs = frames.frame_blobs(conn, key, frames.spans_of(conn, key, frames.grid_of(conn, key)))
    assert all(len(spans) == 2 for spans in blobs.values())
    one = replace(profile, first_slice=EDGE)  # lies in one block; then it is moved to where it was
    key = load_profile(engine, replace(one, job=replace(one.job, id="old"))).job_key
    with writing(engine) as conn:
        begin = (EDGE - 10) * profile.slice_ns
        for table in (schema.frame, schema.coverage):
            conn.execute(update(table).where(table.c.job_key == key).values(start_ns=begin))
        conn.execute(update(schema.coverage).where(schema.coverage.c.job_key == key).values(digest=""))
        conn.execute(update(schema.job).where(schema.job.c.key == key).values(first_slice=EDGE - 10))
    with reading(engine) as conn:
        found = queries.get_frames(conn, key, None, 5, 20)
    for name, frame in found.items():
        np.testing.assert_array_equal(frame.values, profile.slices[name][:, 5:25])


def test_missing_summaries_are_filled_in(engine):
    """As those of a job that was loaded by an older version: then they are what the loader makes."""
    key = load_profile(engine, wide(), summarize=summarize).job_key
    with reading(engine) as conn:
        expected = queries.get_series(conn, key, VERSION, NAMES)
    with writing(engine) as conn:
        conn.execute(schema.summary.delete().where(schema.summary.c.start_ns == EDGE * 4_000_000_000))
        conn.execute(update(schema.summary).values(version=VERSION + 7))
    assert fill_summaries(engine, key, VERSION, summarize) == 2
    assert fill_summaries(engine, key, VERSION, summarize) == 0
    with reading(engine) as conn:
        found = queries.get_series(conn, key, VERSION, NAMES)
    assert found.alive == expected.alive
    for name, values in expected.values.items():
        np.testing.assert_array_equal(found.values[name], values)
