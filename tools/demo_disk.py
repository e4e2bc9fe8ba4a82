"""The demo's shared directory: where the machine allows it, a small slow disk of its own.

A file holds an ext4 file system, mounted over a loop device with `-o sync`, so that every write waits for the disk as
it does on a loaded file server. A cgroup for block I/O that both jobs run in limits what reaches the loop device.
Elsewhere it is a plain directory whose files are written through (chattr +S), where the file system knows that.

All names follow from the demo's directory: what an earlier, killed demo left behind is found and removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SharedDirectory", "clean_up", "shared_directory"]

BYTES_PER_SECOND = 50_000_000
IMAGE_BYTES = 512 << 20
CGROUP_ROOT = Path("/sys/fs/cgroup")
DEADLINE_S = 5.0  # for processes of a killed demo to go


@dataclass(frozen=True)
class SharedDirectory:
    """The directory that both jobs write to. cgroup: where to run them so that they are slowed down; None: nowhere."""

    path: Path
    cgroup: Path | None
    description: str

    def command(self, command: list[str]) -> list[str]:
        """`command`, made to run inside the cgroup."""
        if self.cgroup is None:
            return command
        enter = 'echo $$ > "$0" && exec "$@"'
        return ["/bin/sh", "-c", enter, str(self.cgroup / "cgroup.procs"), *command]


class _NotHere(Exception):
    """This machine does not allow a throttled disk; the message says why."""


@contextlib.contextmanager
def shared_directory(base: Path) -> Iterator[SharedDirectory]:
    """Make the shared directory below `base`, and remove it with everything that was set up for it."""
    clean_up(base)
    try:
        try:
            directory = _throttled_disk(base)
        except _NotHere as reason:
            clean_up(base)
            directory = _plain_directory(base, str(reason))
        yield directory
    finally:
        clean_up(base)


def clean_up(base: Path) -> None:
    """Undo whatever a demo in `base` has set up: processes in its cgroup, mount, loop device, image, cgroup."""
    for group in (_cgroup_v1(base), _cgroup_v2(base)):
        if group.is_dir():
            _end_processes(group)
    mount_point, image = base / "shared", base / "disk.img"
    if os.path.ismount(mount_point):
        _run("umount", str(mount_point)) or _run("umount", "--lazy", str(mount_point))
    if image.exists():
        for line in _output("losetup", "--associated", str(image)).splitlines():
            _run("losetup", "--detach", line.split(":")[0])
        image.unlink()
    for group in (_cgroup_v1(base), _cgroup_v2(base)):
        if group.is_dir():
            with contextlib.suppress(OSError):
                group.rmdir()
    if not os.path.ismount(mount_point):
        shutil.rmtree(mount_point, ignore_errors=True)


def _throttled_disk(base: Path) -> SharedDirectory:
    if os.geteuid() != 0:
        raise _NotHere("not root")
    image, mount_point = base / "disk.img", base / "shared"
    mount_point.mkdir(parents=True, exist_ok=True)
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    if not _run("mkfs.ext4", "-q", "-F", str(image)):
        raise _NotHere("no mkfs.ext4")
    device = _output("losetup", "--find", "--show", str(image)).strip()
    if not device:
        raise _NotHere("no loop device")
    group = _limit(base, device)
    if not _run("mount", "-o", "sync", device, str(mount_point)):
        raise _NotHere("cannot mount")
    return SharedDirectory(
        mount_point, group, f"a disk of its own, limited to {BYTES_PER_SECOND / 1e6:.0f} MB/s by the block-I/O cgroup"
    )


def _limit(base: Path, device: str) -> Path:
    """A cgroup whose writes to the device are limited; version 1 if the machine has it, else version 2."""
    number = os.stat(device).st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    v1, v2 = _cgroup_v1(base), _cgroup_v2(base)
    try:
        if v1.parent.is_dir():
            v1.mkdir(exist_ok=True)
            (v1 / "blkio.throttle.write_bps_device").write_text(f"{name} {BYTES_PER_SECOND}")
            return v1
        (v2.parent / "cgroup.subtree_control").write_text("+io")
        v2.mkdir(exist_ok=True)
        (v2 / "io.max").write_text(f"{name} wbps={BYTES_PER_SECOND}")
        return v2
    except OSError as error:
        raise _NotHere(f"no block-I/O cgroup ({error.strerror})") from error


def _plain_directory(base: Path, reason: str) -> SharedDirectory:
    path = base / "shared"
    path.mkdir(parents=True, exist_ok=True)
    through = _run("chattr", "+S", str(path))
    how = "files are written through" if through else "files are not written through: expect no dents"
    return SharedDirectory(path, None, f"a plain directory ({reason}); {how}")


def _name(base: Path) -> str:
    return "crosswind-demo-" + hashlib.sha256(os.fsencode(base.resolve())).hexdigest()[:12]


def _cgroup_v1(base: Path) -> Path:
    return CGROUP_ROOT / "blkio" / _name(base)


def _cgroup_v2(base: Path) -> Path:
    return CGROUP_ROOT / _name(base)


def _end_processes(group: Path) -> None:
    """Kill what an earlier demo left in its cgroup; nothing else can be in there."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _run(*command: str) -> bool:
    """Whether the command is there and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, check=False, text=True).stdout
    except FileNotFoundError:
        return ""
