"""Real programs: the bytes that Crosswind counts are the bytes that strace sees, to the last one.

strace knows system calls, Crosswind knows calls of libc. What libc and the dynamic linker read for themselves (shared
libraries, their cache, locales, name service) is left out by the path that strace prints with each descriptor.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.preload import MODES, counts, environment, profile, table

READ = ("read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg")
WRITE = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg")
BOTH = ("sendfile", "copy_file_range", "splice")  # moves from one descriptor to the other
OF_LIBC = re.compile(
    r"(\.so(\.[0-9.]+)?|/ld\.so\.cache|/locale-archive|/gconv-modules\.cache|/nsswitch\.conf|/passwd|/group|/zoneinfo/.*)$"
)
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (\d+)")
DESCRIPTOR = re.compile(r"\d+<([^>]*)>")


def strace(command: list[str], cwd: Path, log: Path) -> Counter:
    """Bytes in and out of all processes of `command`, as the kernel moved them; libc's own reading left out."""
    env = {k: v for k, v in environment(log).items() if not k.startswith(("LD_PRELOAD", "CROSSWIND"))}
    names = ",".join((*READ, *WRITE, *BOTH))
    subprocess.run(
        ["strace", "-f", "-y", "-s", "0", "-e", f"trace={names}", "-e", "signal=none", "-o", log, *command],
        cwd=cwd, env=env, check=True, capture_output=True,
    )  # fmt: skip
    moved: Counter = Counter()
    for line in unfinished_joined(log.read_text().splitlines()):
        if not (match := CALL.match(line)):
            continue
        name, arguments, result = match[1], match[2], int(match[3])
        paths = DESCRIPTOR.findall(arguments)
        if paths and OF_LIBC.search(paths[0]):
            continue
        if name in READ or name in BOTH:
            moved["in"] += result
        if name in WRITE or name in BOTH:
            moved["out"] += result
    return moved


def unfinished_joined(lines: list[str]) -> list[str]:
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


def crosswind(command: list[str], cwd: Path, spool: Path) -> dict[str, Counter]:
    """The same from Crosswind, by layer."""
    spool.mkdir()
    subprocess.run(
        command, cwd=cwd, env=environment(spool, MODES["log of short processes"]), check=True, capture_output=True
    )
    layer_of = {row["name"]: row["layer"] for row in table()}
    moved = {"posix": Counter(), "stdio": Counter()}
    for name, (_, out, into) in counts(profile(spool)).items():
        moved[layer_of[name]] += Counter({"out": out, "in": into})
    return moved


PYTHON = """
import os, socket
data = os.urandom(100_001)
with open('big', 'rb') as f, open('py-out', 'wb') as g:
    while chunk := f.read(10_007):
        g.write(chunk)
    os.pwrite(g.fileno(), data, 5)
a, b = socket.socketpair()
a.sendall(data[:3000]); b.recv(10_000)
print(sum(len(line) for line in open('text')))
"""

PROGRAMS = {
    "dd": ["dd", "if=big", "of=copy", "bs=10k", "status=none"],
    "dd with a short last block": ["dd", "if=big", "of=copy", "bs=777", "count=501", "status=none"],
    "cp": ["cp", "big", "copy"],
    "cp without copy_file_range": ["cp", "big", "/dev/shm/crosswind-test-copy"],
    "cat to a file": ["sh", "-c", "cat big text > copy"],
    "cat to a pipe": ["sh", "-c", "cat big | cat > copy"],
    "tar": ["tar", "cf", "archive.tar", "big", "text"],
    "tar out": ["sh", "-c", "tar cf - big text | tar xf - -C sub"],
    "head": ["head", "-c", "12345", "big"],
    "Python": [sys.executable, "-S", "-B", "-c", PYTHON],
    "gcc": ["gcc", "-O2", "-S", "hello.c", "-o", "hello.s"],  # reads by read(), writes by four functions of stdio
    "gzip": ["sh", "-c", "gzip -c big > big.gz"],
}


@pytest.fixture
def work(tmp_path):
    if not shutil.which("strace"):
        pytest.fail("strace is missing: apt install strace")
    directory = tmp_path / "work"
    (directory / "sub").mkdir(parents=True)
    (directory / "big").write_bytes(os.urandom(1_234_567))
    (directory / "text").write_text("".join(f"line {i}\n" for i in range(5000)))
    (directory / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    yield directory
    Path("/dev/shm/crosswind-test-copy").unlink(missing_ok=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_equal_those_of_strace(name, work, tmp_path):
    seen = crosswind(PROGRAMS[name], work, tmp_path / "spool")
    truth = strace(PROGRAMS[name], work, tmp_path / "strace.log")
    assert truth["in"] > 10_000
    assert seen["posix"] + seen["stdio"] == truth
