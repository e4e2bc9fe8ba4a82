"""The background is the sum over all jobs, whatever they are: against plain NumPy sums over the profiles."""

import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from crosswind.db import bulk, codec, load_profile, open_database, queries, reading, resources, schema
from crosswind.db.background import add_block, blocks_of
from crosswind.profile.metrics import BY_NAME
from crosswind.profile.model import Column
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile, make_writer

BLOCK = schema.BLOCK
RATES = {
    "cpu_time": 9e8,
    "rss": 1e6,
    "posix_disk_write_bytes": 3e7,
    "mpi_p2p_bytes_out": 5e6,
    "posix_net_read_bytes": 1e5,
}


def background(engine, names, first, n, slice_ns=SLICE_NS, metrics=None):
    with reading(engine) as conn:
        return queries.get_background(conn, names, metrics, first, n, slice_ns)


jobs = st.lists(
    st.builds(
        dict,
        job_id=st.sampled_from(["1", "2", "3", "4"]),
        n_ranks=st.integers(1, 4),
        n_slices=st.integers(1, 40),
        first_slice=st.integers(BLOCK * 400_000 - 50, BLOCK * 400_000 + 50),  # around the end of a block
        hosts=st.sampled_from([("a",), ("b",), ("a", "b")]),
        seed=st.integers(0, 99),
    ),
    max_size=6,
    unique_by=lambda job: job["job_id"],
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(jobs=jobs, window=st.tuples(st.integers(-120, 120), st.integers(0, 200)))
def test_background_is_the_sum_over_all_jobs(jobs, window):
    profiles = [make_profile(rates=RATES, functions={}, jitter=0.5, **job) for job in jobs]
    first, n = BLOCK * 400_000 + window[0], window[1]
    names = ["fs:net", "net", *(f"{kind}@{host}" for kind in ("fs:disk", "mem", "cpu") for host in "ab")]
    with tempfile.TemporaryDirectory() as folder:
        engine = open_database(f"sqlite:///{folder}/c.db")
        for profile in profiles:
            load_profile(engine, profile)
        got = background(engine, names, first, n)
        engine.dispose()
    assert got.keys() == {(name, metric) for name in names for metric in resources.metrics_of(name)}
    for (name, metric), values in got.items():
        expected = np.zeros(n, dtype=np.int64)
        host = name.partition("@")[2]
        for p in profiles:
            for row, process in enumerate(p.processes):
                if metric in p.slices and host in ("", process.host):
                    for j in range(p.n_slices):
                        if 0 <= p.first_slice + j - first < n:
                            expected[p.first_slice + j - first] += p.slices[metric][row, j]
        np.testing.assert_array_equal(values, expected, err_msg=f"{name} {metric}")


def test_what_is_left_without_ones_own_share_is_the_other_job(engine):
    own, other = make_lammps(), make_writer()
    load_profile(engine, own)
    load_profile(engine, other)
    got = background(engine, ["fs:disk@node01"], own.first_slice, own.n_slices)
    hosts = [p.host for p in own.processes]
    share = resources.share_of("fs:disk@node01", own.slices["posix_disk_write_bytes"], hosts)
    np.testing.assert_array_equal(
        got["fs:disk@node01", "posix_disk_write_bytes"] - share, other.slices["posix_disk_write_bytes"][0]
    )


def test_nothing_remains_of_what_is_taken_back(engine):
    """A version without I/O replaces one with: its blocks are gone, not zero."""
    load_profile(engine, make_profile(n_slices=3000, rates={"posix_disk_write_bytes": 1e6}, functions={}))
    load_profile(engine, make_profile(n_slices=3000, rates={"cpu_time": 1e9}, functions={}))
    with reading(engine) as conn:
        left = schema.metric.c.id.in_(select(schema.background.c.metric_id))
        metrics = conn.execute(select(schema.metric.c.name).where(left)).scalars().all()
    assert metrics == ["cpu_time"]


def test_sums_of_jobs_with_slices_of_other_lengths(engine):
    """1 s, 4 s and 6 s slices on a grid of 2 s: exact where boundaries agree, within one unit a slice elsewhere, sums
    kept.
    """
    start = 1_760_000_040  # seconds; a multiple of 1, 2, 4 and 6
    for i, seconds in enumerate((1, 4, 6)):
        load_profile(
            engine,
            make_profile(
                job_id=str(i), n_ranks=1, slice_ns=seconds * 10**9,
                first_slice=start // seconds, n_slices=24 // seconds,
                rates={"cpu_time": 1_000_001 * (i + 1), "rss": 1000 * (i + 1)}, functions={},
            ),
        )  # fmt: skip
    got = background(engine, ["cpu@node01", "mem@node01"], start // 2 - 5, 25, 2 * 10**9)
    cpu, rss = got["cpu@node01", "cpu_time"], got["mem@node01", "rss"]
    assert cpu.sum() == sum(1_000_001 * (i + 1) * 24 for i in range(3))
    np.testing.assert_allclose(cpu[5:17], 2 * 1_000_001 * 6, atol=1)
    np.testing.assert_array_equal(rss[5:17], 6000)
    assert not cpu[:5].any()
    assert not cpu[17:].any()


def test_a_job_with_slices_of_a_day_does_not_have_all_blocks_read(engine, monkeypatch):
    """Its blocks span years, so whether one overlaps is asked of each block and not of the longest."""
    for i in range(6):
        load_profile(engine, make_profile(job_id=str(i), first_slice=FIRST_SLICE - i * 5 * BLOCK, functions={}))
    day = 86400 * 10**9
    load_profile(engine, make_profile(job_id="day", slice_ns=day, first_slice=20_000, n_slices=2, functions={}))
    decoded = []
    decode = codec.decode_ints
    monkeypatch.setattr(codec, "decode_ints", lambda *args: decoded.append(1) or decode(*args))
    background(engine, ["net"], FIRST_SLICE, 15, metrics=["mpi_p2p_bytes_out"])
    assert len(decoded) <= 2
    decoded.clear()
    span = bulk.TimeSpan(FIRST_SLICE * SLICE_NS, (FIRST_SLICE + 15) * SLICE_NS)
    with reading(engine) as conn:
        found = [b for b in bulk.blocks_between(conn, span) if (b.resource, b.metric) == ("net", "mpi_p2p_bytes_out")]
    assert len(found) <= 2


@given(
    first=st.integers(0, 5000),
    n=st.integers(1, 60),
    slice_ns=st.integers(1, 50),
    start=st.integers(0, 2000),
    source_ns=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_counters_on_other_slices_against_counting_units_of_time(first, n, slice_ns, start, source_ns, seed):
    """With source_ns units in every source slice, one falls into each ns, so counting ns is the truth."""
    block = np.random.default_rng(seed).integers(0, 3, 16) * source_ns
    out = np.zeros(n, dtype=np.int64)
    add_block(out, first, slice_ns, block, start * source_ns, source_ns, gauge=False)
    per_ns = np.repeat(block // source_ns, source_ns)
    expected = np.zeros(n, dtype=np.int64)
    for t, value in enumerate(per_ns, start * source_ns):
        if first <= t // slice_ns < first + n:
            expected[t // slice_ns - first] += value
    np.testing.assert_array_equal(out, expected)


def test_gauge_on_other_slices_is_the_value_at_their_end():
    block = np.arange(1, 9, dtype=np.int64)
    out = np.zeros(6, dtype=np.int64)
    add_block(out, 0, 30, block, 0, 20, gauge=True)
    np.testing.assert_array_equal(out, [block[29 // 20], block[59 // 20], block[89 // 20], block[119 // 20], 8, 0])


@given(st.integers(0, 5 * BLOCK), st.lists(st.integers(-5, 5), max_size=50), st.integers(1, 80))
def test_blocks_put_together_are_the_values(first, few, times):
    values = np.array(few * times, dtype=np.int64)
    whole = np.zeros(12 * BLOCK, dtype=np.int64)
    for number, block in blocks_of(values, first):
        assert block.any()
        whole[number * BLOCK : (number + 1) * BLOCK] += block
    np.testing.assert_array_equal(whole[first : first + values.size], values)
    assert whole.sum() == values.sum()


def test_absurd_values_of_one_user_do_not_stay_in_the_sums(engine):
    """Sums wrap and unwrap: when the absurd version is replaced, the background is exact again."""
    absurd = make_profile(rates={"cpu_time": 1e9}, functions={}, n_ranks=4)
    absurd.slices["cpu_time"][:] = (1 << 63) - 1
    honest = make_profile(job_id="2", rates={"cpu_time": 1e9}, functions={})
    load_profile(engine, honest)
    load_profile(engine, absurd)
    better = make_profile(rates={"cpu_time": 1e9}, functions={}, n_ranks=4)
    load_profile(engine, better)
    got = background(engine, ["cpu@node01"], honest.first_slice, honest.n_slices)
    np.testing.assert_array_equal(
        got["cpu@node01", "cpu_time"], (honest.slices["cpu_time"].sum(axis=0) + better.slices["cpu_time"].sum(axis=0))
    )


def test_the_table_of_resources_names_real_metrics_once():
    for kind, metrics in resources.FEEDS.items():
        assert set(metrics) <= BY_NAME.keys(), kind
        assert len(set(metrics)) == len(metrics), kind
    assert BY_NAME["rss"].kind == "gauge"
    every = [m for kind, metrics in resources.FEEDS.items() if kind not in resources.PLACED for m in metrics]
    assert len(set(every)) == len(every), "a count that feeds two resources"


def test_the_shares_of_all_resources_at_once_are_those_of_each():
    """Hosts in any order, on switches that are known for some, with sums that wrap round."""
    rng = np.random.default_rng(3)
    hosts = [f"n{i}" for i in rng.integers(0, 40, 300)]
    values = rng.integers(-(1 << 63), 1 << 63, (300, 17), dtype=np.int64)
    switches = {f"n{i}": f"s{i // 8}" for i in range(30)}
    for place in (resources.NOWHERE, resources.Place(switches, "normal")):
        for kind in resources.FEEDS:
            names, users = resources.used_by(kind, hosts, place)
            assert names == resources.resource_names(kind, hosts, place)
            if names:
                shares = resources.shares_of_all(values, users)
                for name, share in zip(names, shares, strict=True):
                    np.testing.assert_array_equal(share, resources.share_of(name, values, hosts, place), err_msg=name)
            else:
                assert not (users >= 0).any()


def test_what_a_job_of_many_hosts_adds_takes_time_in_proportion_to_them(engine, monkeypatch):
    """Each host has resources of its own: a process is asked for its place some times, not once for each of them."""
    asked = []
    place_in = resources._place_in
    monkeypatch.setattr(resources, "_place_in", lambda *words: asked.append(1) or place_in(*words))
    load_profile(engine, make_writer(hosts=tuple(f"w{i:04}" for i in range(300)), n_ranks=300, n_slices=15))
    assert 0 < len(asked) < 40 * 300


@pytest.mark.parametrize("name", ["", "fs", "fs:disk", "cpu@", "net@node01", "fs:net@", "mem", "disk@a"])
def test_unknown_resources_are_errors(engine, name):
    with pytest.raises(KeyError, match="no shared resource"):
        background(engine, [name], 0, 1)


@pytest.mark.parametrize(
    ("first", "n", "length"), [(-1, 5, 1), (0, -1, 1), (0, 1 << 23, 1), (0, 5, 0), (1 << 62, 5, 9)]
)
def test_impossible_ranges_are_errors(engine, first, n, length):
    with pytest.raises(ValueError, match="no background of"):
        background(engine, ["net"], first, n, length)


def test_a_metric_of_another_unit_or_kind_keeps_its_own_row(engine):
    """Someone's file calls rss a counter: the rows of the honest metric stay what they are."""
    honest = make_profile(rates={"rss": 1000}, functions={})
    columns = tuple(Column(c.id, c.name, "B", "counter") if c.name == "rss" else c for c in honest.columns)
    load_profile(engine, honest)
    odd = make_profile(job_id="2", rates={"rss": 1000}, functions={})
    load_profile(engine, type(odd)(**{**odd.__dict__, "columns": columns}))
    got = background(engine, ["mem@node01"], honest.first_slice * 2, honest.n_slices * 2, SLICE_NS // 2)
    assert set(got["mem@node01", "rss"]) == {3000}, "2 x 1000 by the gauge, 2 x 500 by the counter"
