"""`crosswind lookup` on a database in which it is known who did it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.neighbours import make_neighbours


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_neighbours(tmp_path_factory.mktemp("lookup"))


def test_the_culprit_is_first_and_the_only_one(crosswind, url: str) -> None:
    done = crosswind("lookup", "victim", "--db", url, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    suspects = document["suspects"]
    assert suspects[0]["job_id"] == "culprit"
    assert {s["job_id"] for s in suspects if s["found"]} == {"culprit"}
    assert suspects[0]["effect"] > 0.8
    assert suspects[0]["resource"] == "fs:disk@node01"
    assert "by job culprit.0 rose with" in document["sentence"]
    assert document["repeats"]
    assert "elsewhere" not in {s["job_id"] for s in suspects}
    assert document["loss"] == "lost time"


def test_a_job_without_an_estimate_is_judged_by_its_rate(crosswind, url: str) -> None:
    document = json.loads(crosswind("lookup", "other1", "--db", url, "--json").stdout)
    assert document["loss"] == "progress"
    assert document["suspects"] == []
    assert "Neither segments nor a steady rate" in document["sentence"]


def test_for_people(crosswind, url: str, tmp_path: Path) -> None:
    done = crosswind("lookup", "victim.0", "--db", url)
    assert done.returncode == 0, done.stderr
    assert "by job culprit.0 rose with" in done.stdout.splitlines()[0]
    assert "* culprit" in done.stdout
    missing = crosswind("lookup", "nobody", "--db", url)
    assert missing.returncode == 1
    assert "nobody: no such job" in missing.stderr
