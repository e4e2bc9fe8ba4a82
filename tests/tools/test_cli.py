"""Every verb: its help, wrong usage, errors in one line."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from crosswind.tools.cli import VERBS, main


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_shows_an_example(verb):
    result = CliRunner().invoke(main, [verb, "--help"])
    assert result.exit_code == 0
    assert f"Example: crosswind {verb}" in result.output or "Example: export LD_PRELOAD" in result.output


def test_the_list_of_verbs_needs_none_of_them():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for verb, (_, _, brief) in VERBS.items():
        assert verb in result.output
        assert brief.split()[0] in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown-verb"],
        ["--unknown-option"],
        *([verb, "--unknown-option"] for verb in VERBS if verb not in ("run", "inject")),
        ["run"],
        ["show"],
        ["estimate"],
        ["collect", "--db", "sqlite:///x.db"],
        ["export", "p.xwp", "--format", "xls"],
        ["run", "--slice", "fast", "--", "true"],
        ["run", "--slice", "1ms", "--", "true"],
        ["run", "--digest", "long", "--", "true"],
        ["demo", "--seconds", "1"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_with_the_usage(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.output
    assert "Traceback" not in result.output


def test_an_option_of_the_program_is_not_one_of_ours(crosswind, built):
    result = crosswind("run", "sh", "-c", "exit 5")
    assert result.returncode == 5


@pytest.mark.parametrize("verb", ["show", "estimate", "export"])
@pytest.mark.parametrize("content", [b"", b"not a profile\n", b"\x1b[31mXWPROFI"])
def test_a_foreign_file_costs_one_line(crosswind, tmp_path, verb, content):
    path = tmp_path / "foreign.xwp"
    path.write_bytes(content)
    result = crosswind(verb, path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"crosswind {verb}: ")
    assert "foreign.xwp" in result.stderr


def test_escape_sequences_of_a_file_name_reach_no_terminal(crosswind, tmp_path):
    path = tmp_path / "evil\x1b]0;title\x07\nname.xwp"
    path.write_bytes(b"x")
    result = crosswind("show", path)
    assert result.returncode == 1
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_brackets_of_a_file_name_are_no_markup(environment, tmp_path):
    """The spinner is for terminals only, so this takes one."""
    folder = tmp_path / "[" / "x]"
    folder.mkdir(parents=True)
    (folder / "foreign.xwp").write_bytes(b"x")
    leader, terminal = os.openpty()
    command = [sys.executable, "-m", "crosswind.tools", "show", "[/x]/foreign.xwp"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:
        pass  # the terminal has no other end any more
    finally:
        os.close(leader)
    assert process.wait(timeout=30) == 1
    assert b"Traceback" not in shown
    assert b"[/x]/foreign.xwp: is not a Crosswind profile" in shown


def test_an_endless_file_is_no_csv(crosswind):
    result = crosswind("estimate", "/dev/zero")
    assert result.returncode == 1
    assert result.stderr == (
        "crosswind estimate: /dev/zero: line 1: is no segment CSV, it has no column seg, rank, dur_us\n"
    )


def test_info(crosswind, built):
    document = json.loads(crosswind("info", "--json").stdout)
    assert document["library"] == str(built)
    assert crosswind("info", "--lib").stdout == f"{built}\n"
    assert crosswind("info", "--version").stdout.strip() == document["version"]


def test_a_missing_library_says_how_to_get_one(crosswind, tmp_path):
    result = crosswind("run", "true", extra={"CROSSWIND_LIBRARY": str(tmp_path / "none.so")})
    assert result.returncode == 1
    assert "none.so" in result.stderr
    assert "make build" in result.stderr


def test_a_library_that_ld_preload_cannot_name_is_refused(crosswind, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "libcrosswind.so").write_bytes(b"")
    result = crosswind("run", "true", extra={"CROSSWIND_LIBRARY": str(folder / "libcrosswind.so")})
    assert result.returncode == 1
    assert "space" in result.stderr
