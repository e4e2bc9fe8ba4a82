"""The lookup page: the culprit on top, hostile names escaped, empty states in words, what nodes and servers tell."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.analysis.lookup import Role
from crosswind.collector.agent.metrics import BY_NAME
from crosswind.db import load_profile, open_database
from crosswind.db.nodes import NodeSlices, load_node_slices
from crosswind.db.topology import store_topology
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app
from crosswind.web.lookup_answer import Line, Lookup
from support.neighbours import SLICES, bursts, make_neighbours, segments_of
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile
from support.sites import Jobs

BUSY = bursts(1)
BEGIN = int(np.flatnonzero(BUSY)[0])
STRETCH = f"from={(FIRST_SLICE + BEGIN) * 4000}&to={(FIRST_SLICE + BEGIN + 2) * 4000}"


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return create_app(make_neighbours(tmp_path_factory.mktemp("lookup"))).test_client()


def test_the_page_names_the_culprit(neighbours: FlaskClient) -> None:
    answer = neighbours.get("/jobs/1/lookup")
    assert answer.status_code == 200
    assert "by job culprit.0 rose with" in answer.text
    assert answer.text.count("● found") == sum(
        s["found"] for s in neighbours.get("/jobs/1/lookup.json").json["suspects"]
    )
    assert "culprit&lt;b&gt;" in answer.text
    assert "culprit<b>" not in answer.text


def test_the_job_links_to_it(neighbours: FlaskClient) -> None:
    assert 'href="/jobs/1/lookup"' in neighbours.get("/jobs/1").text


def test_states_without_a_list_are_explained(client: FlaskClient, jobs: Jobs) -> None:
    """Jobs of fifteen slices, of one, and hostile ones: never an error page."""
    texts = [client.get(f"/jobs/{key}/lookup").text for key in (jobs.lammps, jobs.writer, jobs.short, *jobs.hostile)]
    assert "too few slices" in texts[0]
    assert all('class="sentence"' in text for text in texts)
    assert client.get("/jobs/999999/lookup").status_code == 404


def test_one_stretch_says_what_was_higher_then(neighbours: FlaskClient) -> None:
    found = neighbours.get(f"/jobs/1/lookup.json?{STRETCH}").json
    assert found["slices"] == [BEGIN, BEGIN + 2]
    first = found["suspects"][0]
    assert (first["job_id"], first["found"]) == ("culprit", True)
    assert first["p_then"] < 0.4
    rest = [s["p_then"] <= 0.05 for s in found["suspects"] if not s["found"]]
    assert rest == sorted(rest, reverse=True)
    text = neighbours.get(f"/jobs/1/lookup?{STRETCH}").text
    assert "Whole run" in text
    assert "of stretches of this length" in text


def test_a_stretch_that_is_most_of_the_run_gets_the_list_of_the_run(neighbours: FlaskClient) -> None:
    """Nothing is left to compare it with: a list of what rose in it would say that nothing did."""
    query = f"from={(FIRST_SLICE + 1) * 4000}&to={(FIRST_SLICE + SLICES) * 4000}"
    found, whole = (neighbours.get(f"/jobs/1/lookup.json{q}").json for q in (f"?{query}", ""))
    assert (found["slices"], found["compared"], whole["compared"]) == ([1, SLICES], False, False)
    assert found["suspects"] == whole["suspects"]
    assert found["sentence"].startswith("This stretch is most of the run")
    assert found["sentence"].endswith(whole["sentence"])
    text = neighbours.get(f"/jobs/1/lookup?{query}").text
    assert "What rose when it lost time" in text
    assert "As high in stretches" not in text
    assert "Whole run" in text
    assert neighbours.get(f"/jobs/1/lookup.json?{STRETCH}").json["compared"]


def test_the_first_of_a_stretch_rose_in_it(neighbours: FlaskClient) -> None:
    suspects = neighbours.get(f"/jobs/1/lookup.json?{STRETCH}").json["suspects"]
    rose = [s["rose"] for s in suspects]
    assert rose[0]
    assert rose == sorted(rose, reverse=True)


def test_resources_are_named_in_words(neighbours: FlaskClient) -> None:
    first = neighbours.get("/jobs/1/lookup.json").json["suspects"][0]
    assert first["resource"] == "fs:disk@node01"
    assert first["words"].lower() == f"{first['load']} on the local disk of node01 by job culprit.0"
    for path in ("/jobs/1/lookup", f"/jobs/1/lookup?{STRETCH}", "/lookup?resource=fs:disk@node01"):
        seen = re.sub(r"<[^>]*>", "", neighbours.get(path).text)
        assert "local disk of node01" in seen
        assert "@node01" not in seen
        assert "fs:disk" not in seen


def test_what_is_withheld_is_neither_drawn_nor_called_quiet() -> None:
    """A job of another user was found; of its stretch nothing is told, and the sum that it is in is withheld."""
    line = Line(
        "hidden", None, "cpu@n1", "processors in use", Role.LOAD, "processors", True, 0.9, 0.8, 0.0, 0.001, 0.01
    )
    withheld = replace(line, kind="together", values=np.full(10, np.nan), has_gaps=True)
    sign = replace(line, kind="node", resource="the job's nodes", values=np.ones(10), p_then=0.9)
    found = Lookup(
        loss="lost time", per_slice=np.ones(10), lines=(line, withheld, sign), tested=3, left_out=0, repeats=True,
        why_not="", window=(2, 4), resource=None, resources=("cpu@n1",),
    )  # fmt: skip
    assert found.chosen(None) is sign
    assert found.chosen(0) is None
    chance = replace(sign, kind="server", found=False)
    assert replace(found, lines=(line, withheld, chance)).chosen(None) is None, "beside a finding chance says nothing"
    assert found.sentence.startswith("What other users' jobs did is not told of one stretch.")
    assert "Processors in use on n1 by a job of another user rose with 90 %" in found.sentence


@pytest.mark.parametrize(
    "query", ["from=0&to=1", f"from={FIRST_SLICE * 4000}&to={(FIRST_SLICE + SLICES) * 4000}", "from=&to=", "from=5"]
)
def test_times_that_are_no_stretch_of_it_ask_about_the_whole_run(neighbours: FlaskClient, query: str) -> None:
    answer = neighbours.get(f"/jobs/1/lookup.json?{query}")
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        assert answer.json["slices"] is None


@pytest.mark.parametrize(
    "query",
    [
        "from=x",
        "to=-1",
        "show=-1",
        "from=99999999999999",
        "to=9000000000000",
        "from=0001-01-01",
        "resource=" + "x" * 600,
        "a=1",
    ],
)
def test_impossible_parameters_are_told(neighbours: FlaskClient, query: str) -> None:
    assert neighbours.get(f"/jobs/1/lookup?{query}").status_code == 400


def test_one_resource(neighbours: FlaskClient) -> None:
    found = neighbours.get("/jobs/1/lookup.json?resource=cpu@node01").json
    assert {s["resource"] for s in found["suspects"]} == {"cpu@node01"}
    nothing = neighbours.get("/jobs/1/lookup?resource=nothing")
    assert nothing.status_code == 200
    assert "No other profiled job" in nothing.text


def test_the_picture_has_the_dents_over_the_load(neighbours: FlaskClient) -> None:
    for theme in ("light", "dark"):
        figure = neighbours.get(f"/jobs/1/lookup/figure.json?theme={theme}").json
        loss, load = (t for t in figure["data"] if t["meta"]["part"] == "line")
        # The dents follow the load: where the culprit was busy the victim lost time.
        lost, busy = np.array(loss["y"]) > 0.5, np.array(load["y"]) > 0
        assert np.mean(lost[busy]) > 0.8
        assert not lost[~busy].any()
        titles = [a["text"] for a in figure["layout"]["annotations"]]
        assert "by job culprit.0" in titles[1]
    drawn = neighbours.get(f"/jobs/1/lookup/figure.json?{STRETCH}").json["layout"]["shapes"]
    (asked,) = [shape for shape in drawn if shape["name"] == "asked"]
    assert asked["x1"] - asked["x0"] == 8000


def test_a_hostile_name_is_text_in_the_picture(client: FlaskClient, jobs: Jobs) -> None:
    for key in (jobs.lammps, *jobs.hostile):
        text = client.get(f"/jobs/{key}/lookup/figure.json").text
        assert "<script" not in text
        assert "<svg" not in text


def test_who_loaded_a_resource(neighbours: FlaskClient) -> None:
    query = f"resource=fs:disk@node01&from={FIRST_SLICE * 4000}&to={(FIRST_SLICE + SLICES) * 4000}"
    found = neighbours.get(f"/lookup.json?{query}").json
    amounts = [job["amount"] for job in found["jobs"]]
    assert amounts == sorted(amounts, reverse=True)
    assert sum(amounts) == pytest.approx(found["amount"])
    assert {job["job_id"] for job in found["jobs"]} == {"victim", "culprit"} | {f"other{k}" for k in range(1, 6)}
    inside = neighbours.get(f"/lookup.json?resource=fs:disk@node01&{STRETCH}").json
    assert inside["jobs"][0]["amount"] < found["jobs"][0]["amount"]
    assert "culprit&lt;b&gt;" in neighbours.get(f"/lookup?{query}").text
    assert len(neighbours.get(f"/lookup/figure.json?{query}").json["data"]) > 0


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", 200),
        ("resource=fs:net", 200),
        ("resource=nothing", 400),
        ("resource=partition@batch", 400),
        ("load=nothing", 400),
        ("from=2025-10-09T08:00&to=2025-10-09T09:00:04", 200),
        ("from=2025-10-09T08:00&to=2025-10-10T09:00", 400),
        ("from=5000&to=5000", 400),
        ("from=soon&to=later", 400),
    ],
)
def test_ranges(neighbours: FlaskClient, query: str, code: int) -> None:
    for path in ("/lookup", "/lookup.json", "/lookup/figure.json"):
        assert neighbours.get(f"{path}?{query}").status_code == code


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """A victim and a writer on a network file system, below one switch; their nodes and its server were watched."""
    return create_app(_make_watched(tmp_path_factory.mktemp("watched"))).test_client()


def _make_watched(folder: Path) -> str:
    url = f"sqlite:///{folder}/watched.db"
    engine = open_database(url)
    store_topology(engine, {"a": ("leaf1",), "b": ("leaf1",), "c": ("leaf1",)})
    n_segments, slow = segments_of(BUSY)
    rates = {"mpi_p2p_bytes_out": 1e7, "posix_net_read_bytes": 1e5, "cpu_time": 9e8}
    victim = make_lammps(
        job_id="victim", hosts=("a", "b"), n_slices=SLICES, factor=None, rates=rates, n_segments=n_segments,
        slow_segments=slow,
    )  # fmt: skip
    load_profile(engine, victim, evaluation=evaluate(victim))
    writer = make_profile(
        job_id="writer", uid=5, user="eve", hosts=("b", "c"), n_slices=SLICES, jitter=0.1,
        rates={"posix_net_write_bytes": 1e8, "mpi_p2p_bytes_out": 5e7}, factor=list(BUSY), functions={},
    )  # fmt: skip
    load_profile(engine, writer)
    noise = np.random.default_rng(3)
    for node, serves, values in (
        ("a", "", {"psi_io_some": 1e9 * BUSY + 1e7 * noise.random(SLICES), "cpu_steal": 1e8 * noise.random(SLICES)}),
        ("oss1", "fs:net", {"ost_write_bytes": 9e8 * BUSY + 1e8 * noise.random(SLICES)}),
    ):
        columns = {name: BY_NAME[name] for name in values}
        rows = {FIRST_SLICE + j: {(name, ""): int(v[j]) for name, v in values.items()} for j in range(SLICES)}
        load_node_slices(engine, NodeSlices(node, serves, SLICE_NS, columns, rows))
    engine.dispose()
    return url


def test_nodes_servers_and_switches_are_among_the_suspects(watched: FlaskClient) -> None:
    found = watched.get("/jobs/1/lookup.json").json
    lines = {(s["kind"], s["resource"], s["load"]): s for s in found["suspects"]}
    assert lines["node", "the job's nodes", "time that tasks waited for I/O"]["found"]
    assert lines["node", "the job's nodes", "time that tasks waited for I/O"]["is_sign"]
    assert not lines["node", "the job's nodes", "time stolen by the hypervisor"]["found"]
    assert lines["server", "servers of fs:net", "bytes written by clients"]["found"]
    assert lines["job", "fs:net", "bytes written"]["found"]
    assert lines["job", "net:switch@leaf1", "bytes sent by MPI"]["found"]
    assert ("job", "net", "bytes sent by MPI") not in lines  # what they send stays below their switch
    assert found["suspects"][0]["job_id"] == "writer"
    assert "sign" in watched.get("/jobs/1/lookup").text


def test_a_sign_can_be_drawn(watched: FlaskClient) -> None:
    suspects = watched.get("/jobs/1/lookup.json").json["suspects"]
    number = next(i for i, s in enumerate(suspects) if s["load"] == "time that tasks waited for I/O")
    figure = watched.get(f"/jobs/1/lookup/figure.json?show={number}").json
    assert figure["layout"]["annotations"][1]["text"].startswith("Time that tasks waited for I/O")
    assert max(figure["data"][-1]["y"]) == pytest.approx(25, abs=1)  # % of a slice of four seconds


def test_the_page_of_a_job_shows_its_switch(watched: FlaskClient) -> None:
    assert "network below switch leaf1" in watched.get("/jobs/1/figure.json").text
