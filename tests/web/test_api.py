"""The API's numbers against those the jobs were made of, its bounds, and its description."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import load_profile, open_database
from crosswind.db.retention import prune_detail
from crosswind.web import create_app
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps
from support.sites import HOSTILE, SLOW, Jobs

API = "/api/v1"


def series(answer: dict, name: str) -> dict:
    return next(each for each in answer["series"] if each["name"] == name)


def test_jobs_are_listed_filtered_and_paged(client: FlaskClient) -> None:
    everything = client.get(f"{API}/jobs?size=200").json
    assert everything["total"] == len(everything["jobs"]) == 4 + len(HOSTILE)
    assert [job["job_id"] for job in client.get(f"{API}/jobs?user=bob").json["jobs"]] == ["1002"]
    second = client.get(f"{API}/jobs?size=2&page=2&order=id").json
    assert (second["page"], second["size"], len(second["jobs"])) == (2, 2, 2)


def test_job_is_what_was_loaded(client: FlaskClient, jobs: Jobs) -> None:
    job = client.get(f"{API}/jobs/{jobs.lammps}").json
    assert (job["job_id"], job["user"], job["command"], job["hosts"]) == ("1001", "alice", "lmp", ["node01"])
    assert (job["start_ns"], job["n_slices"]) == (FIRST_SLICE * SLICE_NS, 15)
    assert job["estimate"]["interference_s"] == pytest.approx(len(SLOW) * 0.05, rel=0.05)


def test_timeline_holds_the_planted_rates(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.get(f"{API}/jobs/{jobs.lammps}/timeline").json
    written = series(answer, "write_disk")
    truth = make_lammps().slices["posix_disk_write_bytes"].sum(axis=0) / 4.0  # two ranks, slices of 4 s
    assert written["unit"] == "B/s"
    assert written["mean"] == pytest.approx(truth)
    assert np.mean(written["mean"][6:9]) / np.mean(written["mean"][:6]) == pytest.approx(0.6, rel=0.02)
    assert (answer["first_slice"], answer["slice_ns"], answer["n_slices"]) == (FIRST_SLICE, SLICE_NS, 15)


def test_timeline_says_when_time_was_lost(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.get(f"{API}/jobs/{jobs.lammps}/timeline").json
    lost = answer["lost_s"]
    assert sum(lost) == pytest.approx(len(SLOW) * 0.05, rel=0.05)
    assert sum(lost[5:11]) > 0.99 * sum(lost)
    none = client.get(f"{API}/jobs/{jobs.writer}/timeline").json
    assert none["lost_s"] is None
    assert "no segments" in none["lost_unknown_because"]


def test_untrusted_intervals_hold_what_was_planted(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.get(f"{API}/jobs/{jobs.lammps}/untrusted").json
    assert answer["total"] == len(answer["intervals"]) >= 1
    assert sum(row["hit"] for row in answer["intervals"]) >= len(SLOW)
    assert sum(row["lost_ns"] for row in answer["intervals"]) == pytest.approx(len(SLOW) * 5e7, rel=0.05)
    begin, end = ((FIRST_SLICE + j) * SLICE_NS for j in (5, 11))
    assert all(begin < row["begin_ns"] < row["end_ns"] < end for row in answer["intervals"])
    none = client.get(f"{API}/jobs/{jobs.writer}/untrusted").json
    assert (none["intervals"], none["total"]) == (None, None)
    assert "no segments" in none["unknown_because"]


def test_background_is_the_others_without_the_job(client: FlaskClient, jobs: Jobs) -> None:
    """On node01 only the writer is beside LAMMPS: 50 MB/s in slices 6 to 8, nothing else."""
    answer = client.get(f"{API}/jobs/{jobs.lammps}/background").json
    disk = next(each for each in answer["series"] if (each["resource"], each["name"]) == ("fs:disk", "write_disk"))
    assert disk["others"] == pytest.approx([5e7 if 6 <= j <= 8 else 0 for j in range(15)])
    assert disk["resources"] == ["fs:disk@node01"]
    own = make_lammps().slices["posix_disk_write_bytes"].sum(axis=0) / 4.0
    assert disk["own"] == pytest.approx(own)


def test_background_of_a_pruned_job_is_unknown(tmp_path: Path) -> None:
    """Its own load is in the sums and cannot be taken away, so nothing is said of the others."""
    url = f"sqlite:///{tmp_path}/c.db"
    engine = open_database(url)
    key = load_profile(engine, make_lammps()).job_key
    list(prune_detail(engine, 1 << 62))
    engine.dispose()
    answer = create_app(url).test_client().get(f"{API}/jobs/{key}/background").json
    assert answer["series"] == []
    assert "older than the site keeps them" in answer["unknown_because"]


def test_killed_rank_leaves_a_gap_only_where_nobody_was(client: FlaskClient, jobs: Jobs) -> None:
    cpu = series(client.get(f"{API}/jobs/{jobs.killed}/timeline").json, "cpu")
    assert cpu["mean"][:7] == pytest.approx([2 * 0.99] * 7, rel=0.1)
    assert cpu["mean"][7:] == pytest.approx([0.99] * 8, rel=0.1)


def test_access_is_what_the_processes_did_together(client: FlaskClient, jobs: Jobs) -> None:
    classes = client.get(f"{API}/jobs/{jobs.lammps}/access").json["classes"]
    assert classes.keys() == {"disk", "net"}
    write, read = classes["disk"]["posix_write"], classes["net"]["posix_read"]
    assert write["steps"] == {"first": 4, "next": 190, "back": 2, "ahead": 4, "strided": 0}
    assert (write["pattern"], write["requests"]) == ("aggregate-write", 202)
    assert write["sizes"] == [[0, 2], [64, 6], [65536, 194]]
    assert read["pattern"] == "mostly open-read-close"
    assert classes["disk"]["files"]["own_written"] == 4
    assert (classes["net"]["files"]["shared_read"], classes["net"]["files"]["own_read"]) == (30, 0)


def test_points_are_binned_on_request(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.get(f"{API}/jobs/{jobs.lammps}/timeline?max_points=5").json
    assert answer["slices_per_point"] == 3
    assert {len(each["mean"]) for each in answer["series"]} == {5}
    whole = client.get(f"{API}/jobs/{jobs.lammps}/timeline").json
    assert sum(answer["lost_s"]) == pytest.approx(sum(whole["lost_s"]))
    assert series(answer, "write_disk")["low"][2] == min(series(whole, "write_disk")["mean"][6:9])


@pytest.mark.parametrize(
    "path",
    [
        "jobs?order=evil",
        "jobs?size=201",
        "jobs?page=0",
        "jobs?colour=blue",
        "jobs/1/timeline?max_points=0",
        "jobs/1/background?max_points=x",
    ],
)
def test_bad_parameters_are_400(client: FlaskClient, path: str) -> None:
    answer = client.get(f"{API}/{path}")
    assert answer.status_code == 400
    assert path.partition("?")[2].partition("=")[0] in answer.json["errors"]["query"]


@pytest.mark.parametrize(
    "path", ["jobs/99999", "jobs/99999/timeline", "jobs/99999/background", f"jobs/{10**30}", "nothing"]
)
def test_unknown_things_are_404_in_json(client: FlaskClient, path: str) -> None:
    answer = client.get(f"{API}/{path}")
    assert answer.status_code == 404
    assert answer.json["code"] == 404
    assert answer.json["message"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_back_as_they_are(client: FlaskClient, jobs: Jobs, name: str) -> None:
    answer = client.get(f"{API}/jobs/{jobs.hostile[HOSTILE.index(name)]}")
    assert answer.mimetype == "application/json"
    assert (answer.json["user"], answer.json["command"]) == (name, name)
    listed = client.get(f"{API}/jobs", query_string={"user": name, "command": name}).json
    assert [job["key"] for job in listed["jobs"]] == [jobs.hostile[HOSTILE.index(name)]]


def test_description_is_valid_and_names_every_route(client: FlaskClient, app) -> None:
    document = client.get(f"{API}/openapi.json").json
    assert document["openapi"].startswith("3.")
    described = set(document["paths"])
    served = {
        rule.rule.replace("<int:key>", "{key}") for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")
    } - {f"{API}/openapi.json"}
    assert described == served
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "#/')[1:]}:
        target = document
        for step in reference.split("/"):
            target = target[step]  # KeyError: the reference leads nowhere
    for path in document["paths"].values():
        answers = path["get"]["responses"]
        assert "200" in answers
        assert answers["200"]["content"]["application/json"]["schema"]


def test_answers_fit_the_description(client: FlaskClient, jobs: Jobs) -> None:
    schemas = client.get(f"{API}/openapi.json").json["components"]["schemas"]
    answers = {
        "JobAnswer": client.get(f"{API}/jobs/{jobs.lammps}").json,
        "JobList": client.get(f"{API}/jobs").json,
        "TimelineAnswer": client.get(f"{API}/jobs/{jobs.lammps}/timeline").json,
        "BackgroundAnswer": client.get(f"{API}/jobs/{jobs.lammps}/background").json,
        "AccessAnswer": client.get(f"{API}/jobs/{jobs.lammps}/access").json,
    }
    for name, answer in answers.items():
        assert set(answer) == set(schemas[name]["properties"]), name
        assert set(schemas[name]["required"]) <= set(answer)
