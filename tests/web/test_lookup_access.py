"""Who is told what by the lookup: support reads the culprit, its victim does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from support.neighbours import SLICES, make_neighbours
from support.profiles import FIRST_SLICE
from support.viewers import client_of, proxied_app

OTHERS = ("culprit", "other1", "other2", "other3", "other4", "other5", "elsewhere")
RANGE = f"from={FIRST_SLICE * 4000}&to={(FIRST_SLICE + SLICES) * 4000}&resource=fs:disk@node01"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return proxied_app(make_neighbours(tmp_path_factory.mktemp("town")))


@pytest.fixture
def alice(town) -> FlaskClient:
    """The victim's owner."""
    return client_of(town, "alice")


@pytest.fixture
def sam(town) -> FlaskClient:
    """Support."""
    return client_of(town, "sam")


def test_support_reads_the_culprit_and_its_victim_does_not(alice: FlaskClient, sam: FlaskClient) -> None:
    assert "by job culprit.0 rose with" in sam.get("/jobs/1/lookup").text
    text = alice.get("/jobs/1/lookup").text
    assert "by a job of another user rose with" in text
    assert not [name for name in OTHERS if name in text]
    assert sam.get("/jobs/2/lookup").status_code == 200
    assert alice.get("/jobs/2/lookup").status_code == 404


@pytest.mark.parametrize(
    "query", ["", "from=1760000040000&to=1760000060000", "resource=fs:disk@node01", "show=0", "show=3"]
)
def test_no_answer_names_them(alice: FlaskClient, query: str) -> None:
    for path in ("lookup", "lookup.json", "lookup/figure.json", "lookup/other-side.json"):
        text = alice.get(f"/jobs/1/{path}{'' if 'other-side' in path else '?' + query}").text
        assert not [name for name in OTHERS if name in text]
    for suspect in alice.get(f"/jobs/1/lookup.json?{query}").json["suspects"]:
        assert suspect["kind"] != "job"
        assert [suspect[k] for k in ("job_key", "job_id", "step", "user", "command")] == [None] * 5


def test_the_course_of_one_job_is_not_drawn_but_the_sum_of_many_is(alice: FlaskClient, sam: FlaskClient) -> None:
    suspects = alice.get("/jobs/1/lookup.json").json["suspects"]
    assert suspects[0]["kind"] == "hidden"
    shown = [alice.get(f"/jobs/1/lookup/figure.json?show={n}").json for n in range(len(suspects))]
    for suspect, figure in zip(suspects, shown, strict=True):
        titles = [a["text"] for a in figure["layout"]["annotations"]][1:]
        assert all("all other jobs together" in title for title in titles), suspect
    assert "by job culprit.0" in sam.get("/jobs/1/lookup/figure.json").json["layout"]["annotations"][1]["text"]
    assert shown[0]["data"][-1]["y"] != sam.get("/jobs/1/lookup/figure.json").json["data"][-1]["y"]


def test_too_few_others_are_no_sum(tmp_path: Path) -> None:
    app = proxied_app(make_neighbours(tmp_path), privacy={"background_jobs": 7})
    figure = client_of(app, "alice").get("/jobs/1/lookup/figure.json").json
    below = [t for t in figure["data"] if t["meta"]["plot"] == "load"]
    assert all(y is None for trace in below for y in trace["y"])


def test_a_range_names_ones_own_jobs_only(alice: FlaskClient, sam: FlaskClient) -> None:
    own, every = (client.get(f"/lookup.json?{RANGE}").json for client in (alice, sam))
    assert [job["job_id"] for job in own["jobs"]] == ["victim"]
    assert own["other_jobs"] == 6
    assert len(every["jobs"]) == 7
    for path in ("/lookup", "/lookup.json", "/lookup/figure.json"):
        assert not [name for name in OTHERS if name in alice.get(f"{path}?{RANGE}").text]
    elsewhere = alice.get("/lookup.json?" + RANGE.replace("node01", "node77")).json
    assert (elsewhere["other_jobs"], elsewhere["amount"], elsewhere["jobs"]) == (None, None, [])


def test_a_culprit_learns_how_many_and_support_whom(town, sam: FlaskClient) -> None:
    culprit = client_of(town, "culprit").get("/jobs/2/lookup/other-side.json").json
    assert (culprit["coincided"], culprit["jobs"]) == (1, [])
    assert [job["job_id"] for job in sam.get("/jobs/2/lookup/other-side.json").json["jobs"]] == ["victim"]
