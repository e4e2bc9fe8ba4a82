"""Jobs whose lost time is not stored, or damaged: their pages say so and stay whole, and it can be made again."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, delete, update

from crosswind.db import Evaluation, schema
from crosswind.db.connection import open_database, writing
from crosswind.db.store import load_profile
from crosswind.profile.model import Profile
from crosswind.tools import evaluation
from crosswind.tools.evaluation import evaluate, evaluate_again
from crosswind.web import create_app
from support.profiles import make_lammps, make_writer
from support.sites import SLOW


@pytest.fixture
def database(tmp_path: Path) -> Engine:
    return open_database(f"sqlite:///{tmp_path}/own.db")


def pages(engine: Engine, key: int) -> tuple[str, dict, dict]:
    client: FlaskClient = create_app(str(engine.url)).test_client()
    answers = [client.get(f"{at}/{key}{rest}") for at, rest in (("/jobs", ""), ("/api/v1/jobs", "/timeline"))]
    figure = client.get(f"/jobs/{key}/figure.json")
    assert [answer.status_code for answer in (*answers, figure)] == [200, 200, 200]
    return answers[0].text, answers[1].json, figure.json


def test_pages_do_not_estimate(database: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    key = load_profile(database, make_lammps(slow_segments=SLOW), evaluation=evaluate(make_lammps(slow_segments=SLOW)))
    monkeypatch.setattr("crosswind.analysis.interference.estimate", None)
    monkeypatch.setattr("crosswind.db.queries.get_segments", None)
    text, timeline, figure = pages(database, key.job_key)
    assert "to interference" in text
    assert sum(timeline["lost_s"]) == pytest.approx(len(SLOW) * 0.05, rel=0.05)
    assert figure["notes"] == ["No other profiled job used a resource of this job while it ran."]


def test_a_job_without_an_estimate_says_how_to_get_one(database: Engine) -> None:
    key = load_profile(database, make_lammps(slow_segments=SLOW)).job_key
    text, timeline, figure = pages(database, key)
    assert "cannot be told. When time was lost is not stored with this job: crosswind collect --estimate-again" in text
    assert timeline["lost_s"] is None
    assert "--estimate-again" in timeline["lost_unknown_because"]
    assert any("Nothing is shaded. When time was lost is not stored" in note for note in figure["notes"])


def test_damage_leaves_the_page_and_its_verdict(database: Engine) -> None:
    profile = make_lammps(slow_segments=SLOW)
    key = load_profile(database, profile, evaluation=evaluate(profile)).job_key
    with writing(database) as conn:
        conn.execute(update(schema.lost_time).values(per_slice=b"\1damaged"))
    text, timeline, figure = pages(database, key)
    assert "Lost about" in text
    assert timeline["lost_s"] is None
    assert "damaged" in timeline["lost_unknown_because"]
    assert any("damaged" in note for note in figure["notes"])
    assert list(evaluate_again(database)) == []
    assert sum(pages(database, key)[1]["lost_s"]) == pytest.approx(len(SLOW) * 0.05, rel=0.05)


def test_estimates_are_made_again_for_all_jobs_and_one_that_fails_is_named(database: Engine) -> None:
    keys = [
        load_profile(database, profile).job_key
        for profile in (make_lammps(slow_segments=SLOW), make_writer(), make_lammps(job_id="1009"))
    ]
    with writing(database) as conn:
        conn.execute(update(schema.segments).where(schema.segments.c.job_key == keys[2]).values(data=b"rubbish"))
        conn.execute(delete(schema.lost_time))
    failures = list(evaluate_again(database))
    assert len(failures) == 1
    assert failures[0].startswith(f"job {keys[2]} keeps what was stored: ")
    text, timeline, _ = pages(database, keys[0])
    assert "Lost about" in text
    assert sum(timeline["lost_s"]) == pytest.approx(len(SLOW) * 0.05, rel=0.05)
    assert "no segments" in pages(database, keys[1])[0]


def test_an_estimate_that_breaks_does_not_keep_the_others_out(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [load_profile(database, make_lammps(job_id=str(i))).job_key for i in range(2)]

    def break_the_first(profile: Profile) -> Evaluation | None:
        return evaluate(profile) if profile.job.id == "1" else Evaluation({"x": 1 // 0})

    monkeypatch.setattr(evaluation, "evaluate", break_the_first)
    (failure,) = evaluate_again(database)
    assert failure.startswith(f"job {keys[0]} keeps what was stored: ")
