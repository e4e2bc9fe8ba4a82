"""topology.conf: trees by hand, and everything that is none is a line with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.collector.batch_system import hostlist
from crosswind.collector.batch_system.topology import TopologyError, parse_topology, read_topology

TREE = """
# two leaves below one island, a third beside it
SwitchName=leaf1 Nodes=n[1-2],login1
switchname=leaf2 nodes=n3 LinkSpeed=100
SwitchName=leaf3 \\
    Nodes=n4
SwitchName=island Switches=leaf[1-2]
SwitchName=top Switches=island,leaf3   # the whole system
"""


def test_a_node_has_the_switches_above_it_from_the_nearest_on() -> None:
    assert parse_topology(TREE) == {
        "n1": ("leaf1", "island", "top"),
        "n2": ("leaf1", "island", "top"),
        "login1": ("leaf1", "island", "top"),
        "n3": ("leaf2", "island", "top"),
        "n4": ("leaf3", "top"),
    }
    assert parse_topology("") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Nodes=n1", "line 1: a line begins with SwitchName="),
        ("SwitchName=a", "switch a has neither Nodes= nor Switches="),
        ("SwitchName=a Nodes=n1 Nodes=n2", "line 1: Nodes=n2 is not understood"),
        ("\nBlockName=b1 Nodes=n1", "line 2: BlockName=b1 is not understood: write SwitchName="),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "line 2: switch a is described in line 1"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "node n1 is plugged into a and b"),
        ("SwitchName=a Switches=b", "line 1: switch b is described nowhere: add SwitchName=b"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "is above itself"),
        ("SwitchName=a Switches=a", "is above itself"),
        ("SwitchName=a[1-2] Nodes=n1", "the name of one switch"),
        ("SwitchName=a Nodes=n[1-", "line 1: this is no list of nodes"),
        ("SwitchName=a Nodes=n[1-999999999]", "more than 131072 nodes"),
        ("SwitchName=a Nodes=n[" + ",".join(["1-131072"] * 9) + "]", "more than 131072 nodes"),
        ("SwitchName=a Nodes=n[0-999][0-999]", "more than 131072 nodes"),
        ("SwitchName=" + "x" * 300 + " Nodes=n1", "the name of one switch"),
        ("SwitchName=a Nodes=" + "x" * 300, "longer than 256"),
        ("\n".join(f"SwitchName=s{i} Nodes=n{i}" for i in range(17_000)), "more than 16384 switches"),
        ("SwitchName=s0 Nodes=n\n" + "\n".join(f"SwitchName=s{i + 1} Switches=s{i}" for i in range(20)), "levels"),
    ],
)
def test_what_is_no_tree_is_refused_in_a_line(text: str, words: str) -> None:
    with pytest.raises(TopologyError) as refused:
        parse_topology(text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_bytes(b"SwitchName=\xff")
    with pytest.raises(TopologyError, match="is no text"):
        read_topology(file)
    file.write_bytes(b"#" * ((4 << 20) + 1))
    with pytest.raises(TopologyError, match="is larger than"):
        read_topology(file)


def test_ranges_are_bounded_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostlist, "MAX_HOSTS", 4)
    assert len(hostlist.expand("n[1-2,7-8]")) == 4
    with pytest.raises(ValueError, match="more than 4 nodes"):
        hostlist.expand("n[1-2,7-9]")
