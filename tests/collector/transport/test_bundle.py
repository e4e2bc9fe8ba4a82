"""Bundles: what comes out is what went in, and nothing comes out of what no agent made."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
import zstandard

from crosswind.collector.spool import find_spools
from crosswind.collector.transport import bundle as bundles
from crosswind.collector.transport.bundle import BUNDLE_SUFFIX, Origin, pack, unpack
from crosswind.collector.transport.errors import BadBundle

END = ("crosswind.end", b"", {})
MANIFEST = ("crosswind.json", json.dumps({"version": 1, "node": "n01"}).encode(), {})


def files(folder, **contents):
    paths = []
    for name, content in contents.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(content)
        paths.append(path)
    return paths


@pytest.fixture
def spool(tmp_path):
    directory = tmp_path / "spool"
    directory.mkdir()
    return directory


def test_what_was_packed_arrives_with_its_times(tmp_path, spool):
    paths = files(tmp_path, a_xws=b"one", b_xwl=b"two" * 50_000, c_xwn=b"")
    os.utime(paths[0], ns=(0, 1_234_567_890_123_456_789))
    bundle, sizes = pack(paths, Origin("n01"), tmp_path)
    assert sizes == {path: path.stat().st_size for path in paths}
    arrived = unpack(bundle, spool)
    assert [p.name.split(".n01.")[0] + p.suffix for p in arrived] == ["a.xws", "b.xwl", "c.xwn"]
    assert [p.read_bytes() for p in arrived] == [p.read_bytes() for p in paths]
    assert arrived[0].stat().st_mtime_ns == 1_234_567_890_123_456_789
    assert {p.stat().st_mode & 0o777 for p in arrived} == {0o600}
    assert find_spools(spool) == arrived[:2]
    assert unpack(bundle, spool) == arrived
    assert len(list(spool.iterdir())) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others: run the tests as root")
def test_files_keep_their_owner(tmp_path, spool):
    paths = files(tmp_path, a_xws=b"one", b_xws=b"two")
    os.chown(paths[1], 65534, 65534)
    bundle, _ = pack(paths, Origin("n01"), tmp_path)
    assert [p.stat().st_uid for p in unpack(bundle, spool)] == [0, 65534]


def test_who_is_not_root_cannot_speak_for_others(tmp_path, spool, monkeypatch):
    def refuse(*_):
        raise PermissionError

    bundle = made(tmp_path, [MANIFEST, ("a.xws", b"x", {"uid": os.geteuid() + 1})])
    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(BadBundle, match="only root can give files to others"):
        unpack(bundle, spool)
    assert list(spool.iterdir()) == []


def test_links_and_special_files_are_left_out(tmp_path):
    (good,) = files(tmp_path, a_xws=b"one")
    (tmp_path / "l.xws").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "p.xws")
    _, sizes = pack([good, tmp_path / "l.xws", tmp_path / "p.xws", tmp_path / "gone.xws"], Origin("n01"), tmp_path)
    assert list(sizes) == [good]


def test_the_same_name_of_two_nodes_and_of_two_bundles_is_four_files(tmp_path, spool):
    for node in ("n01", "n02"):
        for content in (b"first", b"second"):
            unpack(pack(files(tmp_path, job_xwl=content), Origin(node), tmp_path)[0], spool)
    assert sorted(p.read_bytes() for p in spool.iterdir()) == [b"first", b"first", b"second", b"second"]


def made(folder, members, level=3):
    """A bundle of these members: (name, content, changes to the entry)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content, changes in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.uid = os.geteuid()
            for field, value in changes.items():
                setattr(info, field, value)
            tar.addfile(info, io.BytesIO(content))
    packed = zstandard.ZstdCompressor(level=level).compress(data.getvalue())
    path = folder / f"{hashlib.sha256(packed).hexdigest()}{BUNDLE_SUFFIX}"
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize(
    "members",
    [
        [],
        [("a.xws", b"x", {})],
        [("crosswind.json", b"[]", {})],
        [("crosswind.json", b"{", {})],
        [("crosswind.json", b"[" * 4000, {})],
        [("crosswind.json", b'{"version": 2, "node": "n"}', {})],
        [("crosswind.json", b'{"version": 1, "node": "../n"}', {})],
        [("crosswind.json", b'{"version": 1, "node": 3}', {})],
        [MANIFEST, ("../a.xws", b"x", {})],
        [MANIFEST, ("/tmp/a.xws", b"x", {})],
        [MANIFEST, ("d/a.xws", b"x", {})],
        [MANIFEST, (".a.xws", b"x", {})],
        [MANIFEST, ("a.sh", b"x", {})],
        [MANIFEST, ("a.xws\n", b"x", {})],
        [MANIFEST, ("ok.xws", b"x", {}), ("a.xws", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})],
        [MANIFEST, ("a.xws", b"", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})],
        [MANIFEST, ("a.xws", b"", {"type": tarfile.DIRTYPE})],
        [MANIFEST, ("a.xws", b"", {"type": tarfile.FIFOTYPE})],
        [MANIFEST, ("a.xws", b"", {"type": tarfile.CHRTYPE})],
        [MANIFEST, ("a.xws", b"x", {}), ("a.xws", b"y", {})],
        [MANIFEST, ("a.xws", b"x", {"uid": -1})],
        [MANIFEST, ("a.xws", b"x", {"uid": (1 << 32) - 1})],
        [MANIFEST, ("a" * 157 + ".xws", b"x", {})],
        [MANIFEST, ("a.xws", b"x", {"pax_headers": {"mtime": "inf"}})],
        [MANIFEST, ("a.xws", b"x", {"pax_headers": {"crosswind.mtime_ns": "soon"}})],
    ],
)
def test_nothing_comes_out_of_what_no_agent_made(tmp_path, spool, members):
    with pytest.raises(BadBundle):
        unpack(made(tmp_path, [*members, END]), spool)
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("members", [[], [MANIFEST], [MANIFEST, ("a.xws", b"x", {})]])
def test_nothing_comes_out_of_what_has_no_end(tmp_path, spool, members):
    with pytest.raises(BadBundle):
        unpack(made(tmp_path, members), spool)
    assert list(spool.iterdir()) == []


def test_cut_or_damaged_anywhere_nothing_or_all_comes_out(tmp_path, spool):
    paths = files(tmp_path, a_xws=os.urandom(3000), b_xws=bytes(20_000))
    bundle, _ = pack(paths, Origin("n01"), tmp_path)
    data = bundle.read_bytes()
    for at in range(0, len(data), 7):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]):
            bundle.write_bytes(damaged)
            with pytest.raises(BadBundle, match="not those that its name says"):
                unpack(bundle, spool)
            renamed = tmp_path / f"{hashlib.sha256(damaged).hexdigest()}{BUNDLE_SUFFIX}"
            renamed.write_bytes(damaged)
            try:
                arrived = unpack(renamed, spool)
            except BadBundle:
                assert list(spool.iterdir()) == []
            else:
                assert len(arrived) == 2
                for path in arrived:
                    path.unlink()


def test_a_bomb_is_refused(tmp_path, spool, monkeypatch):
    monkeypatch.setattr(bundles, "MAX_BUNDLE", 1 << 20)
    bundle = made(tmp_path, [MANIFEST, *((f"{i}.xws", bytes(1 << 18), {}) for i in range(8))], level=19)
    assert bundle.stat().st_size < 10_000
    with pytest.raises(BadBundle, match="unpacks to more than"):
        unpack(bundle, spool)
    monkeypatch.setattr(bundles, "MAX_FILES", 3)
    with pytest.raises(BadBundle, match="more than 3 files"):
        unpack(made(tmp_path, [MANIFEST, *((f"{i}.xws", b"", {}) for i in range(4))]), spool)
    assert list(spool.iterdir()) == []


def test_listed_by_tar(tmp_path):
    """Two standard tools read it: no format of our own."""
    bundle, _ = pack(files(tmp_path, a_xws=b"one"), Origin("n01"), tmp_path)
    with zstandard.open(bundle, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        assert [m.name for m in tar] == ["crosswind.json", "a.xws", "crosswind.end"]
    assert Path(bundle).stat().st_mode & 0o077 == 0
