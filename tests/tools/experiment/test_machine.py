"""Notes on the machine: what is taken for one, and how a document of the machine reads."""

from __future__ import annotations

import click
import pytest

from crosswind.tools.experiment.machine import MAX_NOTE, machine_words, read_note


@pytest.mark.parametrize("text", ["", "400 Mbit/s to the file server", "<b>größer</b> | `x`", "x" * MAX_NOTE])
def test_a_line_of_text_is_a_note_also_in_a_file(tmp_path, text):
    (tmp_path / "note").write_text(f"{text}\n")
    assert read_note(f" {text} ") == text
    assert read_note(f"@{tmp_path / 'note'}") == text


@pytest.mark.parametrize("text", ["two\nlines", "\x1b[31m", "a\u202eb", "\udcff", "x" * (MAX_NOTE + 1), "€" * 900])
def test_what_is_no_short_line_is_refused(tmp_path, text):
    (tmp_path / "note").write_text(text, errors="surrogateescape")
    for given in (text, f"@{tmp_path / 'note'}"):
        with pytest.raises(click.UsageError, match="--note: has to be one line of text, of 200 characters at most"):
            read_note(given)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(click.UsageError, match=r"--note: .*none: No such file"):
        read_note(f"@{tmp_path / 'none'}")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, ""),
        ({"machine": "2-core"}, "2-core"),
        ({"machine": "2-core", "note": "slow"}, "2-core; slow"),
        ({"machine": "2-core", "later": [{"note": "slow"}]}, "2-core; slow"),
        (
            {"machine": "2-core", "note": "slow", "later": [{"node": "n"}, {"note": "fast"}]},
            "2-core; slow; later: fast",
        ),
        ({"machine": 2, "note": ["x"], "later": [3, {"note": 4}]}, ""),  # not written by us
        ({"machine": "2-core", "note": "x" * 999, "later": 3}, f"2-core; {'x' * MAX_NOTE}"),
    ],
)
def test_a_document_in_words(document, words):
    assert machine_words(document) == words
