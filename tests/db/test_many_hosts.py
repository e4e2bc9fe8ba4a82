"""Jobs of more hosts than a statement has parameters: 32 766 on SQLite, 65 535 on PostgreSQL."""

import time

import numpy as np
import pytest
from sqlalchemy import event, insert, select

from crosswind.db import load_profile, queries, reading, schema
from crosswind.db.connection import writing
from crosswind.db.crowd import crowd_of
from crosswind.db.events import Event, events_between, store_events
from crosswind.db.names import resource_ids
from crosswind.db.node_queries import node_slice_lengths, nodes_named
from crosswind.db.one_of import one_of
from crosswind.db.scope import JobScope
from support.profiles import SLICE_NS, make_profile, make_writer

HOSTS = [f"wide{n:05}" for n in range(70_000)]


@pytest.fixture
def job(engine):
    """A job on node01, which others used, too."""
    load_profile(engine, make_profile(job_id="2", n_ranks=2, n_slices=20))
    key = load_profile(engine, make_writer(job_id="1")).job_key
    with reading(engine) as conn:
        return queries.get_job(conn, key)


def test_the_background_of_all_its_hosts(engine, job):
    """What is there of the few that anybody used, and zeros of the others."""
    with reading(engine) as conn:
        of_job = queries.resources_of_job(conn, job.key)
        few = queries.get_background_sum(conn, of_job, None, job.first_slice, job.n_slices, SLICE_NS)
        names = [*of_job, *(f"cpu@{host}" for host in HOSTS)]
        begin = time.monotonic()
        many = queries.get_background_sum(conn, names, None, job.first_slice, job.n_slices, SLICE_NS)
        assert time.monotonic() - begin < 20
    assert few["cpu_time"].any()
    for metric, values in few.items():
        np.testing.assert_array_equal(many[metric], values, err_msg=metric)


def test_who_else_was_on_its_hosts(engine, job):
    with reading(engine) as conn:
        of_job = queries.resources_of_job(conn, job.key)
        names = [*of_job, *(f"cpu@{host}" for host in HOSTS)]
        span = (job.first_slice, job.n_slices, SLICE_NS)
        assert queries.shared_names(conn, job, names) == queries.shared_names(conn, job, of_job) != frozenset()
        few, many = (crowd_of(conn, JobScope(user="nobody"), some, *span) for some in (of_job, names))
        np.testing.assert_array_equal(few.together, many.together)
        assert few.together.any()


def test_its_watched_nodes_and_events(engine):
    with writing(engine) as conn:
        rows = [{"key": i, "cluster": "", "name": HOSTS[n], "serves": "", "first_ns": 0, "last_ns": 1}
                for i, n in ((1, 0), (2, 69_999))]  # fmt: skip
        conn.execute(insert(schema.node), rows)
    store_events(engine, [Event("", "reboot", HOSTS[-1], 5, 6), Event("", "reboot", "another", 5, 6)])
    with reading(engine) as conn:
        assert [node.name for node in nodes_named(conn, "", HOSTS)] == [HOSTS[0], HOSTS[-1]]
        assert node_slice_lengths(conn, range(1, 70_001), 0, 10) == []
        assert [event.place for event in events_between(conn, 0, 10, places=HOSTS)] == [HOSTS[-1]]


def test_its_resources_are_numbered(engine):
    with writing(engine) as conn:
        numbers = resource_ids(conn, HOSTS)
    assert numbers.keys() == set(HOSTS)
    assert len(set(numbers.values())) == len(HOSTS)
    with reading(engine) as conn:
        assert queries.resource_ids(conn, HOSTS) == numbers


class TestOneOf:
    """Short lists and long ones, of texts and numbers."""

    @pytest.mark.parametrize("n", [0, 1, 1000, 1001, 70_000])
    def test_any_length(self, engine, n):
        with writing(engine) as conn:
            conn.execute(insert(schema.resource), [{"name": name} for name in (HOSTS[0], 'o"d\\d\u00e9', "x")])
        names = [*HOSTS[: max(n - 1, 0)], *['o"d\\d\u00e9'][:n]]
        found = select(schema.resource.c.name).where(one_of(schema.resource.c.name, names))
        numbers = select(schema.resource.c.name).where(one_of(schema.resource.c.id, range(2, n + 2)))
        with reading(engine) as conn:
            assert set(conn.execute(found).scalars()) == {HOSTS[0], 'o"d\\d\u00e9', "x"} & set(names)
            assert len(conn.execute(numbers).all()) == min(n, 2)

    def test_a_long_list_is_looked_up_by_the_index(self, engine):
        query = select(schema.resource.c.id).where(one_of(schema.resource.c.name, HOSTS[:2000]))
        with writing(engine) as conn:
            conn.execute(insert(schema.resource), [{"name": name} for name in HOSTS])
        sent = []
        event.listen(engine, "before_cursor_execute", lambda _c, _cursor, *words: sent.append(words[:2]))
        with reading(engine) as conn:
            assert len(conn.execute(query).all()) == 2000
            statement, parameters = sent[-1]
            explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
            if engine.dialect.name == "postgresql":
                conn.exec_driver_sql("SET LOCAL enable_seqscan = off")  # is there an index at all?
            plan = str(conn.exec_driver_sql(f"{explain} {statement}", parameters).all())
        assert "uq_resource_name" in plan or "autoindex_resource_1" in plan, plan
