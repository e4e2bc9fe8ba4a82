"""A user who wants to harm others through the spool directory: open to all, sticky, read by root.

What is tried as another user really runs as uid 65534.
"""

import errno
import fcntl
import multiprocessing
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crosswind.collector import claim, folders, follow
from crosswind.collector import daemon as daemon_module
from crosswind.collector.daemon import Daemon
from crosswind.collector.fair import FairShare
from crosswind.collector.follow import Quota
from crosswind.collector.once import collect_once
from crosswind.collector.settings import Settings
from crosswind.db import queries, reading
from crosswind.profile import steps
from crosswind.profile.layout import ChunkKind
from crosswind.profile.peek import peek
from support.spools import CLEAN, FIRST, FIRST_SLICE, LAST, RUNNING, SLICE_NS, START_NS, Slice, SpoolBuilder

NOBODY = 65534

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user: run as root to test what users can do to each other"
)


@pytest.fixture
def spool():
    """As tmpfiles.d makes it: open to all and sticky, where every user can reach it."""
    with TemporaryDirectory(dir="/tmp", prefix="crosswind-hostile-") as folder:
        path = Path(folder)
        path.chmod(0o1777)
        yield path


@pytest.fixture
def daemon(engine, spool):
    return Daemon([spool], engine)


def build(n=3, seconds=1, **fields):
    """A finished process with so many seconds of CPU time in each of n slices."""
    slices = [
        Slice(FIRST_SLICE + i, {"cpu_time": seconds * 10**9}, (FIRST if i == 0 else 0) | (LAST if i == n - 1 else 0))
        for i in range(n)
    ]
    end = {"end_ns": START_NS + n * SLICE_NS} if fields.get("state", CLEAN) != RUNNING else {}
    return SpoolBuilder(**{"slices": slices, "state": CLEAN, **end, **fields})


def as_nobody(function: Callable[..., object], *arguments: object) -> multiprocessing.Process:
    """The function in a process of another user; started."""

    def run():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        function(*arguments)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def do_as_nobody(function: Callable[..., object], *arguments: object) -> None:
    process = as_nobody(function, *arguments)
    process.join(60)
    assert process.exitcode == 0


def jobs(engine):
    """Seconds of CPU time by (uid, job)."""
    with reading(engine) as conn:
        return {
            (job.uid, job.job_id): int(queries.get_frames(conn, job.key)["cpu_time"].values.sum()) // 10**9
            for job in queries.list_jobs(conn, limit=10_000)[0]
        }


def names(directory):
    return sorted(p.name for p in directory.iterdir())


def test_a_file_is_its_owners_whatever_it_says_of_itself(daemon, engine, spool):
    build().write(spool)
    do_as_nobody(lambda: build(seconds=100, uid=0, pid=4001).write(spool))
    daemon.look()
    assert jobs(engine) == {(0, "1001"): 3, (NOBODY, "1001"): 300}


def test_links_and_special_files_are_refused_and_what_they_point_to_is_left_alone(daemon, engine, spool, tmp_path):
    secret = build(job_id="2002").write(tmp_path)
    before = secret.read_bytes()

    def plant():
        (spool / "2002.a.1.1.xws").symlink_to(secret)
        (spool / "b.a.1.1.xws").symlink_to("/dev/zero")
        (spool / "c.a.1.1.xwl").symlink_to(spool / "d.a.1.1.xws")
        os.mkfifo(spool / "d.a.1.1.xws")
        (spool / "e.a.1.1.xws").mkdir()
        (spool / "e.a.1.1.xws" / "full").touch()
        (spool / "f\x1b[31m\n\xff\udcff.xws").write_bytes(b"x" * 10_000)

    do_as_nobody(plant)
    build().write(spool)
    report = daemon.look()
    assert jobs(engine) == {(0, "1001"): 3}
    assert len(report.refused) == 6
    assert all(path.isprintable() and reason.isprintable() for path, reason in report.refused)
    assert len(names(spool / "refused")) == 6
    assert secret.read_bytes() == before
    assert daemon.look().refused == []


def test_directories_of_the_same_name_again_and_again(daemon, engine, spool):
    def plant():
        (spool / "e.a.1.1.xws").mkdir()
        (spool / "e.a.1.1.xws" / "full").touch()

    for _ in range(3):
        do_as_nobody(plant)
        daemon.look()
    assert len(names(spool / "refused")) == 3
    assert daemon.counts.errors == {}


def test_what_is_kept_of_refused_files_is_bounded(daemon, spool, monkeypatch):
    monkeypatch.setattr(folders, "MAX_REFUSED", 5)
    for name in "ab":
        do_as_nobody(lambda: [(spool / f"{name}{i}.xws").write_bytes(b"x" * 9999) for i in range(4)])  # noqa: B023
        daemon.look()
    assert len(names(spool / "refused")) == 5
    assert list(spool.glob("*.xws")) == []
    assert daemon.counts.refused["unreadable"] == 8


def test_directories_beyond_what_is_kept_stay_and_are_reported_once(daemon, spool, monkeypatch):
    """They may hold anything, so they are not removed, and nothing is moved to and fro."""
    monkeypatch.setattr(folders, "MAX_REFUSED", 2)
    do_as_nobody(lambda: [(spool / f"d{i}.xws").mkdir() for i in range(5)])
    for _ in range(3):
        daemon.look()
    assert len(names(spool / "refused")) == 2
    assert len(list(spool.glob("*.xws"))) == 3
    assert daemon.counts.refused["unreadable"] == 5


def test_a_hard_link_gives_nobody_anothers_file(daemon, engine, spool):
    """The kernel's protected_hardlinks forbids it; root makes the link here, as if that were off."""
    path = build().write(spool)
    linked = spool / "9999.x.1.1.xws"
    os.link(path, linked)
    daemon.look()
    assert jobs(engine) == {(0, "1001"): 3}


def test_a_name_that_changes_what_it_points_to_all_the_time(daemon, engine, spool):
    """Between any two system calls of the collector the name may mean something else: own file, link, pipe."""
    root = build(job_id="2002").write(spool, "root.xws.later")
    root.chmod(0o600)

    def swap():
        own, link, pipe, name = (spool / n for n in (".own", ".link", ".pipe", "1001.x.1.1.xws"))
        end = time.monotonic() + 3
        while time.monotonic() < end:
            build(job_id="2002", seconds=100).write(spool, ".own")
            link.symlink_to(root)
            os.mkfifo(pipe)
            for path in (own, link, pipe):
                os.rename(path, name)
                time.sleep(0.0005)

    swapper = as_nobody(swap)
    while swapper.is_alive():
        daemon.look()
        assert jobs(engine).get((0, "2002")) is None, "what was behind the link came in as the user's, or as root's"
        assert set(jobs(engine).values()) <= {300}
    swapper.join()
    assert root.exists()


def test_a_folder_of_the_collector_that_a_user_made_first_is_not_used(daemon, engine, spool, tmp_path):
    do_as_nobody(lambda: (spool / "done").mkdir())
    path = build().write(spool)
    daemon.look()
    assert daemon.counts.errors["step"] == 1
    assert path.exists()
    assert names(spool / "done") == []
    os.rmdir(spool / "done")
    time.sleep(2.1)  # what a step waits after its first failure
    daemon.look()
    assert jobs(engine) == {(0, "1001"): 3}


def test_a_lease_does_not_hold_the_collector_up(daemon, engine, spool):
    """Opening a file with a lease waits for its holder, up to 45 s, unless one asks not to wait."""

    def hold():
        path = build(job_id="77").write(spool)
        with path.open("r+b") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            time.sleep(60)

    holder = as_nobody(hold)
    while not list(spool.glob("*.xws")):
        time.sleep(0.01)
    time.sleep(0.3)
    build().write(spool)
    begin = time.monotonic()
    daemon.look()
    assert time.monotonic() - begin < 5
    assert (0, "1001") in jobs(engine)
    holder.kill()
    holder.join()


def test_a_chunk_at_an_impossible_place(daemon, engine, spool):
    image = bytearray(build(n=1, job_id="1", state=RUNNING).build())
    at = next(i for i in range(768, 4096, 16) if struct.unpack_from("<QII", image, i)[2] == ChunkKind.SLICES)
    for n, offset in enumerate((2**64 - 1, 2**63 - 1, 2**62)):
        struct.pack_into("<Q", image, at, offset)
        do_as_nobody((spool / f"1.0.{n}.1.xws").write_bytes, bytes(image))
    do_as_nobody(build(job_id="2").write, spool)
    daemon.look()
    with reading(engine) as conn:
        assert "2" in {job.job_id for job in queries.list_jobs(conn)[0]}
    assert daemon.counts.errors == {}


def test_whatever_a_look_at_a_file_raises_the_others_are_loaded(daemon, engine, spool, monkeypatch):
    def look(path, *arguments):
        if "1." in Path(path).name[:2]:
            raise OverflowError("what nobody thought of")
        return peek(path, *arguments)

    monkeypatch.setattr(follow, "peek", look)
    for job in "12":
        do_as_nobody(build(job_id=job).write, spool)
    daemon.look()
    assert {job for _, job in jobs(engine)} == {"2"}
    assert len(names(spool / "refused")) == 1


def test_links_to_nowhere_of_the_same_name_again_and_again(daemon, engine, spool):
    def plant():
        (spool / "e.a.1.1.xws").symlink_to("/nowhere")

    for _ in range(3):
        do_as_nobody(plant)
        daemon.look()
    assert len(names(spool / "refused")) == 3
    assert daemon.counts.errors == {}


def test_a_link_that_is_put_back_where_another_lies(spool):
    """As when its owner makes the next before the collector of the first one died."""
    name = "\N{GRINNING FACE}" * 62 + ".xws"
    with claim.Claim.in_directory(spool) as held:
        for _ in range(3):
            (spool / name).symlink_to("/nowhere")
            if held.take(spool / name) is None:
                pytest.fail("it could not be taken")
            (spool / name).symlink_to("/nowhere")
            held.give_back(held.folder / name)
            (spool / name).unlink()
    assert len(names(spool)) == 4  # with the folder of claims


def test_one_file_that_cannot_be_put_back_keeps_no_other(spool, monkeypatch):
    move = folders.move_into

    def fail(folder, path):
        if path.name == "a.xws":
            raise OSError(errno.EIO, "no")
        move(folder, path)

    for name in "ab":
        (spool / f"{name}.xws").touch()
    monkeypatch.setattr(claim, "move_into", fail)
    with claim.Claim.in_directory(spool) as held:
        for name in "ab":
            held.take(spool / f"{name}.xws")
    assert (spool / "b.xws").exists()
    assert claim.recover(spool) == 0
    monkeypatch.undo()
    assert claim.recover(spool) == 1
    assert (spool / "a.xws").exists()
    assert names(spool / "claims") == []


@pytest.mark.parametrize("once", [True, False])
def test_a_process_that_names_no_host(daemon, engine, spool, once):
    do_as_nobody(build(job_id="1", host="").write, spool)
    do_as_nobody(build(job_id="2").write, spool)
    if once:
        collect_once([spool], engine)
    else:
        daemon.look()
    assert {job for _, job in jobs(engine)} == {"2"}
    assert len(names(spool / "refused")) == 1


class TestFloods:
    """Whoever has many files, or costly ones, waits for himself."""

    @staticmethod
    def flood(spool, n):
        image = bytearray(build(n=1, job_id="flood").build())
        for i in range(n):
            (spool / f"flood.x.{i}.1.xws").write_bytes(image)

    def test_others_are_loaded_in_the_first_look(self, engine, spool):
        daemon = Daemon([spool], engine, settings=Settings(quota=Quota(tracked=50, new=20)))
        do_as_nobody(self.flood, spool, 400)
        build().write(spool, "zzzz.x.1.1.xws")
        daemon.look()
        assert jobs(engine)[0, "1001"] == 3
        assert daemon.counts.files <= 50
        for _ in range(60):
            daemon.look()
        assert list(spool.glob("flood*")) == [], "and in the end all of them are"

    def test_files_beyond_the_quota_are_not_looked_at_again(self, engine, spool, monkeypatch):
        daemon = Daemon([spool], engine, settings=Settings(quota=Quota(tracked=50, new=1000)))
        monkeypatch.setattr(daemon, "_load", lambda loading, due: None)
        do_as_nobody(self.flood, spool, 400)
        daemon.look()
        assert (daemon.counts.files, daemon.counts.waiting) == (50, 350)
        looked = []
        monkeypatch.setattr(os, "lstat", lambda *a, **k: looked.append(a) or os.stat(*a, **k, follow_symlinks=False))
        daemon.look()
        assert looked == []

    def test_the_turn_is_the_users_who_took_least(self):
        now = [0.0]
        share = FairShare(lambda: now[0])
        order = []
        for uid, item in share.in_turn([(1, "a"), (1, "b"), (1, "c"), (2, "x"), (2, "y"), (3, "z")]):
            with share.charged(uid):
                now[0] += 10 if uid == 1 else 1
            order.append(item)
        assert order == ["a", "x", "z", "y", "b", "c"]

    @pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
    def test_what_we_lack_is_no_reason_to_refuse_a_file(self, daemon, engine, spool, monkeypatch, code):
        build().write(spool)

        def lack(*_args, **_options):
            raise OSError(code, os.strerror(code))

        for module, name in ((follow, "peek"), (steps, "read_spool")):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, lack)
                assert daemon.look().refused == []
        assert daemon.counts.errors == {"step": 1}
        time.sleep(2.1)  # what a step waits after its first failure
        daemon.look()
        assert jobs(engine) == {(0, "1001"): 3}

    def test_a_file_that_asks_for_too_much_memory_is_refused_and_the_rest_is_loaded(
        self, daemon, engine, spool, monkeypatch
    ):
        build().write(spool)
        build(job_id="1002").write(spool)
        merge = daemon_module.StepLoader._merge

        def ask(loading, files, *rest):
            if files[0].job_id == "1002":
                raise MemoryError
            return merge(loading, files, *rest)

        monkeypatch.setattr(daemon_module.StepLoader, "_merge", ask)
        report = daemon.look()
        assert jobs(engine) == {(0, "1001"): 3}
        assert [reason for _, reason in report.refused] == ["is too large to be loaded"]


def test_a_huge_file_is_refused_without_reading_it(daemon, spool):
    def plant():
        path = build(job_id="77").write(spool)
        os.truncate(path, 1 << 40)

    do_as_nobody(plant)
    begin = time.process_time()
    report = daemon.look()
    assert "larger than" in report.refused[0][1]
    assert time.process_time() - begin < 1


def test_a_look_reads_no_more_than_it_has_to(spool, monkeypatch):
    path = build(n=200).write(spool)
    read = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: read.append(n) or pread(fd, n, at))
    first = peek(path)
    again = peek(path, first.cursor)
    assert first.cursor == again.cursor
    assert first.cursor.offset > 200 * 8
    assert sum(read[-2:]) <= 3 * 4096
