"""Who is told what by the lookup: support reads the culprit, its victim does not."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.collector.agent.metrics import BY_NAME
from crosswind.db import load_profile, open_database
from crosswind.db.nodes import NodeSlices, load_node_slices
from support.neighbours import SLICES, make_neighbours
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps
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


def test_one_stretch_after_the_other_tells_no_course(alice: FlaskClient, sam: FlaskClient) -> None:
    """How high one other job was in each slice would be its course: of it nothing depends on the stretch."""

    def hidden(begin: int) -> list[dict]:
        span = f"from={(FIRST_SLICE + begin) * 4000}&to={(FIRST_SLICE + begin + 1) * 4000}"
        suspects = alice.get(f"/jobs/1/lookup.json?{span}").json["suspects"]
        assert any(s["p_then"] is not None for s in suspects if s["kind"] == "together")
        return [suspect for suspect in suspects if suspect["kind"] == "hidden"]

    whole = [s for s in alice.get("/jobs/1/lookup.json").json["suspects"] if s["kind"] == "hidden"]
    told = {json.dumps(sorted(map(str, hidden(begin)))) for begin in range(10, 40, 4)}
    assert told == {json.dumps(sorted(map(str, whole)))}
    assert len({json.dumps(hidden(begin)) for begin in range(10, 40, 4)}) == 1, "nor does their order"
    first = sam.get(f"/jobs/1/lookup.json?from={FIRST_SLICE * 4000}&to={(FIRST_SLICE + 1) * 4000}").json["suspects"]
    assert all(suspect["p_then"] is not None for suspect in first)


def drawn(client: FlaskClient, kinds: Collection[str]) -> dict[str, bool]:
    """Whether any of the course of the lines of these kinds is drawn, by load."""
    suspects = client.get("/jobs/1/lookup.json").json["suspects"]
    found = {}
    for number, suspect in enumerate(suspects):
        if suspect["kind"] in kinds:
            figure = client.get(f"/jobs/1/lookup/figure.json?show={number}").json
            below = [y for trace in figure["data"] if trace["meta"]["plot"] == "load" for y in trace["y"]]
            found[suspect["load"]] = any(y is not None for y in below)
    return found


@pytest.mark.parametrize(("k", "shown"), [(3, True), (7, False)])
def test_what_agents_saw_of_too_few_others_is_not_drawn(tmp_path: Path, k: int, shown: bool) -> None:
    """What a node or a server felt, less one's own load, is that of the others on it."""
    url = make_neighbours(tmp_path)
    engine = open_database(url)
    random = np.random.default_rng(5)
    rows = {FIRST_SLICE + j: {("psi_io_some", ""): int(v)} for j, v in enumerate(1e9 * random.random(SLICES))}
    load_node_slices(engine, NodeSlices("node01", "", SLICE_NS, {"psi_io_some": BY_NAME["psi_io_some"]}, rows))
    engine.dispose()
    app = proxied_app(url, privacy={"background_jobs": k})
    for client, may in ((client_of(app, "alice"), shown), (client_of(app, "sam"), True)):
        found = drawn(client, {"node"})
        assert found
        assert set(found.values()) == {may}


def test_the_sum_of_those_that_could_be_read_is_of_enough_of_them(tmp_path: Path) -> None:
    """Seven used the disk, but the slices of all but two were pruned: what is left is two jobs' and is not drawn."""
    url = make_neighbours(tmp_path)
    assert drawn(client_of(proxied_app(url), "alice"), {"together"})["bytes written"]
    with open_database(url).begin() as conn:
        conn.exec_driver_sql("UPDATE job SET detail = 0 WHERE key > 4")
    assert drawn(client_of(proxied_app(url), "sam"), {"together"})["bytes written"]
    assert not drawn(client_of(proxied_app(url), "alice"), {"together"})["bytes written"]


def test_a_range_on_a_node_of_others_is_empty(alice: FlaskClient, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/others.db"
    engine = open_database(url)
    for uid in range(4):
        load_profile(engine, make_lammps(job_id=str(uid), user=f"user{uid}", uid=4000 + uid, hosts=("n7",)))
    engine.dispose()
    app = proxied_app(url)
    query = RANGE.replace("fs:disk@node01", "cpu@n7")
    nothing = client_of(app, "alice").get(f"/lookup.json?{query}").json
    assert (nothing["other_jobs"], nothing["amount"], nothing["jobs"]) == (None, None, [])
    assert client_of(app, "user0").get(f"/lookup.json?{query}").json["other_jobs"] == 3
    assert client_of(app, "sam").get(f"/lookup.json?{query}").json["amount"] > 0


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
