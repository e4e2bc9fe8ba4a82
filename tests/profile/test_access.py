"""Access patterns: words for steps, shared files, and the way from spool files to the profile and back."""

import numpy as np
import pytest

from crosswind.profile import merge_spools, read_profile, read_short_log, summarize, write_profile
from crosswind.profile.access import (
    FILE_COUNTS,
    STEPS,
    Access,
    access_by_class,
    count_files,
    file_counts_by_class,
    pattern,
    size_label,
    width_of,
)
from crosswind.profile.dump import records
from crosswind.profile.metrics import FILE_CLASSES
from support.spools import START_NS, Short, SpoolBuilder, Thread

READ, WRITTEN, LOCAL, NET, DISK = 1, 2, 4, 0 << 3, 1 << 3


def use(first=0, next_=0, back=0, ahead=0, strided=0):
    return Access(dict(zip(STEPS, (first, next_, back, ahead, strided), strict=True)), (0,) * 32)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), ""),
        ((1,), "one write"),
        ((2,), "open-write-close"),
        ((1, 99), "aggregate-write"),
        ((10, 90), "aggregate-write"),
        ((11, 89), "mostly aggregate-write"),
        ((1, 0, 99), "write-seek"),
        ((20, 0, 0, 80), "mostly skipping write"),
        ((1, 0, 0, 99, 98), "strided write"),
        ((1, 0, 99, 0, 49), "write-seek"),
        ((1, 0, 99, 0, 50), "strided write"),
        ((10, 0, 48, 42, 3), "random write"),
        ((20, 0, 41, 39, 3), "mostly random write"),
        ((40, 40, 20), "mixed write"),
        ((50, 50), "mostly open-write-close"),
    ],
)
def test_words(steps, words):
    assert pattern(use(*steps), writes=True) == words
    assert pattern(use(*steps), writes=False) == words.replace("write", "read")


def test_size_labels():
    assert [size_label(b) for b in (0, 1, 2, 3, 10, 11, 12, 21, 30, 31)] == [
        "0 B", "1 B", "2 to 4 B", "4 to 8 B", "512 B to 1 KiB", "1 to 2 KiB", "2 to 4 KiB", "1 to 2 MiB",
        "512 MiB to 1 GiB", "1 GiB or more",
    ]  # fmt: skip


def word(number, bits):
    return number << 8 | bits


def counts(*tables):
    made = count_files([(machine, np.array(words, dtype=np.uint64)) for machine, words in tables])
    return {name: [dict(zip(FILE_COUNTS, row, strict=True)) for row in v.tolist()] for name, v in made.items()}


def used(row):
    return {name: n for name, n in row.items() if n}


def test_a_file_of_two_processes_is_shared():
    (one, two), (empty,) = (
        counts(
            ("a", [word(7, READ | LOCAL | DISK), word(8, WRITTEN | LOCAL | DISK)]),
            ("a", [word(7, READ | WRITTEN | LOCAL | DISK), word(2**56 - 1, READ | WRITTEN | LOCAL | DISK)]),
        )["files_disk"],
        [counts()],
    )
    assert used(one) == {"own_written": 1, "shared_read": 1, "once_both": 1}
    assert used(two) == {"own_both": 1, "shared_both": 1}
    assert empty == {}


def test_local_files_are_those_of_their_machine_and_those_of_the_network_of_all():
    tables = [(machine, [word(7, READ | LOCAL | DISK), word(7, WRITTEN | NET)]) for machine in ("a", "b", "b")]
    found = counts(*tables)
    assert [used(row) for row in found["files_disk"]] == [
        {"own_read": 1}, {"shared_read": 1, "once_read": 1}, {"shared_read": 1},
    ]  # fmt: skip
    assert [used(row) for row in found["files_net"]] == [
        {"shared_written": 1, "once_written": 1}, {"shared_written": 1}, {"shared_written": 1},
    ]  # fmt: skip


def test_words_that_no_library_writes_are_left_out():
    assert counts(("a", [word(7, 0), word(7, READ | 7 << 3), word(7, READ | 6 << 3)])) == {}


def test_names_and_widths():
    assert width_of("steps_net_posix_read") == 5
    assert width_of("sizes_pipe_stdio_write") == 32
    assert width_of("files_disk") == len(FILE_COUNTS)
    assert {width_of(n) for n in ("steps_net", "files_net_posix_read", "files_", "other_net_posix_read", "")} == {None}


STEPS_WRITTEN = (3, 40, 2, 5, 1)
THREADS = (
    Thread(words={"steps_disk_posix_write": STEPS_WRITTEN, "sizes_disk_posix_write": (0,) * 13 + (50,)}),
    Thread(tid=4001, words={"steps_disk_posix_write": (1, 1, 0, 0, 0), "sizes_other_stdio_write": (9,) * 32}),
)


def job(tmp_path):
    files = [word(7, READ | WRITTEN | LOCAL | DISK), word(8, WRITTEN | LOCAL | DISK)]
    return merge_spools([
        SpoolBuilder(threads=THREADS, files=files, end_ns=START_NS + 10**9).write(tmp_path),
        SpoolBuilder(pid=4100, threads=THREADS[:1], files=files[:1], end_ns=START_NS + 10**9).write(tmp_path),
    ])  # fmt: skip


def test_from_spool_files_to_the_profile_and_its_file(tmp_path):
    profile = job(tmp_path)
    write_profile(profile, tmp_path / "p.xwp")
    for found in (profile, read_profile(tmp_path / "p.xwp")):
        assert found.dropped_files == ()
        assert found.access["steps_disk_posix_write"].tolist() == [[4, 41, 2, 5, 1], list(STEPS_WRITTEN)]
        assert found.access["sizes_other_stdio_write"].tolist() == [[9] * 32, [0] * 32]
        disk = file_counts_by_class(found.access)["disk"]
        assert (disk.own_written, disk.shared_both) == (1, 1)
        assert access_by_class(found.access)["disk"]["posix_write"].sizes[13] == 100
    assert {kind for kind, _ in records(tmp_path / "p.xwp")} >= {"access"}


def test_the_profile_holds_no_identity(tmp_path):
    profile = job(tmp_path)
    assert all(int(values.max()) < 1000 for values in profile.access.values())
    write_profile(profile, tmp_path / "p.xwp")
    assert "identity" not in str(list(records(tmp_path / "p.xwp")))


def test_summary(tmp_path):
    disk = summarize(job(tmp_path))["access"]["disk"]
    assert disk["files"] == {
        "own_read": 0, "own_written": 1, "own_both": 0, "shared_read": 0, "shared_written": 0, "shared_both": 1,
    }  # fmt: skip
    assert disk["posix_write"] == {
        "requests": 100,
        "pattern": "mostly aggregate-write",
        "steps": {"first": 7, "next": 81, "back": 4, "ahead": 10, "strided": 2},
        "sizes": [[4096, 100]],
    }


def test_short_processes_keep_their_words(tmp_path):
    short = Short("cp", START_NS, 10**6, functions={"write": (3, 9, 0, 1)}, words={"steps_net_posix_write": (1, 2)})
    builder, path = SpoolBuilder(), tmp_path / "1001.0.u0.1.xwl"
    path.write_bytes(builder.build_short_log([short, short]))
    assert read_short_log(path).problems == ()
    profile = merge_spools([path])
    assert profile.access["steps_net_posix_write"].tolist() == [[2, 4, 0, 0, 0]]
    assert [fields["words"] for kind, fields in records(path) if kind == "short"] == [
        {"steps_net_posix_write": [1, 2, 0, 0, 0]}
    ] * 2


def test_every_class_fits_in_a_file_word():
    assert len(FILE_CLASSES) <= 7
