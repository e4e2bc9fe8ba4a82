"""Access patterns: what programs with known patterns do is what is counted, request by request."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from crosswind.profile import summarize
from crosswind.profile.access import STEPS, access_by_class, file_counts_by_class
from support.preload import MODES, PROGRAMS, environment, profile, run

CASES = (
    "open_write_close", "write_seek", "aggregate_write", "strides", "duplicate", "append", "failures",
    "from_one_to_another", "streams",
)  # fmt: skip
PYTHON = os.path.realpath(sys.executable)  # not the environment's, whose start reads more
OF_LIBC = re.compile(r"\.so(\.|$)|/ld\.so\.cache|/locale|/gconv|/zoneinfo/")
CALL = re.compile(r"^\d+ +(read|write|pread64|pwrite64)\(\d+<([^>]*)>.*\) += (-?\d+)")


@pytest.fixture
def spool(tmp_path):
    path = tmp_path / "spool"
    path.mkdir()
    return path


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    return path


def class_of(directory):
    """The class of files in it, as any program that writes one shows."""
    spool = directory.parent / "probe"
    spool.mkdir()
    run(["dd", "if=/dev/zero", f"of={directory / 'probe'}", "bs=1", "count=1", "status=none"], spool)
    (cls,) = {name.split("_")[1] for name in profile(spool).access if name.startswith("steps_")}
    return cls


def said(output):
    """What the program says: {way: steps}, {way: {bucket: requests}}."""
    steps, sizes = {}, {}
    for line in output.decode().splitlines():
        kind, way, *numbers = line.split()
        if kind == "steps" and any(map(int, numbers)):
            steps[way] = dict(zip(STEPS, map(int, numbers), strict=True))
        elif kind == "sizes":
            sizes.setdefault(way, {})[int(numbers[0])] = int(numbers[1])
    return steps, sizes


def counted(found, cls):
    ways = access_by_class(found.access).get(cls, {})
    steps = {way: a.steps for way, a in ways.items() if any(a.steps.values())}
    return steps, {way: {b: n for b, n in enumerate(a.sizes) if n} for way, a in ways.items()}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_known_patterns(spool, work, mode):
    output = run([PROGRAMS / "posix_access", work], spool, extra=mode)
    found = profile(spool)
    assert counted(found, class_of(work)) == said(output)


@pytest.mark.parametrize(
    ("case", "way", "words"),
    [
        ("open_write_close", "posix_write", "open-write-close"),
        ("open_write_close", "posix_read", "open-read-close"),
        ("write_seek", "posix_write", "mostly write-seek"),
        ("write_seek", "posix_read", "mostly read-seek"),
        ("aggregate_write", "posix_write", "mostly aggregate-write"),
        ("strides", "posix_write", "mostly strided write"),
    ],
)
def test_the_words_for_the_patterns_of_the_thesis(spool, work, case, way, words):
    run([PROGRAMS / "posix_access", work, case], spool)
    assert summarize(profile(spool))["access"][class_of(work)][way]["pattern"] == words


def test_requests_are_the_calls_of_their_group(spool, work):
    run([PROGRAMS / "posix_access", work], spool)
    found = profile(spool)
    for cls, ways in access_by_class(found.access).items():
        for way, access in ways.items():
            layer, op = way.split("_")
            assert access.requests == found.totals[f"{layer}_{cls}_{op}_calls"].sum(), (cls, way)


def test_without_a_clock_nothing_is_missing(spool, work):
    output = run([PROGRAMS / "posix_access", work], spool, extra={"CROSSWIND_TIMING": "0"})
    assert counted(profile(spool), class_of(work)) == said(output)


WRITER = """
import os, sys
own = os.open(f"own.{sys.argv[1]}", os.O_RDWR | os.O_CREAT)
both = os.open("both", os.O_RDWR | os.O_CREAT)
only_read = os.open("input", os.O_RDONLY)
for i in range(3):
    os.write(own, b"x" * 100)
    os.pwrite(both, b"y" * 10, 10 * (2 * i + int(sys.argv[1])))
os.read(only_read, 10)
if sys.argv[1] == "0":
    os.pread(both, 5, 0)
"""


PROGRAMS_OF_TWO = {"nothing": "pass", "writer": WRITER}


def test_shared_and_own_files(tmp_path, work):
    (work / "input").write_bytes(b"z" * 100)
    cls = class_of(work)
    before, after = (two_processes(tmp_path / name, work, program)[cls] for name, program in PROGRAMS_OF_TWO.items())
    gained = {name: getattr(after, name) - getattr(before, name) for name in vars(after)}
    assert gained == {
        "own_read": 0, "own_written": 2, "own_both": 0, "shared_read": 1, "shared_written": 0, "shared_both": 1,
    }  # fmt: skip


def two_processes(spool, work, program):
    """The files of two Python processes that run the same program, but for their number."""
    spool.mkdir()
    for number in ("0", "1"):
        run([PYTHON, "-SE", "-c", program, number], spool, extra={"CROSSWIND_HELPER_AFTER": "0"}, cwd=work)
    return file_counts_by_class(profile(spool).access)


def test_a_forked_child_has_steps_and_files_of_its_own(spool, work):
    program = """
import os
fd = os.open("f", os.O_RDWR | os.O_CREAT)
os.write(fd, b"x" * 64)
if os.fork() == 0:
    os.write(fd, b"x" * 64)
    os._exit(0)
os.wait()
"""
    run([PYTHON, "-SE", "-c", program], spool, extra={"CROSSWIND_HELPER_AFTER": "0"}, cwd=work)
    found = profile(spool)
    cls = class_of(work)
    assert found.access[f"steps_{cls}_posix_write"].tolist() == [[1, 0, 0, 0, 0]] * 2
    assert file_counts_by_class(found.access)[cls].shared_written == 1


@pytest.mark.parametrize(
    "command",
    [
        ["dd", "if=/dev/zero", "of=out", "bs=3000", "count=17", "status=none"],
        ["dd", "if=out", "of=copy", "ibs=512", "obs=8192", "status=none"],
        [PYTHON, "-SE", "-c", "f = open('out', 'wb', 700)\nfor i in range(3000): f.write(b'x' * i)\n"],
        [PYTHON, "-SE", "-c", "print(len(open('out').read()))"],
    ],
    ids=["dd writes", "dd copies", "Python writes", "Python reads"],
)
def test_sizes_are_those_of_strace(spool, work, command, tmp_path):
    (work / "out").write_bytes(b"q" * 30_001)
    run(command, spool, cwd=work)
    sizes = Counter()
    for ways in access_by_class(profile(spool).access).values():
        for way in ("posix_read", "posix_write"):
            if way in ways:
                sizes.update({(way, bucket): n for bucket, n in enumerate(ways[way].sizes) if n})
    (work / "out").write_bytes(b"q" * 30_001)
    assert sizes == by_strace(command, work, tmp_path / "log")


def by_strace(command, cwd, log):
    """Requests by way and power of two, those of libc and the dynamic linker left out."""
    clean = {k: v for k, v in environment(cwd).items() if not k.startswith(("LD_PRELOAD", "CROSSWIND"))}
    names = "trace=read,write,pread64,pwrite64"
    subprocess.run(["strace", "-f", "-y", "-s", "0", "-e", names, "-o", log, *command], cwd=cwd, env=clean, check=True,
                   capture_output=True)  # fmt: skip
    sizes = Counter()
    for line in log.read_text().splitlines():
        if (match := CALL.match(line)) and not OF_LIBC.search(match[2]):
            way = "posix_read" if "read" in match[1] else "posix_write"
            sizes[way, max(int(match[3]), 0).bit_length()] += 1
    return sizes
