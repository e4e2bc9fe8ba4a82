"""The class of a file follows its descriptor; bytes of each class end in the metrics of that class."""

import sys
import uuid
from pathlib import Path

import pytest

from support.file_classes import class_of
from support.preload import MODES, PROGRAMS, counts, profile, run

SPOOL_FILES = MODES["own spool file"]


@pytest.fixture
def memory_file():
    path = Path("/dev/shm") / f"crosswind-test-{uuid.uuid4()}"
    yield path
    path.unlink(missing_ok=True)


def total(found, metric):
    return int(found.totals[metric].sum()) if metric in found.totals else 0


def test_one_descriptor_and_many_files(tmp_path, memory_file):
    disk_file = tmp_path / "file"
    (tmp_path / "spool").mkdir()
    output = run([PROGRAMS / "posix_classes", disk_file, memory_file], tmp_path / "spool", extra=SPOOL_FILES)
    said = {name: int(n) for name, n in (line.split() for line in output.decode().splitlines())}
    if class_of(tmp_path) == "mem":
        said["mem"] += said.pop("disk")
    elif class_of(tmp_path) == "net":
        said["net"] = said.pop("disk")
    found = profile(tmp_path / "spool")
    classes = ("net", "disk", "mem", "pipe", "sock", "other")
    seen = {c: total(found, f"posix_{c}_write_bytes") for c in classes}
    assert seen == {c: said.get(c, 0) for c in classes}


COPY = "import os; a=os.open({0!r}, os.O_RDONLY); b=os.open({1!r}, os.O_WRONLY|os.O_CREAT); os.sendfile(b, a, 0, 5000)"


def test_both_sides_of_a_transfer(tmp_path, memory_file):
    source = tmp_path / "source"
    source.write_bytes(bytes(5000))
    (tmp_path / "spool").mkdir()
    script = COPY.format(str(source), str(memory_file))
    run([sys.executable, "-S", "-c", script], tmp_path / "spool", extra=SPOOL_FILES)
    found = profile(tmp_path / "spool")
    assert counts(found)["sendfile"] == (1, 5000, 5000)
    assert total(found, f"posix_{class_of(tmp_path)}_read_bytes") >= 5000
    assert total(found, "posix_mem_write_bytes") == 5000


SCRIPT = """
import os
for i in range(1000):
    os.stat({path!r})
"""


@pytest.mark.parametrize(("path", "file_class"), [("/proc/self/stat", "mem"), ("/sys/kernel", "mem"), (__file__, None)])
def test_names_are_classed_by_their_directory(path, file_class, tmp_path):
    run([sys.executable, "-S", "-c", SCRIPT.format(path=path)], tmp_path, extra=SPOOL_FILES)
    calls = total(profile(tmp_path), f"posix_{file_class or class_of(path)}_meta_calls")
    assert calls >= 1000


def test_relative_names_follow_the_working_directory(tmp_path):
    script = (
        "import os\nfor d in '/proc', '/usr':\n    os.chdir(d)\n    for i in range(500): os.path.exists('no-such-name')"
    )
    run([sys.executable, "-S", "-c", script], tmp_path, extra=SPOOL_FILES)
    found = profile(tmp_path)
    assert total(found, "posix_mem_meta_calls") >= 500
    assert total(found, f"posix_{class_of('/usr')}_meta_calls") >= 500
