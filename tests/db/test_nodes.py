"""Slices of nodes in the database: pruning. Loading is tested with the agent's files (tests/collector/agent/)."""

import re

from sqlalchemy import event

from crosswind.db import load_profile, node_queries, nodes, open_database, reading
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.db.partitions import WIDTHS_NS, list_partitions, partition_of
from crosswind.db.retention import detail_before, prune_detail
from crosswind.db.schema import BLOCK, GAP
from crosswind.db.server_queries import get_server_view
from crosswind.profile.model import Column
from support.profiles import make_profile

L = 4 * 10**9
FIRST = 430_000 * BLOCK
METRICS = [f"m{i}" for i in range(7)]


def test_old_blocks_go_and_young_ones_stay(engine, monkeypatch):
    monkeypatch.setattr(nodes, "_MOST_BLOCKS", 5)
    columns = {name: Column(9000 + i, name, "B", "counter") for i, name in enumerate(METRICS)}
    for node in ("n01", "n02"):
        rows = {FIRST + i * BLOCK: {(name, ""): 5 for name in METRICS} for i in range(3)}
        load_node_slices(engine, NodeSlices(node, "", L, columns, rows))
    before = (FIRST + 2 * BLOCK) * L  # the first two blocks have ended
    with reading(engine) as conn:
        planned = detail_before(conn, before)
    steps = list(prune_detail(engine, before))
    assert sum(step.n_bytes for step in steps) == planned.n_bytes > 0
    assert len(steps) == 6, "28 blocks, five at a time"
    with reading(engine) as conn:
        for node in node_queries.list_nodes(conn):
            series = node_queries.get_node_series(conn, node.key, None, FIRST, 3 * BLOCK, L)
            assert {name for name, _ in series} == set(METRICS)
            for values in series.values():
                assert values[2 * BLOCK] == 5
                assert (values[: 2 * BLOCK] == GAP).all()
    assert list(prune_detail(engine, before)) == []


def watch(engine, name, first):
    column = Column(9000, "m0", "B", "counter")
    rows = {first + i: {("m0", ""): 5} for i in range(10)}
    load_node_slices(engine, NodeSlices(name, "net", L, {"m0": column}, rows))


def test_a_server_of_another_time_is_no_gap(engine):
    """A decommissioned server does not make what is known of the others unknown for ever."""
    load_profile(engine, make_profile())
    watch(engine, "old", FIRST)
    watch(engine, "new", FIRST + BLOCK)
    with reading(engine) as conn:
        view = get_server_view(conn, "net", ["m0"], (FIRST + BLOCK) * L, (FIRST + BLOCK + 10) * L)
    assert set(view.servers) == {"new"}
    assert list(view.servers["new"]["m0"]) == [5] * 10


def test_pruning_looks_blocks_up_by_their_key(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/c.db")  # which says how it looks
    watch(engine, "n01", FIRST)
    said = []
    event.listen(engine, "before_cursor_execute", lambda *args: said.append((args[2], args[3])))
    list(prune_detail(engine, (FIRST + 2 * BLOCK) * L))
    statement, values = next(s for s in said if "FROM node_frame" in s[0] and s[0].startswith("SELECT"))
    with engine.connect() as conn:
        plan = str(conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())
    assert "SEARCH node_frame" in plan
    assert "TEMP B-TREE" not in plan
    engine.dispose()


def test_partitions_of_nodes_are_dropped_when_all_their_blocks_ended(postgresql):
    """A block that begins in a week and ends in the next keeps its week until it has ended."""
    week = WIDTHS_NS["node_frame"] // L
    begin = partition_of("node_frame", FIRST * L).end_ns // L
    for first in (begin + BLOCK, begin + week - 10, begin + 2 * week + BLOCK):
        watch(postgresql, "n01", first)
    with reading(postgresql) as conn:
        weeks = list_partitions(conn, "node_frame")
    assert len(weeks) == 2, "one of them has two blocks"
    assert [step.partitions for step in prune_detail(postgresql, (begin + week) * L) if step.partitions] == []
    later = (begin + week + 2 * BLOCK) * L
    with reading(postgresql) as conn:
        planned = detail_before(conn, later)
    steps = list(prune_detail(postgresql, later))
    assert sum(step.partitions for step in steps) == 1
    assert sum(step.n_bytes for step in steps) == planned.n_bytes > 0
    with reading(postgresql) as conn:
        left = list_partitions(conn, "node_frame")
        (node,) = node_queries.list_nodes(conn)
        found = node_queries.get_node_series(conn, node.key, None, begin + 2 * week + BLOCK, 10, L)
    assert set(left) < set(weeks)
    assert list(found["m0", ""]) == [5] * 10


def test_an_hour_of_nodes_is_found_without_the_years_before(engine):
    """By the key on SQLite; on PostgreSQL no partition of before is looked at."""
    for block in (0, 600, 1200):
        watch(engine, "n01", FIRST + block * BLOCK)
    sent = []
    event.listen(engine, "before_cursor_execute", lambda _c, _cursor, *words: sent.append(words[:2]))
    begin = (FIRST + 1200 * BLOCK) * L
    with reading(engine) as conn:
        (found,) = node_queries.each_node_sums(conn, [1], ["m0"], begin, begin + 10 * L)
        assert found.values["m0"].tolist() == [5] * 10
        (statement, parameters) = next(words for words in sent if "node_frame.data" in words[0])
        explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN"
        plan = str(conn.exec_driver_sql(f"{explain} {statement}", parameters).all())
    if engine.dialect.name == "sqlite":
        assert "start_ns>? AND start_ns<?" in plan
    else:
        assert len(set(re.findall(r" on (node_frame\w*)", plan))) == 1, plan


def test_an_agent_whose_slices_became_longer_is_read_on(engine):
    """The block of the longer ones began long before those of the shorter ones that it had until then."""
    column = Column(9000, "m0", "B", "counter")
    first = FIRST + 300  # within a block of 1 min slices, and late in one of 4 s
    at = first * L // (15 * L)
    for node in ("n01", "n02"):
        load_node_slices(engine, NodeSlices(node, "", L, {"m0": column}, {first - 5: {("m0", ""): 1}}))
        load_node_slices(engine, NodeSlices(node, "", 15 * L, {"m0": column}, {at + 20: {("m0", ""): 7}}))
    begin = (at + 20) * 15 * L
    with reading(engine) as conn:
        keys = [node.key for node in node_queries.list_nodes(conn)]
        found = list(node_queries.each_node_sums(conn, keys, ["m0"], begin, begin + 15 * L))
    assert [one.values["m0"].tolist() for one in found if one.slice_ns == 15 * L] == [[7], [7]]
