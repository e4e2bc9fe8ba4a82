"""From counters to slices: gaps are gaps. And the agent's file: torn, damaged, hostile, loaded again."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from crosswind.collector.agent import load, run
from crosswind.collector.agent.boot import Boot, read_boot
from crosswind.collector.agent.load import collect_nodes, load_and_log
from crosswind.collector.agent.nodefile import NodeWriter, read_node_file
from crosswind.collector.agent.run import Agent, wait_until
from crosswind.collector.agent.sample import Slice, Snapshot, slice_between
from crosswind.collector.daemon import Daemon
from crosswind.db import node_queries, reading
from crosswind.db.events import events_between
from crosswind.db.schema import BLOCK, GAP
from crosswind.profile.errors import FormatError

L = 4 * 10**9
K = 440_000_000 // BLOCK * BLOCK + BLOCK - 2  # the second last slice of a block
USER, DIRTY, RX = ("cpu_user", ""), ("mem_dirty", ""), ("net_rx_bytes", "eth0")
HEADER = {"node": "n01", "slice_ns": L, "serves": ""}


def snapshot(boundary, late_ns=0, **changes):
    return Snapshot(boundary, boundary * L + late_ns, {USER: 1000, DIRTY: 7, RX: 50} | changes.get("values", {}))


class TestSliceBetween:
    def test_counters_have_their_difference_and_gauges_their_value(self):
        piece = slice_between(snapshot(K), snapshot(K + 1, values={USER: 1500, DIRTY: 3}), L)
        assert (piece.number, piece.begin_ns, piece.end_ns) == (K, K * L, (K + 1) * L)
        assert piece.values == {USER: 500, DIRTY: 3, RX: 0}

    def test_a_counter_that_was_reset_has_no_value(self):
        piece = slice_between(snapshot(K), snapshot(K + 1, values={RX: 49}), L)
        assert piece.values == {USER: 0, DIRTY: 7}

    def test_a_counter_that_is_new_has_no_value_yet_and_one_that_went_none_any_more(self):
        before = Snapshot(K, K * L, {USER: 1, RX: 1})
        after = Snapshot(K + 1, (K + 1) * L, {USER: 2, DIRTY: 1, ("net_rx_bytes", "eth1"): 900})
        assert slice_between(before, after, L).values == {USER: 1, DIRTY: 1}

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (snapshot(K), snapshot(K + 2)),  # a boundary was missed
            (snapshot(K), snapshot(K)),
            (snapshot(K + 1), snapshot(K)),  # the clock was set back
            (snapshot(K, late_ns=L // 3), snapshot(K + 1)),
            (snapshot(K), snapshot(K + 1, late_ns=L // 3)),
            (snapshot(K), snapshot(K + 1, late_ns=-1)),
        ],
    )
    def test_what_is_no_slice_is_a_gap(self, before, after):
        assert slice_between(before, after, L) is None


class TestWait:
    def test_wakes_at_the_boundary_and_never_before(self):
        length = 50_000_000
        for _ in range(5):
            boundary = wait_until(run.next_boundary(length), length, threading.Event())
            assert 0 <= time.time_ns() - boundary * length < length

    def test_follows_a_clock_that_is_set_back(self, monkeypatch):
        times = iter([100 * L - 1, 50 * L - 5, 50 * L + 1])
        monkeypatch.setattr(run.time, "time_ns", lambda: next(times))
        stop = threading.Event()
        monkeypatch.setattr(stop, "wait", lambda _: False)
        assert wait_until(100, L, stop) == 50

    def test_ends_when_told(self):
        stop = threading.Event()
        stop.set()
        assert wait_until(run.next_boundary(L), L, stop) is None


def rows(n, first=K, start=0):
    return [Slice(first + i, (first + i) * L, (first + i + 1) * L, {USER: start + i, RX: 10 * i}) for i in range(n)]


def written(tmp_path, pieces, end=True, name="a.xwn", header=HEADER):
    path = tmp_path / name
    writer = NodeWriter(path, header)
    for piece in pieces:
        writer.append(piece)
    if end:
        writer.close()
    else:
        writer.abandon()
    return path


class TestFile:
    def test_what_was_written_is_read(self, tmp_path):
        pieces = [*rows(2), Slice(K + 2, 0, 1, {USER: 9, DIRTY: 4})]
        file = read_node_file(written(tmp_path, pieces).read_bytes())
        assert file.slices.rows == {piece.number: piece.values for piece in pieces}
        assert (file.slices.node, file.slices.slice_ns, file.ended, file.damaged) == ("n01", L, True, 0)

    def test_cut_anywhere_all_whole_slices_are_there(self, tmp_path):
        data = written(tmp_path, rows(3)).read_bytes()
        header = data.index(b"\n") + 1
        ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
        for cut in range(header, len(data)):
            file = read_node_file(data[:cut])
            whole = sum(end <= cut for end in ends) - 2  # without the header and the series
            assert len(file.slices.rows) == min(max(whole, 0), 3)
            assert not file.ended
            assert file.damaged == 0

    def test_a_damaged_line_costs_itself_only(self, tmp_path):
        data = bytearray(written(tmp_path, rows(3)).read_bytes())
        data[data.index(b'"slice"') + 12] ^= 1
        file = read_node_file(bytes(data))
        assert (sorted(file.slices.rows), file.damaged) == ([K + 1, K + 2], 1)

    @pytest.mark.parametrize(
        "records",
        [
            [],
            [{"node": "n01", "slice_ns": L, "version": 2}],
            [{"node": "", "slice_ns": L, "version": 1}],
            [{"node": "n" * 300, "slice_ns": L, "version": 1}],
            [{"node": "n", "slice_ns": 0, "version": 1}],
            [{"node": "n", "slice_ns": True, "version": 1}],
            [{**HEADER, "version": 1}, {"slice": 1, "v": [1]}],
            [{**HEADER, "version": 1}, {"series": "x"}],
            [{**HEADER, "version": 1}, {"series": [["a"]]}],
            [{**HEADER, "version": 1}, {"series": [["cpu_user", 3]]}],
            [{**HEADER, "version": 1}, {"series": [USER]}, {"slice": -1, "v": [1]}],
            [{**HEADER, "version": 1}, {"series": [USER]}, {"slice": 1, "v": [-1]}],
            [{**HEADER, "version": 1}, {"series": [USER]}, {"slice": 1, "v": [1 << 63]}],
            [{**HEADER, "version": 1}, {"series": [USER]}, {"slice": 1, "v": ["1"]}],
            [{**HEADER, "version": 1}, {"series": [USER]}, {"slice": 1.5, "v": [1]}],
        ],
    )
    def test_the_impossible_is_refused(self, records):
        texts = [json.dumps(record).encode() for record in records]
        with pytest.raises(FormatError):
            read_node_file(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))

    def test_metrics_of_a_newer_agent_are_left_out(self, tmp_path):
        pieces = [Slice(K, 0, 1, {USER: 1, ("warp_drive", ""): 2})]
        assert read_node_file(written(tmp_path, pieces).read_bytes()).slices.rows == {K: {USER: 1}}


class TestLoad:
    def series(self, engine, n=6, metrics=None):
        with reading(engine) as conn:
            (node,) = node_queries.list_nodes(conn)
            return node, node_queries.get_node_series(conn, node.key, metrics, K - 1, n, L)

    def test_slices_over_two_blocks(self, engine, tmp_path):
        written(tmp_path, rows(4, start=1))
        report = collect_nodes([tmp_path], engine)
        assert (report.nodes, report.slices, report.removed, report.refused) == ({"n01"}, 4, 1, [])
        node, series = self.series(engine)
        assert (node.name, node.first_ns, node.last_ns) == ("n01", K * L, (K + 4) * L)
        assert series[USER].tolist() == [GAP, 1, 2, 3, 4, GAP]
        assert series[RX].tolist() == [GAP, 0, 10, 20, 30, GAP]
        assert DIRTY not in series
        assert list(tmp_path.glob("*.xwn")) == []

    def test_a_growing_file_is_loaded_again_and_again_and_nothing_doubles(self, engine, tmp_path):
        path = tmp_path / "a.xwn"
        writer = NodeWriter(path, HEADER)
        for piece in rows(4, start=1):
            writer.append(piece)
            assert collect_nodes([tmp_path], engine).removed == 0
        writer.close()
        copy = path.read_bytes()
        assert collect_nodes([tmp_path], engine).removed == 1
        path.write_bytes(copy)
        collect_nodes([tmp_path], engine)
        assert self.series(engine)[1][USER].tolist() == [GAP, 1, 2, 3, 4, GAP]

    def test_any_order_and_overlap_give_the_same(self, engine, tmp_path):
        for name, pieces in (("c", rows(4)[3:]), ("a", rows(2)), ("b", rows(4)[1:3])):
            written(tmp_path, pieces, name=f"{name}.xwn")
            collect_nodes([tmp_path], engine)
        assert self.series(engine)[1][USER].tolist() == [GAP, 0, 1, 2, 3, GAP]

    def test_a_file_that_no_longer_grows_counts_as_ended(self, engine, tmp_path):
        path = written(tmp_path, rows(2), end=False)
        assert collect_nodes([tmp_path], engine).removed == 0
        os.utime(path, (0, 0))
        assert collect_nodes([tmp_path], engine).removed == 1

    def test_the_daemon_loads_them_too(self, engine, tmp_path):
        written(tmp_path, rows(4, start=1))
        Daemon([tmp_path], engine).look()
        assert self.series(engine)[1][USER].tolist() == [GAP, 1, 2, 3, 4, GAP]
        assert list(tmp_path.glob("*.xwn")) == []

    def test_bad_files_are_set_aside_and_the_rest_is_loaded(self, engine, tmp_path):
        written(tmp_path, rows(2), name="good.xwn")
        (tmp_path / "bad.xwn").write_text("what\n")
        written(tmp_path, [Slice(1 << 40, 0, 1, {USER: 1})], name="future.xwn")
        (tmp_path / "link.xwn").symlink_to(tmp_path / "good.xwn")
        report = collect_nodes([tmp_path], engine)
        assert [Path(path).name for path, _ in report.refused] == ["bad.xwn", "future.xwn"]
        assert report.slices == 2
        assert (tmp_path / "refused" / "bad.xwn").exists()
        assert collect_nodes([tmp_path], engine).refused == []

    def test_a_daemon_reads_only_what_changed_for_a_bounded_time(self, engine, tmp_path, monkeypatch):
        a, b = (written(tmp_path, rows(2), name=f"{name}.xwn", end=False) for name in "ab")
        read, reads, loaded = load._read, [], {}
        monkeypatch.setattr(load, "_read", lambda path: reads.append(path.name) or read(path))
        for look in (["a.xwn", "b.xwn"], []):
            reads.clear()
            load_and_log(tmp_path, engine, loaded=loaded)
            assert reads == look
        for path in (b, a):
            os.utime(path, (time.time() - 1, time.time() - 1))
        monkeypatch.setattr(load, "LOOK_S", 0.0)
        for _ in range(2):
            load_and_log(tmp_path, engine, loaded=loaded)
        assert len(reads) <= 2
        b.unlink()
        monkeypatch.setattr(load, "LOOK_S", 10.0)
        load_and_log(tmp_path, engine, loaded=loaded)
        assert list(loaded) == [a]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user: run the tests as root")
    def test_a_flood_of_others_files_is_not_opened(self, engine, tmp_path, monkeypatch):
        for i in range(20):
            (tmp_path / f"{i}.xwn").touch()
            os.chown(tmp_path / f"{i}.xwn", 65534, 65534)
        written(tmp_path, rows(2), name="z.xwn")
        monkeypatch.setattr(load, "MAX_NODE_FILES", 1)
        reads, read = [], load._read
        monkeypatch.setattr(load, "_read", lambda path: reads.append(path.name) or read(path))
        assert collect_nodes([tmp_path], engine).slices == 2
        assert reads == ["z.xwn"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user: run the tests as root")
    def test_nobody_else_can_speak_for_a_node(self, engine, tmp_path):
        path = written(tmp_path, rows(2))
        os.chown(path, 65534, 65534)
        assert collect_nodes([tmp_path], engine).slices == 0
        assert path.exists()

    def test_each_boot_is_one_event_however_often_its_files_are_loaded(self, engine, tmp_path):
        boots = [f"{n:08x}-0000-4000-8000-000000000000" for n in (1, 2)]
        for n, (boot, at_s) in enumerate([(boots[0], 1000), (boots[0], 1001), (boots[1], 5000), (boots[1], 5000)]):
            header = HEADER | {"boot_id": boot, "booted_ns": at_s * 10**9}
            written(tmp_path, rows(1, first=K - n), name=f"{n}.xwn", header=header)
            collect_nodes([tmp_path], engine, cluster="c")
        with reading(engine) as conn:
            found = events_between(conn, 0, 10**18)
        assert [(e.cluster, e.kind, e.place, e.start_ns // 10**9, e.note) for e in found] == [
            ("c", "reboot", "n01", 1000, f"boot {boots[0]}"),
            ("c", "reboot", "n01", 5000, f"boot {boots[1]}"),
        ]

    @pytest.mark.parametrize(
        "said",
        [{}, {"boot_id": "x"}, {"boot_id": 7, "booted_ns": 1}, {"boot_id": "<b>", "booted_ns": 1},
         {"boot_id": "00000001-0000-4000-8000-000000000000", "booted_ns": -1},
         {"boot_id": "00000001-0000-4000-8000-000000000000", "booted_ns": True}],
    )  # fmt: skip
    def test_a_header_without_a_boot_tells_of_none(self, engine, tmp_path, said):
        written(tmp_path, rows(1), header=HEADER | said)
        assert collect_nodes([tmp_path], engine).slices == 1
        with reading(engine) as conn:
            assert events_between(conn, 0, 10**18) == []

    def test_the_newest_says_what_the_node_serves(self, engine, tmp_path):
        written(tmp_path, rows(2), header=HEADER | {"serves": "fs:net"})
        collect_nodes([tmp_path], engine)
        assert self.series(engine)[0].serves == "fs:net"
        written(tmp_path, rows(1), header=HEADER)
        collect_nodes([tmp_path], engine)
        assert self.series(engine)[0].serves == "fs:net", "an older file changes nothing"
        written(tmp_path, [*rows(1), Slice(K + 7, 0, 1, {USER: 1})], header=HEADER | {"serves": "no such"})
        assert len(collect_nodes([tmp_path], engine).refused) == 1


class TestAgent:
    LENGTH = 100_000_000

    def test_a_killed_agent_loses_only_the_open_slice(self, engine, tmp_path):
        code = (
            "import sys, threading; from pathlib import Path; from crosswind.collector.agent.run import Agent\n"
            f"Agent(Path(sys.argv[1]), 'n01', {self.LENGTH}, sources=('cpu',)).run(threading.Event())"
        )
        begun = time.time_ns()
        agents = []
        for _ in range(3):  # killed and started again
            agents.append(subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]))
            until = time.monotonic() + 30
            while sum(f.stat().st_size > 1500 for f in tmp_path.glob("*.xwn")) < len(agents):
                assert time.monotonic() < until
                time.sleep(0.02)
            agents[-1].send_signal(signal.SIGKILL)
            agents[-1].wait()
        span = (time.time_ns() - begun) // self.LENGTH
        n_lines = sum(f.read_text().count('"slice":') for f in tmp_path.glob("*.xwn"))
        collect_nodes([tmp_path], engine)
        with reading(engine) as conn:
            (node,) = node_queries.list_nodes(conn)
            first = node.first_ns // self.LENGTH
            series = node_queries.get_node_series(conn, node.key, ["cpu_idle"], first, span, self.LENGTH)
        known = series["cpu_idle", ""] != GAP
        assert known.sum() == n_lines >= 15
        assert np.count_nonzero(np.diff(known.astype(int)) == 1) >= 1, "gaps where no agent ran"

    def test_stops_cleanly(self, tmp_path):
        stop = threading.Event()
        thread = threading.Thread(target=Agent(tmp_path, "n01", self.LENGTH, sources=("cpu",)).run, args=(stop,))
        thread.start()
        while not list(tmp_path.iterdir()):
            time.sleep(0.02)
        stop.set()
        thread.join()
        (path,) = tmp_path.iterdir()
        assert read_node_file(path.read_bytes()).ended

    def test_a_file_ends_with_its_block_or_when_it_is_full(self, tmp_path, monkeypatch):
        agent = Agent(tmp_path, "n01", L, sources=("memory",), max_slices=3)
        clock = iter((K + i) * L for i in range(12))
        monkeypatch.setattr(run.time, "time_ns", lambda: next(clock))
        for i in range(10):
            agent.sample(K + i)
        agent.close()
        files = [read_node_file(path.read_bytes()) for path in sorted(tmp_path.iterdir())]
        assert sorted(sorted(file.slices.rows) for file in files) == [
            [K, K + 1], [K + 2, K + 3, K + 4], [K + 5, K + 6, K + 7], [K + 8],
        ]  # fmt: skip
        assert all(file.ended for file in files)

    def test_goes_on_in_a_new_file_when_its_own_was_taken_away(self, tmp_path, monkeypatch):
        agent = Agent(tmp_path, "n01", L, sources=("memory",))
        clock = iter((K + i) * L for i in range(4))
        monkeypatch.setattr(run.time, "time_ns", lambda: next(clock))
        agent.sample(K)
        agent.sample(K + 1)
        next(tmp_path.iterdir()).unlink()
        agent.sample(K + 2)
        assert [sorted(read_node_file(p.read_bytes()).slices.rows) for p in tmp_path.iterdir()] == [[K + 1]]

    def test_its_files_tell_of_the_nodes_boot(self, tmp_path):
        for name, content in {"proc/sys/kernel/random/boot_id": "0" * 8 + "-0000-4000-8000-" + "0" * 12 + "\n",
                              "proc/stat": "cpu 1 2 3\nbtime 1700000000\n"}.items():  # fmt: skip
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        agent = Agent(tmp_path, "n01", L, root=tmp_path)
        agent._write(Slice(K, 0, 1, {USER: 1}))
        agent.close()
        (path,) = tmp_path.glob("*.xwn")
        boot = Boot("00000000-0000-4000-8000-000000000000", 1_700_000_000 * 10**9)
        assert read_node_file(path.read_bytes()).boot == boot

    def test_this_machine_booted_when_its_uptime_says(self):
        boot = read_boot(Path("/"))
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
        assert abs(time.time() - uptime_s - boot.booted_ns / 1e9) < 5
        assert boot.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def test_files_that_a_collector_takes_away_meanwhile_are_no_error(self, tmp_path, monkeypatch):
        for n in range(3):
            (tmp_path / f"{n}.xwn").write_bytes(b"x" * 100)
        unlink = os.unlink

        def gone(path):
            unlink(path)
            raise FileNotFoundError

        monkeypatch.setattr(os, "unlink", gone)
        assert run._keep_below(tmp_path, 150) == 0
        assert len(list(tmp_path.glob("*.xwn"))) == 1

    def test_files_that_nobody_loads_are_bounded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(run, "MAX_SPOOL", 10_000)
        agent = Agent(tmp_path, "n01", L, sources=("cpu", "memory"), max_slices=1)
        clock = iter((K + i) * L for i in range(101))
        monkeypatch.setattr(run.time, "time_ns", lambda: next(clock))
        for i in range(100):
            agent.sample(K + i)
        agent.close()
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 12_000
