"""The lookup page: the culprit on top, hostile names escaped, empty states in words."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from crosswind.web import create_app
from support.neighbours import make_neighbours
from support.sites import Jobs


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
