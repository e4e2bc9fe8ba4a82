"""Slices of nodes in the database: pruning. Loading is tested with the agent's files (tests/collector/agent/)."""

from crosswind.db import node_queries, nodes, reading
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.db.retention import detail_before, prune_detail
from crosswind.db.schema import BLOCK, GAP
from crosswind.profile.model import Column

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
