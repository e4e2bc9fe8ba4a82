"""Wrong options, missing directories, help."""

from __future__ import annotations

import pytest

from crosswind.tools.noise import PROGRAMS
from support.load_programs import LOAD, any_mpi, command, run


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("cpu", ["--nope"], "no such option"),
        ("cpu", ["--seconds"], "--seconds"),
        ("cpu", ["--seconds", "0"], "seconds 0"),
        ("cpu", ["--seconds", "nan"], "seconds nan"),
        ("cpu", ["--seconds", "inf"], "seconds inf"),
        ("cpu", ["--intensity", "1.5"], "intensity 1.5"),
        ("cpu", ["--active", "1"], "go together"),
        ("cpu", ["--volume", "0.5"], "volume 0.5"),
        ("cpu", ["--dir", "x"], "makes no files"),
        ("cpu", ["--seed", "-1"], "seed -1"),
        ("pattern", ["--chunk", "1"], "chunk 1"),
        ("pattern", ["--chunk", "1Q"], "chunk 1Q"),
        ("pattern", ["--chunk", "257M"], "chunk 257M"),
        ("pattern", ["--chunk", "1k", "--pieces", "1000"], "no multiple"),
        ("pattern", ["--pattern", "other"], "pattern other"),
        ("pattern", ["--read", "--flush", "--api", "mpiio"], "--api posix only"),
        ("pattern", ["extra"], "extra"),
    ],
)
def test_wrong_usage_is_one_line(name: str, options: list[str], words: str) -> None:
    done = run(command(any_mpi(), name, *options, ranks=1))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = [text for text in done.stderr.splitlines() if text.startswith(f"load-{name}:")]
    assert words in line


def test_wrong_usage_is_one_line_for_all_ranks(mpi: str) -> None:
    done = run(command(mpi, "cpu", "--nope"))
    assert done.returncode == 2
    assert done.stderr.count("no such option") == 1


def test_a_directory_that_is_not_there_is_one_line(mpi: str) -> None:
    done = run(command(mpi, "pattern", "--dir", "/nonexistent"))
    assert done.returncode == 1
    assert done.stderr.count("choose another one with --dir") == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_it_stresses(name: str) -> None:
    """In the words of crosswind noise."""
    mpi = any_mpi()
    done = run(command(mpi, name, "--help", ranks=1))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"load-{name}: {PROGRAMS[name]}"
    assert "Example: " in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 140


def test_every_program_is_listed() -> None:
    built = {path.name.removeprefix("load-").partition(".")[0] for path in LOAD.glob("load-*")}
    assert built - {"gpubus"} == PROGRAMS.keys() - {"gpubus"}
