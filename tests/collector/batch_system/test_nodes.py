"""Troubles of nodes as Slurm has them, as events."""

import json

import pytest

from crosswind.collector.batch_system import (
    UnreadableReport,
    note_nodes,
)
from crosswind.db.events import Event, store_events
from support.slurm_words import S, nodes, troubles


class TestNodes:
    """What sinfo says of nodes, as events."""

    def test_a_node_goes_down_and_comes_back(self, engine):
        note_nodes(engine, nodes(), 1000 * S)
        assert troubles(engine) == []
        for at in (1060, 1120):
            note_nodes(engine, nodes(down="down", reason="Not responding", since=1050), at * S)
            assert troubles(engine) == [("node_down", "n1", 1050, None, "Not responding")]
        note_nodes(engine, nodes(), 1180 * S)
        assert troubles(engine) == [("node_down", "n1", 1050, 1180, "Not responding")]
        note_nodes(engine, nodes(), 1240 * S)
        assert troubles(engine) == [("node_down", "n1", 1050, 1180, "Not responding")]

    def test_newer_versions_have_lists_and_wrapped_numbers(self, engine):
        row = {"name": "n1", "state": ["DOWN", "DRAIN"], "reason_changed_at": {"set": True, "number": 50}}
        note_nodes(engine, json.dumps({"nodes": [row]}).encode(), 60 * S)
        assert troubles(engine) == [("node_down", "n1", 50, None, "")]

    @pytest.mark.parametrize("reason", ["new disks", {"description": "new disks", "time": {"set": True, "number": 50}}])
    def test_the_newest_have_groups_of_nodes(self, engine, reason):
        """As Slurm 24.11 answers: under another name, and a node once for each partition that it is in."""
        groups = [
            {"node": {"state": state}, "nodes": {"total": 2, "nodes": names}, "reason": why, "partition": {"name": p}}
            for p in ("cpu", "all")
            for state, names, why in (
                (["IDLE", "DRAIN"], ["n1"], reason),
                (["DOWN"], ["n[2-3]"], ""),
                (["IDLE"], ["n4"], ""),
            )
        ]
        report = note_nodes(engine, json.dumps({"errors": [], "sinfo": groups}).encode(), 60 * S)
        since = 60 if reason == "new disks" else 50
        assert sorted(troubles(engine)) == [
            ("maintenance", "n1", since, None, "new disks"),
            ("node_down", "n2", 60, None, ""),
            ("node_down", "n3", 60, None, ""),
        ]
        assert (report.nodes, report.refused) == (3, [])
        note_nodes(engine, json.dumps({"sinfo": [groups[2] | {"nodes": {"nodes": ["n[1-4]"]}}]}).encode(), 120 * S)
        assert [end for *_, end, _ in troubles(engine)] == [120] * 3

    @pytest.mark.parametrize("group", [3, {}, {"nodes": 3}, {"node": {"state": []}, "nodes": {"nodes": ["n[1-"]}}])
    def test_a_bad_group_keeps_no_other_out(self, engine, group):
        good = {"node": {"state": ["DOWN"]}, "nodes": {"nodes": ["n1"]}, "reason": ""}
        answer = json.dumps({"sinfo": [group, good]}).encode()
        assert len(note_nodes(engine, answer, 1000 * S).refused) == 1
        assert [node for _, node, *_ in troubles(engine)] == ["n1"]

    def test_one_that_is_drained_is_in_maintenance(self, engine):
        note_nodes(engine, nodes(flags=["DRAIN"], reason="new disks", since=10), 20 * S)
        note_nodes(engine, nodes(down="down", flags=["DRAIN"], reason="new disks", since=30), 40 * S)
        assert troubles(engine) == [
            ("maintenance", "n1", 10, 40, "new disks"),
            ("node_down", "n1", 30, None, "new disks"),
        ]

    def test_a_node_that_slurm_no_longer_knows_stays_as_it_was(self, engine):
        note_nodes(engine, nodes(down="down"), 1000 * S)
        note_nodes(engine, b'{"nodes": []}', 2000 * S)
        assert [end for *_, end, _ in troubles(engine)] == [None]

    def test_the_events_of_others_are_left_alone(self, engine):
        store_events(engine, [Event("", "node_down", "n1", 5, source="alice", note="by hand")])
        note_nodes(engine, nodes(), 1000 * S)
        note_nodes(engine, nodes(), 1000 * S, cluster="red")
        assert [(end, note) for *_, end, note in troubles(engine)] == [(None, "by hand")]

    def test_a_time_to_come_is_no_begin(self, engine):
        note_nodes(engine, nodes(down="down", since=9000), 1000 * S)
        assert [start for _, _, start, *_ in troubles(engine)] == [1000]

    @pytest.mark.parametrize(
        "answer", [b"", b"[]", b"{}", b'{"nodes": 3}', b"\xff", b'{"nodes": [], "errors": [{"error": "down"}]}']
    )
    def test_what_is_no_answer_changes_nothing(self, engine, answer):
        note_nodes(engine, nodes(down="down"), 1000 * S)
        with pytest.raises(UnreadableReport):
            note_nodes(engine, answer, 2000 * S)
        assert len(troubles(engine)) == 1

    @pytest.mark.parametrize("row", [3, {}, {"name": "../x", "state": "down"}, {"name": "n" * 99, "state": "down"}])
    def test_a_bad_row_keeps_no_other_out(self, engine, row):
        answer = json.loads(nodes(down="down"))
        answer["nodes"].insert(0, row)
        assert len(note_nodes(engine, json.dumps(answer).encode(), 1000 * S).refused) == 1
        assert [node for _, node, *_ in troubles(engine)] == ["n1"]

    def test_a_reason_is_printable_and_short(self, engine):
        note_nodes(engine, nodes(down="down", reason="a\nb\x1b" + "x" * 9999), 1000 * S)
        ((*_, note),) = troubles(engine)
        assert note.isprintable()
        assert len(note) == 1024
