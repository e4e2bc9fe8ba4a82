"""What others moved beside a run: the arithmetic, what agents' files give, and a disk that is really written to."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from crosswind.collector.agent.metrics import BY_NAME
from crosswind.db.nodes import NodeSlices
from crosswind.tools.experiment.agents import node_files, seen_by_agents
from crosswind.tools.experiment.outside import DiskWatch, beside_on_servers, is_disturbed
from crosswind.tools.experiment.records import Outside
from support.profiles import make_lammps

S = 10**9
MIB = 1 << 20


def server(written: dict[int, int], read: dict[int, int] | None = None, name: str = "s1") -> NodeSlices:
    """A server that moved so many bytes in these slices of a second."""
    columns = {name: BY_NAME[name] for name in ("nfsd_read_bytes", "nfsd_write_bytes")}
    rows = {
        k: {("nfsd_write_bytes", ""): value, ("nfsd_read_bytes", ""): (read or {}).get(k, 0)}
        for k, value in written.items()
    }
    return NodeSlices(name, "fs:net", S, columns, rows)


def job(written: int, read: int = 0):
    """A profile whose processes moved so much on network file systems."""
    profile = make_lammps()
    n = len(profile.processes)
    for name, value in (("posix_net_write_bytes", written), ("posix_net_read_bytes", read)):
        profile.totals[name] = profile.totals["cpu_time"] * 0 + value // n
    for name in [m for m in profile.totals if m.startswith("stdio_net_")]:
        profile.totals[name] *= 0
    return profile


def test_what_the_run_did_not_move_is_outside():
    n = len(job(0).processes)
    own = 60 * MIB // n * n
    found = beside_on_servers(
        [server(dict.fromkeys(range(100, 110), 10 * MIB))], [job(own)], "fs:net", 100 * S, 110 * S
    )
    assert found is not None
    assert (found.server_bytes, found.own_bytes) == (100 * MIB, own)
    assert found.outside_pct == pytest.approx(40, abs=0.01)
    assert found.source == "servers s1"


def test_reads_that_a_cache_answered_do_not_excuse_writes_of_others():
    seen = server(dict.fromkeys(range(10), 10 * MIB))
    found = beside_on_servers([seen], [job(0, read=1000 * MIB)], "fs:net", 0, 10 * S)
    assert found is not None
    assert found.outside_pct == pytest.approx(100)


def test_several_servers_are_summed_and_others_of_nodes_left_out():
    a, b = (server(dict.fromkeys(range(10), MIB), name=name) for name in ("s1", "s2"))
    node = NodeSlices("n1", "", S, a.columns, a.rows)
    found = beside_on_servers([a, b, node], [job(0)], "fs:net", 0, 10 * S)
    assert found is not None
    assert found.server_bytes == 20 * MIB


def test_a_disk_that_was_not_seen_in_a_slice_makes_it_a_gap():
    seen = server(dict.fromkeys(range(10), MIB))
    rows = {k: {**row, ("nfsd_write_bytes", "second"): MIB} if k < 5 else row for k, row in seen.rows.items()}
    half = NodeSlices("s1", "fs:net", S, seen.columns, rows)
    assert beside_on_servers([half], [job(0)], "fs:net", 0, 10 * S) is None


@pytest.mark.parametrize("slices", [[], range(5)])
def test_a_server_that_was_not_seen_tells_nothing(slices):
    assert beside_on_servers([server(dict.fromkeys(slices, MIB))], [job(0)], "fs:net", 0, 10 * S) is None


def test_no_server_tells_nothing():
    assert beside_on_servers([], [job(0)], "fs:net", 0, 10 * S) is None


@pytest.mark.parametrize(
    ("pct", "server_bytes", "limit", "disturbed"),
    [
        (11, 1000 * MIB, 10, True),
        (9, 1000 * MIB, 10, False),
        (11, 1000 * MIB, 0, False),  # 0: never
        (100, 9 * MIB, 10, False),  # less than 1 MiB a second disturbs nobody
        (100, 11 * MIB, 10, True),
    ],
)
def test_when_a_run_is_disturbed(pct, server_bytes, limit, disturbed):
    assert is_disturbed(Outside(server_bytes=server_bytes, own_bytes=0, outside_pct=pct), 10, limit) is disturbed


def test_what_cannot_be_told_is_no_disturbance():
    assert not is_disturbed(None, 10, 10)


def test_the_disk_under_a_directory_counts_what_is_really_written(tmp_path):
    watch = DiskWatch(tmp_path)
    if not watch.name:
        pytest.skip(f"{tmp_path} is on no disk of this machine: set TMPDIR to a directory that is")
    with (tmp_path / "beside").open("wb") as file:
        file.write(os.urandom(MIB) * 32)
        os.fsync(file.fileno())
    profile = make_lammps()
    for name in ("storage_read_bytes", "storage_write_bytes"):
        profile.totals.pop(name, None)
    found = watch.beside([profile])
    assert found is not None
    assert found.server_bytes >= 32 * MIB
    assert found.outside_pct == pytest.approx(100)
    assert found.source == f"disk {watch.name}"
    own = profile.totals["cpu_time"] * 0
    own[0] = 1 << 50  # more than any disk moves here: nothing is left for others
    profile.totals["storage_write_bytes"] = profile.totals["storage_read_bytes"] = own
    again = watch.beside([profile])
    assert again is not None
    assert again.outside_pct == 0


def test_a_file_system_in_memory_has_no_disk():
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here that can be written")
    assert DiskWatch(Path("/dev/shm")).beside([]) is None


def test_agents_files_give_the_slices_of_the_run_and_stay(tmp_path, node_file):
    node_file(tmp_path / "s1.xwn", 0, 100, S)
    (tmp_path / "broken.xwn").write_bytes(b"nonsense\n")
    (found,) = seen_by_agents(lambda: node_files([tmp_path]), 10 * S + 1, 20 * S)
    assert sorted(found.rows) == list(range(10, 20))
    assert (tmp_path / "s1.xwn").exists()


def test_it_waits_for_an_agent_that_has_not_come_to_the_end(tmp_path, node_file):
    length = S // 10
    last = time.time_ns() // length
    node_file(tmp_path / "a.xwn", last - 20, 18, length)
    looks = []

    def files():
        looks.append(time.time_ns())
        if len(looks) == 2:
            node_file(tmp_path / "b.xwn", last - 2, 3, length)
        return node_files([tmp_path])

    found = seen_by_agents(files, (last - 10) * length, last * length)
    assert len(looks) == 2
    assert {k for part in found for k in part.rows} == set(range(last - 10, last))
