"""Bundles (.xwb): many small files of a node as one, with their owners. A tar archive compressed with zstd.

    crosswind.json     {"version": 1, "node": "n01", "cluster": "", "running": false}
    NAME               the files, as they were: owner's number, time of the last change, bytes
    crosswind.end      empty: nothing was cut off

With "running" they are copies of files that their processes still write to, and their time is when they were copied.
Delivered, they have a name that each later copy takes over, until the whole file comes.

A bundle's name is the SHA-256 of its content, so a bundle that is sent again is known. `tar --zstd -tvf` lists one.
Unpacking trusts the archive's owners, so a bundle counts only if it came from root (docs/agent.md, "Trust").
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import zstandard

from crosswind.collector.agent.nodefile import NODE_SUFFIX
from crosswind.collector.names import is_plain_name
from crosswind.collector.spool import COPY_MARK
from crosswind.collector.transport.errors import BadBundle, OtherCluster
from crosswind.profile.errors import FormatError
from crosswind.profile.plain_file import open_plain
from crosswind.profile.steps import SHORT_SUFFIX, SPOOL_SUFFIX

__all__ = [
    "ARRIVING",
    "BUNDLE_SUFFIX",
    "MAX_BUNDLE",
    "MAX_FILES",
    "UNFINISHED",
    "Origin",
    "fsync_directory",
    "pack",
    "unpack",
]

BUNDLE_SUFFIX = ".xwb"
VERSION = 1
MAX_FILES = 4096  # in one bundle
MAX_FILE = 256 << 20
MAX_BUNDLE = 1 << 30  # unpacked
MAX_WINDOW = 1 << 27
UNFINISHED = ".making."
ARRIVING = ".arriving."  # a delivered file before it has its name; .making. is what the spool's own processes make
_MANIFEST, _END = "crosswind.json", "crosswind.end"
_SUFFIXES = (SPOOL_SUFFIX, SHORT_SUFFIX, NODE_SUFFIX)
_NAME = re.compile(r"[A-Za-z0-9_+@%~=,-][A-Za-z0-9._+@%~=,-]{0,159}", re.ASCII)
_NO_UID = (1 << 32) - 1  # to chown it means: leave the owner as it is
_DAMAGED = (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, LookupError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Origin:
    """Where a bundle is from. cluster: "" where a site has one only."""

    node: str
    cluster: str = ""


def pack(paths: Iterable[Path], origin: Origin, folder: Path, *, running: bool = False) -> tuple[Path, dict[Path, int]]:
    """Make a bundle of these files in a folder, on stable storage; its path, and the size that each file had. running:
    their processes still write to them.

    What is gone, no regular file or too large is left out. Raises OSError.
    """
    making = folder / f"{UNFINISHED}{uuid4().hex}"
    sizes: dict[Path, int] = {}
    try:
        with open(making, "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            digest = _Hashed(file)
            with (
                zstandard.ZstdCompressor(level=3).stream_writer(digest, closefd=False) as packed,  # type: ignore[arg-type]
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                _add_manifest(tar, origin, running)
                for path in paths:
                    size = _add(tar, path, running)
                    if size is not None:
                        sizes[path] = size
                tar.addfile(tarfile.TarInfo(_END))
            file.flush()
            os.fsync(file.fileno())
        target = folder / f"{digest.hexdigest()}{BUNDLE_SUFFIX}"
        os.rename(making, target)
    except BaseException:
        making.unlink(missing_ok=True)
        raise
    fsync_directory(folder)
    return target, sizes


def unpack(bundle: Path, spool: Path, *, cluster: str = "") -> list[Path]:
    """Deliver the files of a bundle of this cluster into a spool directory, with their owners; their paths.

    Their names are the sender's with the node and the bundle in them; those of copies have COPY_MARK there, and the
    whole file takes the copy's place. When it returns they are on stable storage; doing it again changes nothing.
    Raises BadBundle, then nothing was delivered, and OSError.
    """
    key = f".{bundle.name.removesuffix(BUNDLE_SUFFIX)[:12]}"
    made: list[tuple[Path, Path]] = []
    copies: list[Path] = []
    try:
        with open_plain(bundle, owners=(0, os.geteuid())) as (file, _):
            _check(file, bundle.name)
            manifest, members = _open(file, cluster)
            for member, content in members:
                stem, suffix = os.path.splitext(member.name)
                making = spool / f"{ARRIVING}{uuid4().hex}"
                mark = COPY_MARK if manifest["running"] else key
                made.append((making, spool / f"{stem}.{manifest['node']}{mark}{suffix}"))
                copies.append(spool / f"{stem}.{manifest['node']}{COPY_MARK}{suffix}")
                _write(making, member, content)
    except FormatError as error:  # before anything was made
        raise BadBundle(f"it {error.reason}: only root speaks for a node") from None
    except _DAMAGED as error:
        _remove(made)
        raise error if isinstance(error, BadBundle) else BadBundle(f"it is damaged ({error})") from None
    except BaseException:
        _remove(made)
        raise
    for making, target in made:
        if manifest["running"] and _is_newer(target, making):
            os.unlink(making)  # a bundle that was sent again
        else:
            os.rename(making, target)
    if not manifest["running"]:
        for copy in copies:
            copy.unlink(missing_ok=True)
    fsync_directory(spool)
    return [target for _, target in made]


def fsync_directory(folder: Path) -> None:
    """Make names in a directory last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(file: io.BufferedReader, name: str) -> None:
    """Raise BadBundle unless the bytes of an open bundle are those that its name says."""
    if name != f"{hashlib.file_digest(file, 'sha256').hexdigest()}{BUNDLE_SUFFIX}":
        raise BadBundle("its bytes are not those that its name says")
    file.seek(0)


class _Hashed:
    """A file that is written, and the hash of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self.file.write(data)

    def hexdigest(self) -> str:
        return self.hash.hexdigest()


def _is_newer(path: Path, than: Path) -> bool:
    """Whether a file is there and was changed later than another."""
    try:
        return os.lstat(path).st_mtime_ns > os.lstat(than).st_mtime_ns
    except FileNotFoundError:
        return False


def _add_manifest(tar: tarfile.TarFile, origin: Origin, running: bool) -> None:
    text = json.dumps({"version": VERSION, **asdict(origin), "running": running}).encode()
    info = tarfile.TarInfo(_MANIFEST)
    info.size = len(text)
    tar.addfile(info, io.BytesIO(text))


def _add(tar: tarfile.TarFile, path: Path, running: bool) -> int | None:
    """Add one file as it is now; its size, or None where it was left out. running: that it is there now is its sign of
    life, since writing to mapped memory leaves no time.
    """
    if not _NAME.fullmatch(path.name):
        return None
    try:
        with open_plain(path, largest=MAX_FILE) as (file, status):
            content = file.read(status.st_size)
    except (FormatError, FileNotFoundError, PermissionError):
        return None
    info = tarfile.TarInfo(path.name)
    info.size, info.uid, info.gid, info.mode = len(content), status.st_uid, status.st_gid, 0o600
    mtime_ns = time.time_ns() if running else status.st_mtime_ns
    info.mtime = mtime_ns // 10**9
    info.pax_headers = {"crosswind.mtime_ns": str(mtime_ns)}
    tar.addfile(info, io.BytesIO(content))
    return len(content)


def _open(file: IO[bytes], cluster: str) -> tuple[dict[str, Any], Iterable[tuple[tarfile.TarInfo, IO[bytes]]]]:
    """The manifest of a bundle, and its files one after the other, all checked. Raises what reading raises."""
    stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(file, read_across_frames=False)
    tar = tarfile.open(fileobj=_Bounded(stream), mode="r|", errorlevel=2)  # type: ignore[call-overload]  # noqa: SIM115
    first = tar.next()
    if first is None or first.name != _MANIFEST or not first.isreg() or first.size > 4096:
        raise BadBundle("it does not begin with its manifest")
    return _checked_manifest(json.loads(_content(tar, first).read()), cluster), _members(tar)


def _checked_manifest(manifest: object, cluster: str) -> dict[str, Any]:
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        raise BadBundle("it is of another version of Crosswind")
    known: dict[str, Any] = {"cluster": "", "running": False, **manifest}
    if not isinstance(known.get("node"), str) or not is_plain_name(known["node"]):
        raise BadBundle("it names no node")
    if known["cluster"] != cluster:
        raise OtherCluster(
            f"it is of the cluster {str(known['cluster'])[:64]!r}, and what is received is of {cluster!r}"
        )
    return known


def _members(tar: tarfile.TarFile) -> Iterable[tuple[tarfile.TarInfo, IO[bytes]]]:
    seen: set[str] = set()
    while (member := tar.next()) is None or member.name != _END:
        if member is None:
            raise BadBundle("it is cut off")
        if not member.isreg() or member.issparse() or not _NAME.fullmatch(member.name) or member.name in seen:
            raise BadBundle(f"it holds {member.name[:80]!r}, which is no plain file")
        if not member.name.endswith(_SUFFIXES) or member.size > MAX_FILE or not 0 <= member.uid < _NO_UID:
            raise BadBundle(f"it holds {member.name[:80]!r}, which is none of Crosswind's files")
        seen.add(member.name)
        if len(seen) > MAX_FILES:
            raise BadBundle(f"it holds more than {MAX_FILES} files")
        yield member, _content(tar, member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None, "a plain file has content"  # noqa: S101
    return content


class _Bounded:
    """A stream that ends with an error when it is longer than a bundle may be: a few bytes can unpack to anything."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 (zstandard's own type)
        self.stream = stream
        self.left = MAX_BUNDLE

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise BadBundle(f"it unpacks to more than {MAX_BUNDLE >> 20} MiB")
        return data


def _write(path: Path, member: tarfile.TarInfo, content: IO[bytes]) -> None:
    """Write one file under a name that nobody looks at, with its owner and time, on stable storage."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    mtime_ns = int(member.pax_headers.get("crosswind.mtime_ns", int(member.mtime) * 10**9))
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        left = member.size
        while left and (part := content.read(min(left, 1 << 20))):
            file.write(part)
            left -= len(part)
        if left:
            raise BadBundle(f"{member.name} is cut off in it")
        file.flush()
        if member.uid != os.geteuid():
            try:
                os.fchown(file.fileno(), member.uid, -1)
            except PermissionError:
                raise BadBundle(
                    f"it holds files of user {member.uid}, and only root can give files to others"
                ) from None
        os.utime(file.fileno(), ns=(mtime_ns, mtime_ns))
        os.fsync(file.fileno())


def _remove(made: Iterable[tuple[Path, Path]]) -> None:
    for making, _ in made:
        making.unlink(missing_ok=True)
