"""Runs side by side: the planted slow run is named, its numbers stand in tables and picture; every other state."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.analysis.comparison import compare
from crosswind.db import load_profile, open_database, queries, reading
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app
from crosswind.web.comparison_marks import legend_path, picture_of
from support.profiles import make_lammps, make_writer
from support.sites import SLOW
from support.viewers import client_of, proxied_app


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """lmp of alice three times: plain, hit in places (2), slower throughout by 6 % (3); bob's writer; carol's lmp."""
    url = f"sqlite:///{tmp_path_factory.mktemp('runs')}/runs.db"
    engine = open_database(url)
    everywhere = dict.fromkeys(range(3000), 1.2)
    for profile in (
        make_lammps(job_id="901", seed=1),
        make_lammps(job_id="902", seed=2, slow_segments=SLOW),
        make_lammps(job_id="903", seed=3, slow_segments=everywhere),
        make_writer(job_id="904"),
        make_lammps(job_id="905", user="carol", uid=7, seed=4),
        make_lammps(job_id="906", seed=5, command="lmp_other"),
    ):
        load_profile(engine, profile, evaluation=evaluate(profile))
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def pages(runs: str) -> FlaskClient:
    return create_app(runs).test_client()


def test_the_slow_run_is_named_with_its_numbers(pages: FlaskClient) -> None:
    text = pages.get("/compare?jobs=1,2,3").text
    sentence = re.search(r'<p class="sentence">([^<]*)', text)[1]
    assert sentence.startswith("903.0 was slower throughout: about 5.")
    marked = re.findall(r'<b class="slower">● ([\d.]+) %', text)
    assert [float(value) for value in marked] == [pytest.approx(100 * 1.2 / 21.2, abs=0.5)]
    clusters = text[text.index('id="clusters-title"') :]
    cells = re.findall(r'<td class="number(?: run-head)?">([^<]*)</td>', clusters)
    assert [float(cells[4 * run + 2]) for run in range(3)] == pytest.approx([20.04, 20.04, 21.24], rel=0.005)
    assert float(cells[7]) == pytest.approx(sum(SLOW.values()) / 1e3, rel=0.1), "what the second lost, in s"


def test_the_picture_shows_the_same(runs: str, pages: FlaskClient) -> None:
    with reading(open_database(runs)) as conn:
        found = compare([queries.get_segments(conn, key) for key in (1, 2, 3)])
    picture = picture_of(found, ["a", "b", "c"])
    assert [mark.run for mark in picture.marks[:3]] == [0, 1, 2]
    first, second, third = picture.marks[:3]
    assert third.y < min(first.y, second.y) - 50, "higher up is slower"
    assert all(mark.high <= mark.y <= mark.low for mark in picture.marks)
    per_pct = (picture.ticks[0].at - picture.ticks[1].at) / (
        float(picture.ticks[1].label.split()[0]) - float(picture.ticks[0].label.split()[0])
    )
    zero = next(tick.at for tick in picture.ticks if tick.label == "0 %")
    over = 100 * (found.level_us[2, 0] / np.nanmin(found.level_us[:, 0]) - 1)
    assert (zero - third.y) / per_pct == pytest.approx(over, rel=1e-3)
    assert len({legend_path(run) for run in range(8)}) == 8, "shapes tell runs apart without colour"
    text = pages.get("/compare?jobs=1,2,3").text
    assert text.count('class="interval"') == len(picture.marks)
    assert "style=" not in text


def test_runs_of_the_same_command(pages: FlaskClient) -> None:
    answer = pages.get("/compare?like=1")
    assert answer.status_code == 302
    assert answer.location in ("/compare?jobs=1,3,2", "/compare?jobs=1%2C3%2C2")
    assert "There is no other run of <b>writer</b>" in pages.get("/compare?like=4").text
    assert "Choose two to 8 runs" in pages.get("/compare").text
    assert pages.get("/compare?job=1&job=3").location in ("/compare?jobs=1,3", "/compare?jobs=1%2C3")


def test_runs_that_cannot_be_compared_say_why(pages: FlaskClient) -> None:
    text = pages.get("/compare?jobs=1,3,4").text
    assert "Not compared" in text
    assert "it has no segments" in text
    assert "903.0 was slower" in text
    assert "cannot be compared" in pages.get("/compare?jobs=1,4").text
    assert "different commands" in pages.get("/compare?jobs=1,6").text


@pytest.mark.parametrize("query", ["jobs=x", "jobs=1;2", "jobs=1,2,3,4,5,6,7,8,9", "like=0", "like=x", "runs=1"])
def test_bad_addresses_are_400_with_words(pages: FlaskClient, query: str) -> None:
    answer = pages.get(f"/compare?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.text


def test_links_keep_the_choice(pages: FlaskClient) -> None:
    text = html.unescape(pages.get("/compare?jobs=1,2,3").text)
    assert re.search(r'href="/compare\?jobs=1(,|%2C)3" aria-label="Leave 902.0 out"', text)
    assert 'data-beside="/jobs/2/lookup.json"' in text
    assert 'href="/compare?like=1"' in text


def test_a_user_compares_own_runs_only(runs: str) -> None:
    app = proxied_app(runs)
    alice = client_of(app, "alice")
    assert alice.get("/compare?jobs=1,3").status_code == 200
    assert alice.get("/compare?jobs=1,5").status_code == 404
    assert alice.get("/compare?like=5").status_code == 404
    assert "carol" not in alice.get("/compare?like=1", follow_redirects=True).text
    assert client_of(app, "sam").get("/compare?jobs=1,5").status_code == 200
