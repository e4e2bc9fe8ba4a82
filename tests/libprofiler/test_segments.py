"""The store of segments and its reader, against raw rows, programs that count themselves, and the thesis's way."""

import os
import random
import subprocess

import numpy as np
import pytest

from crosswind.profile import merge_directory, read_spool
from crosswind.profile.metrics import SEGMENT_FIELDS
from support import mpi_runs
from support.preload import PROGRAMS

NAMES = [name for name, _, _ in SEGMENT_FIELDS]
ROW = np.dtype(
    [(name, "<u8") for name in ("world", "site", "count", "start_tick")]
    + [(name, "<u4") for name in ("function", "signature", "ended_by_site", "padding")]
    + [("value", "<u8", (len(NAMES),))]
)
EXACT = [i for i, name in enumerate(NAMES) if name.endswith(("_calls", "_bytes"))]
PRECISE = [i for i, name in enumerate(NAMES) if name in ("cpu_time", "instructions", "flops")]
SAME, ALTERNATING, RARE, DISTINCT = range(4)  # the programs of segment_feed.h
LARGEST = 1 << 59


def feed(spool, *arguments, **settings):
    """Run segment_feed. Returns its spool file, and what it printed: bytes in blocks, segments lost, ns a segment."""
    spool.mkdir(exist_ok=True)
    before = set(spool.glob("*.xws"))
    command = [PROGRAMS / "segment_feed", spool, *map(str, arguments)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROSSWIND_")} | settings
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=100)
    (path,) = set(spool.glob("*.xws")) - before
    return path, [float(number) for number in done.stdout.split()]


def store(spool, rows):
    """What a reader finds of raw rows."""
    (spool.parent / "rows").write_bytes(rows.tobytes())
    path, (_, lost, _) = feed(spool, "rows", spool.parent / "rows")
    file = read_spool(path)
    assert lost == 0
    assert not file.problems
    return file.segments


def make_rows(values, signature, start_tick=10**9):
    """Rows of segments that follow each other, from [row, field] in ticks and ns."""
    rows = np.zeros(len(values), dtype=ROW)
    rows["world"] = np.arange(len(values))
    rows["count"] = 1
    rows["value"] = values
    duration = np.minimum(values[:, 0], 1 << 40)
    rows["start_tick"] = start_tick + np.cumsum(duration) - duration
    rows["signature"] = signature
    return rows


def consistent(values):
    """The duration is at least what the calls in it took."""
    values[:, 0] += values[:, 1:4].sum(axis=1, dtype=np.uint64)
    return values


def random_values(rng, n):
    """All orders of magnitude."""
    values = rng.integers(0, 1 << 62, (n, len(NAMES)), dtype=np.uint64) >> rng.integers(4, 62, (n, len(NAMES))).astype(
        "u8"
    )
    values[:, :4] >>= np.uint64(3)
    return consistent(values)


def steady_values(rng, n, spread=0.02):
    """A program of 1 ms steps with some noise."""
    values = np.zeros((n, len(NAMES)))
    values[:, :6] = [2e6, 2e5, 1e5, 0, 9e5, 3e6] * rng.lognormal(0, spread, (n, 6))
    values[:, EXACT] = [24, 40000, 1, 48, 0, 0]
    return consistent(values.astype(np.uint64))


def sequences():
    rng = np.random.default_rng(2026)
    n = 3000
    yield "random", random_values(rng, n), rng.integers(0, 5, n)
    yield "steady", steady_values(rng, n), np.zeros(n)
    yield "alternating", steady_values(rng, n) * (1 + 9 * (np.arange(n)[:, None] % 2)).astype("u8"), np.arange(n) % 2
    rare = steady_values(rng, n)
    rare[::97] *= np.uint64(10**6)
    yield "rare long phases", rare, (np.arange(n) % 97 == 0)
    outliers = steady_values(rng, n)
    outliers[rng.random((n, len(NAMES))) < 0.01] <<= np.uint64(25)
    outliers[:, 0] = outliers[:, 0].clip(outliers[:, 1:4].sum(axis=1))
    yield "outliers", outliers, np.zeros(n)
    yield "zeros", np.zeros((n, len(NAMES)), dtype=np.uint64), np.zeros(n)
    yield "no two alike", steady_values(rng, n, 1.0), np.arange(n)
    waiting = steady_values(rng, n)  # a small computation between long waits
    waiting[:, 2] *= np.uint64(1000)
    waiting[:, 0] = waiting[:, 1:4].sum(axis=1) + rng.integers(1000, 2000, n).astype("u8")
    yield "waiting", waiting, np.zeros(n)


def relative_error(found, exact):
    return np.abs(found - exact) / np.maximum(exact, 1)


@pytest.mark.parametrize(("values", "signature"), [s[1:] for s in sequences()], ids=[s[0] for s in sequences()])
def test_what_is_read_is_what_was_stored(tmp_path, values, signature):
    rows = make_rows(values, signature)
    log = store(tmp_path / "spool", rows)
    np.testing.assert_array_equal(log.begin >> 31, rows["world"])
    np.testing.assert_array_equal(log.end >> 31, rows["world"] + 1)
    np.testing.assert_array_equal(log.signature, rows["signature"])
    np.testing.assert_array_equal(log.values[:, EXACT], np.minimum(values[:, EXACT], LARGEST - 1))
    exact = np.minimum(values, LARGEST - 1).astype(np.float64)
    assert relative_error(log.values, exact)[:, :4].max() <= 1 / 256
    assert np.all(np.abs(log.values - exact)[:, PRECISE] <= exact[:, PRECISE] / 4096 + 1.5)
    computation, computed = (v[:, 0] - v[:, 1:4].sum(axis=1) for v in (exact, log.values.astype(np.float64)))
    assert np.all(np.abs(computed - computation) <= computation / 4096 + 1e-9 * exact[:, 0])
    off_ns = np.abs(log.begin_tick - rows["start_tick"].astype(np.int64)) / 2
    assert off_ns.max() <= 1_000_000 or exact[:, 0].max() > 1 << 40


def halved(values, most=256):
    """The thesis's section 5.2.3: divide all values by two until there are at most 256 different ones."""
    times = 0
    while np.unique(values >> np.uint64(times)).size > most:
        times += 1
    return values >> np.uint64(times) << np.uint64(times)


def test_small_values_are_not_lost_as_in_the_thesis(tmp_path):
    """One step in twenty is a checkpoint that takes a thousand times longer: a unit for all is one for the large."""
    rng = np.random.default_rng(5)
    values = steady_values(rng, 20_000, spread=0.1)
    values[::20] *= np.uint64(1000)
    log = store(tmp_path / "spool", make_rows(values, np.zeros(len(values))))
    exact = values[:, 0].astype(np.float64)
    small = np.arange(len(values)) % 20 != 0
    ours = relative_error(log.values[:, 0], exact)
    thesis = relative_error(halved(values[:, 0]).astype(np.float64), exact)
    for name, error in (("ours", ours), ("halving", thesis)):
        print(f"{name}: small steps {np.median(error[small]):.5f} {error[small].max():.5f}, all {error.max():.5f}")
    assert ours.max() <= 0.01
    assert np.median(thesis[small]) > 0.5


@pytest.mark.parametrize("program", [SAME, ALTERNATING, RARE, DISTINCT])
def test_days_at_a_high_rate_stay_bounded(tmp_path, program):
    """A day at 700 a second, as fast as it can be fed: the thinned-out log is bounded, and complete."""
    n = 60_480_000 if program == SAME else 20_000_000
    path, (block_bytes, lost, ns) = feed(tmp_path / "spool", program, n)
    log = read_spool(path).segments
    print(f"program {program}: {block_bytes / 1e6:.2f} MB, {len(log)} rows, {ns:.0f} ns a segment")
    assert lost == 0
    assert block_bytes < 6e6
    assert path.stat().st_size < 9e6
    assert log.values[:, NAMES.index("coll_calls")].sum() == n
    np.testing.assert_array_equal(log.begin[1:], log.end[:-1])
    assert log.end[-1] >> 31 == n
    duration = log.values[:, 0]
    assert log.begin_tick[-1] + duration[-1] == pytest.approx(log.begin_tick[0] + duration.sum(), rel=0.004)


def test_ranks_at_different_levels_align_and_say_at_which_stride(tmp_path):
    spool = tmp_path / "spool"
    n = 600_000
    for rank, program in enumerate((SAME, DISTINCT)):
        feed(spool, program, n, CROSSWIND_RANK=str(rank), CROSSWIND_RANKS="2")
    fine, coarse = (read_spool(path).segments for path in sorted(spool.glob("*.xws"), key=lambda p: read_spool(p).rank))
    assert fine.count.max() < coarse.count.max()
    (profile,) = merge_directory(spool)
    table = profile.segments
    assert table.valid.all()
    np.testing.assert_array_equal(table.index[1:], table.index[:-1] + table.stride[:-1])
    assert table.index[0] == 0
    assert table.stride.sum() == n
    assert table.stride.max() == coarse.count.max()
    assert table.stride.min() == 1
    np.testing.assert_array_equal(table.columns["coll_calls"], np.broadcast_to(table.stride, (2, table.n_segments)))


@pytest.mark.parametrize("mpi", mpi_runs.MPIS)
def test_no_finished_segment_is_lost_at_a_kill(mpi, tmp_path):
    rng, truth = random.Random(11), tmp_path / "truth"
    for i in range(8):
        truth.write_bytes(bytes(4096))
        life_us = int(rng.uniform(20_000, 600_000))
        spool = tmp_path / f"spool-{i}"
        command = [mpi_runs.program("segments_target", mpi), truth, str(life_us)]
        done = mpi_runs.run(mpi, [mpi_runs.Part(2, command)], spool)
        finished = np.frombuffer(truth.read_bytes(), dtype=np.uint64)[:16:8].astype(int)
        assert set(done.spools) == {0, 1}
        for rank, file in done.spools.items():
            assert not file.lost, file.lost
            # It may have died between its cut and its note.
            assert finished[rank] <= file.segments.count.sum() <= finished[rank] + 1
            np.testing.assert_array_equal(file.segments.begin[1:], file.segments.end[:-1])
