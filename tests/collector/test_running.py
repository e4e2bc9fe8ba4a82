"""A running step that is read on and extended is in the database what it is when all of it is loaded, at every look."""

import os
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import event, select

from crosswind.analysis.series_bands import VERSION, summarize
from crosswind.collector.daemon import Daemon, Settings
from crosswind.collector.running import RunningSteps
from crosswind.db import frames, open_database, queries, reading, schema
from crosswind.db.connection import writing
from crosswind.db.topology import store_topology
from crosswind.profile.access import READ, WRITTEN
from support.databases import new_schema
from support.growing import CALLS, GrowingSpool
from support.spools import SLICE_NS, Short, SpoolBuilder

EDGE = 107_423 * 4096  # a slice at which blocks of any width begin
FIRST = EDGE - 6
METRICS = ("faults_minor", "rss", "cpu_time", "run_delay")


class Step:
    """Processes of another machine, and two databases: one is extended, the other always loaded whole."""

    def __init__(self, tmp_path, url, n=18):
        self.spool = tmp_path / "spool"
        self.spool.mkdir()
        self.now_ns = FIRST * SLICE_NS
        self.processes = [self.start(i) for i in range(n)]
        self.urls = [url, f"sqlite:///{tmp_path}/whole.db"]
        self.engines = [open_database(u) for u in self.urls]
        self.daemons = [self.collector(engine) for engine in self.engines]
        self.daemons[1]._running_steps.read_on = lambda *_: None
        self.rng = np.random.default_rng(1)

    def collector(self, engine):
        settings = Settings(live_share=1e9, budget_s=1e9)
        return Daemon([self.spool], engine, settings=settings, summarize=summarize, clock_ns=lambda: self.now_ns)

    def start(self, i, ranks=0, **changes):
        where = {"boot_id": "another", "host": f"n{i % 2}", "pid": 1000 + i, "start_ns": self.now_ns, "job_id": "7"}
        return GrowingSpool(self.spool, SpoolBuilder(**where | {"rank": -1, "ranks": ranks} | changes))

    def close(self, index, processes=None, metrics=METRICS):
        for process in self.processes if processes is None else processes:
            values = {name: int(v) for name, v in zip(metrics, self.rng.integers(0, 10**6, len(metrics)), strict=True)}
            process.grow(index, int(self.rng.integers(0, 99)), values)
        self.now_ns = (index + 1) * SLICE_NS + SLICE_NS // 8

    def look(self):
        """Both look; how many times the first one had to load the whole."""
        whole = []
        for daemon in self.daemons:
            with daemon_turns(daemon):
                daemon.look()
        return whole

    def check(self):
        with reading(self.engines[0]) as a, reading(self.engines[1]) as b:
            (left,), (right,) = (queries.list_jobs(conn)[0] for conn in (a, b))
            assert replace(left, lost={}) == replace(right, lost={}, key=left.key)
            one, two = (queries.get_profile(conn, job.key) for conn, job in ((a, left), (b, right)))
            rows = [one.processes.index(p) for p in two.processes]
            assert sorted(rows) == list(range(len(one.processes)))
            assert (one.first_slice, one.n_slices) == (two.first_slice, two.n_slices)
            np.testing.assert_array_equal(one.covered_ns[rows], two.covered_ns)
            for table in ("slices", "totals", "functions", "access"):
                mine, other = getattr(one, table), getattr(two, table)
                alive = {name for name, values in other.items() if values.any()}
                assert {name for name, values in mine.items() if values.any()} == alive
                for name in alive:
                    np.testing.assert_array_equal(mine[name][rows], other[name], err_msg=f"{table} {name}")
            names = queries.resources_of_job(b, right.key)
            assert queries.resources_of_job(a, left.key) == names
            for pair, values in queries.get_background(b, names, None, FIRST - 10, 99, SLICE_NS).items():
                found = queries.get_background(a, names, None, FIRST - 10, 99, SLICE_NS)[pair]
                np.testing.assert_array_equal(found, values, err_msg=str(pair))
            series = {"cpu": 0, "write_disk": 0, "posix_io_share": 1, "memory": 0}
            stored, expected = (queries.get_series(c, j.key, VERSION, series) for c, j in ((a, left), (b, right)))
            assert stored.alive == expected.alive
            for name in series:
                np.testing.assert_array_equal(stored.values[name], expected.values[name], err_msg=name)


class daemon_turns:
    """Each daemon follows the step as if it were alone: the turns of the other are no news to it."""

    def __init__(self, daemon):
        self.folder = next(iter(daemon.spools)) / "running"

    def __enter__(self):
        for turn in self.folder.glob("*") if self.folder.is_dir() else ():
            turn.unlink()

    def __exit__(self, *_):
        pass


@pytest.fixture(params=["sqlite", "postgresql"])
def step(request, tmp_path):
    url = f"sqlite:///{tmp_path}/read-on.db"
    if request.param == "postgresql":
        url = new_schema(request.getfixturevalue("postgresql_server"))
    made = Step(tmp_path, url)
    yield made
    for engine in made.engines:
        engine.dispose()


@pytest.fixture
def wholes(monkeypatch):
    """The refreshes in which a step was not read on, by the number of its files."""
    noted = []
    read_on = RunningSteps.read_on

    def note(self, key, paths, running):
        found = read_on(self, key, paths, running)
        if found is None:
            noted.append(len(paths))
        return found

    monkeypatch.setattr(RunningSteps, "read_on", note)
    return noted


def test_it_grows_over_the_edge_of_a_block(step, wholes):
    for k in range(14):
        step.close(FIRST + k)
        step.look()
        step.check()
    assert wholes == [18], "only the first look read the files whole"
    with reading(step.engines[0]) as conn:
        spans = frames.spans_of(conn, 1, frames.grid_of(conn, 1))
    assert [(s.first_slice, s.n_slices) for s in spans.values()] == [(FIRST, 6), (EDGE, 9)]


def test_processes_come_go_and_rest(step, wholes):
    """One ends, one is killed, others begin; a metric is zero at first; some looks miss several slices."""
    step.close(FIRST, metrics=())
    step.look()
    step.close(FIRST + 1)
    step.processes.pop().end(step.now_ns - SLICE_NS // 16)
    step.look()
    step.check()
    step.processes.pop()
    for k in range(2, 5):
        step.close(FIRST + k)
    step.processes += [step.start(30), step.start(31)]
    step.look()
    step.check()
    for k in range(5, 12):
        step.close(FIRST + k)
        if k % 2:
            step.look()
            step.check()
    assert wholes == [18]


def test_a_late_record_and_a_new_rank_are_loaded_whole(step, wholes):
    for k in range(2):
        step.close(FIRST + k)
        step.look()
    step.processes.append(step.start(40, ranks=1, rank=0))
    step.close(FIRST + 2)
    step.look()
    step.check()
    assert wholes == [18, 19]


def test_a_database_that_went_back_is_loaded_whole(step):
    """As after a restored backup: it lacks what the marks leave out."""
    for k in range(4):
        step.close(FIRST + k)
        step.look()
    with writing(step.engines[0]) as conn:
        for table in (schema.background, schema.frame, schema.job):
            conn.execute(table.delete())
    step.close(FIRST + 4)
    step.look()
    step.check()


def test_another_collector_goes_on(step, wholes):
    """It has no marks, so it reads the files whole once; what it loads is the same."""
    for k in range(8):
        step.close(FIRST + k)
        step.look()
        step.check()
        if k == 3:
            step.daemons[0] = step.collector(step.engines[0])
    assert wholes == [18, 18]


def test_only_the_last_block_is_written(step):
    for k in range(9):
        step.close(FIRST + k)
        step.look()
    starts = []

    def note(_conn, _cursor, statement, parameters, _context, many):
        if statement.startswith("INSERT INTO coverage"):
            starts.append(parameters)

    event.listen(step.engines[0], "before_cursor_execute", note)
    with reading(step.engines[0]) as conn:
        c = schema.coverage.c
        before = conn.execute(select(c.digest).order_by(c.start_ns)).scalars().all()
    step.close(FIRST + 9)
    step.look()
    event.remove(step.engines[0], "before_cursor_execute", note)
    with reading(step.engines[0]) as conn:
        after = conn.execute(select(c.digest).order_by(c.start_ns)).scalars().all()
    assert len(starts) == 1
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_the_end_of_the_step_is_as_if_it_had_never_been_read_on(step):
    for k in range(9):
        step.close(FIRST + k)
        step.look()
    for process in step.processes:
        process.end(step.now_ns)
    with reading(step.engines[0]) as conn:
        assert queries.get_frames(conn, 1)[f"{CALLS}_calls"].values.sum() == sum(
            sum(p.values.values()) for p in step.processes
        )
    step.daemons[1]._load = lambda *_: None  # the files can be taken once
    step.daemons[0].look()
    with reading(step.engines[0]) as conn:
        assert queries.get_job(conn, 1).state == "finished"
        assert queries.get_frames(conn, 1)[f"{CALLS}_calls"].values.sum() == sum(
            sum(p.values.values()) for p in step.processes
        )


def test_which_files_are_shared_is_what_all_processes_say(step, wholes):
    """One rests and one has ended, while the others go on: they share a file with these all the same."""
    shared, other = (identity << 8 | 1 << 3 for identity in (77, 78))
    users = [step.start(50 + i, files=(shared | READ,)) for i in range(4)]
    step.processes += users
    step.close(FIRST)
    users[3].end(step.now_ns - SLICE_NS // 16)
    step.look()
    step.check()
    del step.processes[-1]
    others = [process for process in step.processes if process not in users]
    for k in range(1, 4):
        step.close(FIRST + k, [*others, users[0]])
        step.look()
        step.check()
    assert wholes == [22], "nobody opened anything"
    for k, (user, word) in enumerate(((users[0], other | READ), (users[1], other | WRITTEN)), 4):
        user.use(word)
        step.close(FIRST + k, [*others, user])
        step.look()
        step.check()
    assert wholes == [22, 22, 22]


def test_an_image_that_exec_replaced_has_ended(step, wholes):
    step.close(FIRST)
    step.look()
    step.processes[3] = step.start(3, exe="sh")
    step.close(FIRST + 1)
    step.look()
    step.check()
    assert wholes == [18, 19]


def test_short_processes_of_before_are_not_read_again(step, wholes):
    """A script copies its input, then a program runs for a day. When it starts something again all is read, once."""
    log = step.spool / "7.0.u0.1.xwl"
    builder = SpoolBuilder(boot_id="another", host="n0", pid=99, start_ns=FIRST * SLICE_NS, job_id="7")
    shorts = [Short("cp", FIRST * SLICE_NS + i, 10**6, {f"{CALLS}_calls": 3}) for i in range(4)]
    for k in range(9):
        if k in (0, 5):
            log.write_bytes(builder.build_short_log(shorts[: 2 if k == 0 else 4]))
        if k in (1, 7):  # before that its last record was written a moment ago
            os.utime(log, (1e9 + k, 1e9 + k))
        step.close(FIRST + k)
        step.look()
        step.check()
    with reading(step.engines[0]) as conn:
        total = sum(sum(process.values.values()) for process in step.processes) + 4 * 3
        assert queries.get_frames(conn, 1)[f"{CALLS}_calls"].values.sum() == total
        assert sum(p.count for p in queries.get_processes(conn, 1)) == 18 + 4
    assert wholes == [19] * 5, "looks 0, 1, and 5, 6, 7"


def test_nodes_that_move_meanwhile(step, wholes):
    """What a step adds to the load on a switch goes to the one that it was below when it was first loaded."""
    metrics = (*METRICS, "posix_sock_write_bytes")
    for engine in step.engines:
        store_topology(engine, {"n0": ["s1"], "n1": ["s2"]})
    for k in range(9):
        if k == 3:
            for engine in step.engines:
                store_topology(engine, {"n0": ["s2"], "n1": ["s1"], "n2": ["s1"]})
            step.processes.append(step.start(60, host="n2"))
        step.close(FIRST + k, metrics=metrics)
        step.look()
        step.check()
    assert wholes == [18]
    with reading(step.engines[0]) as conn:
        profile = queries.get_profile(conn, 1)
        hosts = [p.host for p in profile.processes]
        for host, switch in (("n0", "s1"), ("n1", "s2")):
            sums = queries.get_background(conn, [f"net:switch@{switch}"], None, FIRST, 9, SLICE_NS)
            own = profile.slices[metrics[-1]][[name == host for name in hosts]].sum(axis=0)
            np.testing.assert_array_equal(sums[f"net:switch@{switch}", metrics[-1]], own[:9])
