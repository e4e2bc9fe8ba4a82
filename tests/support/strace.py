"""The bytes that programs move, as the kernel saw them: strace knows system calls and the file behind each descriptor.

What libc and the dynamic linker read for themselves (shared libraries, their cache, locales, character sets, name
service) is left out by path. So are directories, which are not read by bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

READ = ("read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg")
WRITE = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg")
BOTH = ("sendfile", "copy_file_range", "splice")  # moves from one descriptor to the other
OF_LIBC = re.compile(
    r"(\.so(\.[0-9.]+)?|/ld\.so\.cache|/locale-archive|/locale\.alias|/gconv-modules(\.cache)?|/nsswitch\.conf|/passwd|/group"
    r"|/host\.conf|/resolv\.conf|/hosts|/gai\.conf|/zoneinfo/.*|/sys/devices/system/cpu/(online|possible))$"
)
BOOT_ID = "/proc/sys/kernel/random/boot_id"  # of Crosswind
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (\d+)")
DESCRIPTOR = re.compile(r"\d+<((?:[^>\\]|->|\\.)*)>")
OPTIONS = ("-y", "-s", "0", "-e", "signal=none", "-e", "trace=" + ",".join((*READ, *WRITE, *BOTH)))


@dataclass(frozen=True)
class Transfer:
    """One system call that moved bytes. paths: of its descriptors, as strace prints them (`pipe:[1]`, `/dev/null`)."""

    name: str
    paths: tuple[str, ...]
    bytes: int


def transfers(logs: Iterable[Path], spool: Path) -> list[Transfer]:
    """All transfers in the logs but libc's own and Crosswind's own."""
    found = []
    for log in logs:
        for line in _unfinished_joined(log.read_text(errors="replace").splitlines()):
            if match := CALL.match(line):
                paths = tuple(DESCRIPTOR.findall(match[2]))
                if not (paths and (OF_LIBC.search(paths[0]) or paths[0].startswith((f"{spool}/", BOOT_ID)))):
                    found.append(Transfer(match[1], paths, int(match[3])))
    return found


def moved(found: Iterable[Transfer], keep: Callable[[str], bool] = lambda _path: True) -> Counter:
    """Bytes in and out of the files that are kept."""
    total: Counter = Counter()
    for transfer in found:
        source, target = transfer.paths[0], transfer.paths[-1]
        if transfer.name == "sendfile":  # the target comes first
            source, target = target, source
        if transfer.name in READ + BOTH and keep(source):
            total["in"] += transfer.bytes
        if transfer.name in WRITE + BOTH and keep(target):
            total["out"] += transfer.bytes
    return total


def command_line(command: Sequence[str | Path], log: Path, environment: Mapping[str, str], *options: str) -> list[str]:
    """strace around the command. environment: of the command only."""
    settings = [part for name, value in environment.items() for part in ("-E", f"{name}={value}")]
    return ["strace", *options, *OPTIONS, *settings, "-o", str(log), *map(str, command)]


def _unfinished_joined(lines: list[str]) -> list[str]:
    """The two halves of a call that another process's line came between, put together."""
    waiting: dict[str, str] = {}
    joined = []
    for line in lines:
        pid = line.split(maxsplit=1)[0]
        if line.endswith("<unfinished ...>"):
            waiting[pid] = line.removesuffix("<unfinished ...>")
        elif "resumed>" in line:
            joined.append(waiting.pop(pid, "") + line.partition("resumed>")[2])
        else:
            joined.append(line)
    return joined
