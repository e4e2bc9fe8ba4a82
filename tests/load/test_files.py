"""load-pattern and load-metadata: what they say of themselves against what the profiler counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.file_classes import class_of
from support.load_programs import Report, Seen, profiled

RANKS = 2
CHUNK = 64 << 10
VOLUME = 1 << 20
OF_THE_MPI = 40  # calls that an MPI makes for itself at its start, and small files of Open MPI's MPI-IO
BYTES_OF_THE_MPI = 4096


def pattern_run(mpi: str, directory: Path, *options: object) -> tuple[Report, Seen, str]:
    """A run of 1 MiB a rank by chunks of 64 KiB, and the class of its files."""
    kind = class_of(directory)
    if kind == "mem":
        pytest.skip("the temporary directory is in memory, where MPIs have files, too: set TMPDIR to a disk")
    report, seen = profiled(
        mpi, "pattern", directory / "spool", "--chunk", CHUNK, "--volume", VOLUME, "--file-size", "256k",
        "--dir", directory, *options,
    )  # fmt: skip
    assert report["ended"] == "volume"
    assert report["total"] == RANKS * VOLUME == sum(report["per_second"])
    assert [path.name for path in directory.iterdir()] == ["spool"]
    return report, seen, kind


@pytest.mark.parametrize(
    ("words", "options", "turns_opened"),
    [
        ("open-write-close", ["--flush"], 16),
        ("open-write-close", ["--files", "same", "--shared"], 16),
        ("open-write-close", ["--shared", "--keep", "2"], 16),
        ("write-seek", [], 1),
        ("write-seek", ["--shared", "--flush"], 1),
        ("aggregate-write", [], 1),
        ("aggregate-write", ["--pieces", "16", "--flush"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_posix_patterns_write_what_they_say(
    mpi: str, words: str, options: list[str], turns_opened: int, tmp_path: Path
) -> None:
    report, seen, kind = pattern_run(mpi, tmp_path, "--pattern", words, *options)
    counts = report["counts"]
    chunks = RANKS * VOLUME // CHUNK
    pieces = 16 if "--pieces" in options else 1
    assert counts["bytes_out"] == report["total"]
    assert counts["write"] == chunks * pieces
    assert counts["flush"] == (chunks if "--flush" in options else 0)
    assert counts["open"] == counts["close"] == RANKS * turns_opened
    # the profile
    assert seen.total(f"posix_{kind}_write_bytes") == counts["bytes_out"]
    assert seen.access(kind, "posix_write").requests == counts["write"]
    assert seen.words(kind, "posix_write").endswith(words)
    assert seen.calls("fsync") == counts["flush"]
    assert 0 <= seen.calls("lseek") - counts["seek"] < OF_THE_MPI
    assert 0 <= seen.calls("creat") - counts["open"] < OF_THE_MPI  # an open that may make the file
    assert 0 <= seen.calls("unlink") - counts["unlink"] < OF_THE_MPI


@pytest.mark.parametrize(("written", "read"), [("open-write-close", "open-read-close"), ("write-seek", "read-seek")])
def test_posix_patterns_read_what_they_say(mpi: str, written: str, read: str, tmp_path: Path) -> None:
    report, seen, kind = pattern_run(mpi, tmp_path, "--pattern", written, "--read", "--flush")
    counts = report["counts"]
    assert counts["bytes_in"] == report["total"]
    assert seen.total(f"posix_{kind}_read_bytes") == counts["bytes_in"]
    assert seen.total(f"posix_{kind}_write_bytes") == counts["bytes_out"] > 0  # written before
    assert seen.access(kind, "posix_read").requests == counts["read"] == RANKS * VOLUME // CHUNK
    assert seen.words(kind, "posix_read").endswith(read)
    assert seen.calls("fsync") == counts["flush"]


@pytest.mark.parametrize("pattern", ["open-write-close", "write-seek", "aggregate-write"])
@pytest.mark.parametrize(("api", "suffix"), [("mpiio", ""), ("collective", "_all")])
def test_mpi_patterns_do_what_they_say(mpi: str, pattern: str, api: str, suffix: str, tmp_path: Path) -> None:
    options = ["--read"] if pattern == "write-seek" else ["--flush"]
    report, seen, kind = pattern_run(mpi, tmp_path, "--pattern", pattern, "--api", api, *options)
    counts = report["counts"]
    assert counts["bytes_in" if options == ["--read"] else "bytes_out"] == report["total"]
    assert seen.bytes_out(f"MPI_File_write{suffix}") == counts["bytes_out"]
    assert seen.bytes_in(f"MPI_File_read{suffix}") == counts["bytes_in"]
    made_of_it = seen.total(f"posix_{kind}_write_bytes")
    assert 0 <= made_of_it - counts["bytes_out"] < BYTES_OF_THE_MPI
    for function, name in [
        (f"MPI_File_write{suffix}", "write"), (f"MPI_File_read{suffix}", "read"), ("MPI_File_open", "open"),
        ("MPI_File_close", "close"), ("MPI_File_seek", "seek"), ("MPI_File_sync", "flush"),
    ]:  # fmt: skip
        assert seen.calls(function) == counts[name], function


@pytest.mark.parametrize("shared", [(), ("--shared",)])
def test_metadata_does_what_it_says(mpi: str, shared: tuple[str, ...], tmp_path: Path) -> None:
    report, seen = profiled(mpi, "metadata", tmp_path / "spool", "--volume", 4000, "--dir", tmp_path, *shared)
    counts = report["counts"]
    assert report["total"] == RANKS * 4000 == sum(counts.values())
    assert seen.calls("rename") == counts["rename"]
    assert 0 <= seen.calls("creat") - counts["open"] < OF_THE_MPI
    assert 0 <= seen.calls("unlink") - counts["unlink"] < OF_THE_MPI
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]
