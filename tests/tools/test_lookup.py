"""`crosswind lookup` on a database in which it is known who did it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.neighbours import make_neighbours
from support.profiles import FIRST_SLICE


def at(number: int) -> str:
    """Begin of this slice of the victim, UTC."""
    return f"{datetime.fromtimestamp((FIRST_SLICE + number) * 4, UTC):%Y-%m-%dT%H:%M:%S}"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_neighbours(tmp_path_factory.mktemp("lookup"))


def test_the_culprit_is_first_and_the_only_one(crosswind, url: str) -> None:
    done = crosswind("lookup", "victim", "--db", url, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    suspects = document["suspects"]
    assert suspects[0]["job_id"] == "culprit"
    assert {s["job_id"] for s in suspects if s["found"] and s["kind"] == "job"} == {"culprit"}
    assert suspects[0]["effect"] > 0.8
    assert suspects[0]["resource"] == "fs:disk@node01"
    assert "by job culprit.0 rose with" in document["sentence"]
    assert document["repeats"]
    kinds = [s["kind"] for s in suspects if s["found"]]
    assert kinds == sorted(kinds), "sums that the culprit is part of stand behind it"
    assert "elsewhere" not in {s["job_id"] for s in suspects}
    assert document["loss"] == "lost time"


def test_a_job_without_an_estimate_is_judged_by_its_rate(crosswind, url: str) -> None:
    document = json.loads(crosswind("lookup", "other1", "--db", url, "--json").stdout)
    assert document["loss"] == "progress"
    assert document["suspects"] == []
    assert "Neither segments nor a steady rate" in document["sentence"]


def test_one_stretch(crosswind, url: str) -> None:
    whole = json.loads(crosswind("lookup", "victim", "--db", url, "--json").stdout)
    stretch = ("--from", at(3), "--to", at(7))
    document = json.loads(crosswind("lookup", "victim", *stretch, "--db", url, "--json").stdout)
    assert document["slices"] == [3, 7]
    first = document["suspects"][0]
    assert (first["job_id"], first["found"]) == ("culprit", True)
    assert first["p_then"] < 0.1
    assert whole["suspects"][0]["p_then"] is None
    elsewhere = crosswind("lookup", "victim", "--from", "2020-01-01", "--to", "2020-01-02", "--db", url)
    assert "did not run in that time" in elsewhere.stderr
    assert crosswind("lookup", "victim", "--from", at(3), "--db", url).returncode == 2


def test_one_resource(crosswind, url: str) -> None:
    document = json.loads(crosswind("lookup", "victim", "--resource", "cpu@node01", "--db", url, "--json").stdout)
    assert {s["resource"] for s in document["suspects"]} == {"cpu@node01"}


def test_the_other_side(crosswind, url: str) -> None:
    culprit = json.loads(crosswind("lookup", "culprit", "--other-side", "--db", url, "--json").stdout)
    assert (culprit["coincided"], [job["job_id"] for job in culprit["jobs"]]) == (1, ["victim"])
    for other in ("other1", "other2", "other3"):
        document = json.loads(crosswind("lookup", other, "--other-side", "--db", url, "--json").stdout)
        assert (document["tested"], document["coincided"]) == (1, 0)
    said = crosswind("lookup", "culprit", "--other-side", "--db", url).stdout
    assert said.startswith("This job coincided with dents in 1 other: 1 of the 6 jobs beside it")
    assert "victim.0" in said


def test_for_people(crosswind, url: str, tmp_path: Path) -> None:
    done = crosswind("lookup", "victim.0", "--db", url)
    assert done.returncode == 0, done.stderr
    assert "by job culprit.0 rose with" in done.stdout.splitlines()[0]
    assert "* culprit" in done.stdout
    missing = crosswind("lookup", "nobody", "--db", url)
    assert missing.returncode == 1
    assert "nobody: no such job" in missing.stderr
