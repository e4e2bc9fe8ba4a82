"""The numbers of the heat map and of the segments' figures as CSV, against the profile that was loaded."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import load_profile, open_database
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app
from crosswind.web.pages.job import tables_csv
from support.profiles import FIRST_SLICE, make_lammps
from support.sites import SLOW, Jobs

FIRST_MS = FIRST_SLICE * 4000


def table(client: FlaskClient, path: str) -> tuple[list[str], list[list[str]]]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/csv"
    head, *rows = csv.reader(io.StringIO(answer.text))
    return head, rows


def test_heat_map_slice_by_slice(client: FlaskClient, jobs: Jobs) -> None:
    head, rows = table(client, f"/jobs/{jobs.killed}/heat.csv?metric=write_disk")
    assert head == ["slice", "slices", "begin_utc", "rank 0 on node02 [B/s]", "rank 1 on node02 [B/s]"]
    assert rows[0][:3] == [str(FIRST_SLICE), "1", "2025-10-09T08:53:20Z"]
    own = make_lammps(job_id="1003", killed_rank=1, hosts=("node02",)).slices["posix_disk_write_bytes"] / 4.0
    assert [float(row[3]) for row in rows] == pytest.approx(own[0], rel=1e-8)
    assert [row[4] == "" for row in rows] == [False] * 7 + [True] * 8, "a gap where it was killed"
    head, rows = table(
        client, f"/jobs/{jobs.killed}/heat.csv?metric=write_disk&rows=node&from={FIRST_MS + 8000}&to={FIRST_MS + 16000}"
    )
    assert head[3:] == ["node02 [B/s]"]
    assert [(int(row[0]), float(row[3])) for row in rows] == [
        (FIRST_SLICE + at, pytest.approx(own[:, at].sum(), rel=1e-8)) for at in (2, 3)
    ]
    head, _ = table(client, f"/jobs/{jobs.killed}/heat.csv?metric=write_disk&first_row=1&n_rows=1")
    assert head[3:] == ["rank 1 on node02 [B/s]"]


def test_a_large_map_is_cells_of_several(client: FlaskClient, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_csv, "MAX_COLUMNS", 1)
    monkeypatch.setattr(tables_csv, "MAX_VALUES", 5)
    head, rows = table(client, f"/jobs/{jobs.lammps}/heat.csv?metric=write_disk&cells=high")
    assert head[3] == "rank 0 on node01 and 1 more [B/s]"
    assert [row[1] for row in rows] == ["3"] * 5
    own = make_lammps(slow_segments=SLOW).slices["posix_disk_write_bytes"] / 4.0
    assert [float(row[3]) for row in rows] == pytest.approx(own.reshape(2, 5, 3).max(axis=(0, 2)), rel=1e-8)


def test_segments_boxes_hits_and_histogram(client: FlaskClient, jobs: Jobs) -> None:
    drawn = client.get(f"/jobs/{jobs.lammps}/clusters.json").json["clusters"][0]
    head, (box,) = table(client, f"/jobs/{jobs.lammps}/clusters.csv")
    named = dict(zip(head, box, strict=True))
    assert (named["cluster"], named["segments"]) == ("1", "3000")
    assert float(named["median_us"]) == pytest.approx(drawn["median_us"], rel=1e-8)
    head, hits = table(client, f"/jobs/{jobs.lammps}/clusters.csv?part=timeline")
    assert head == ["cluster", "segment", "begin_utc_ms", "duration_us", "lost_us"]
    assert [int(row[1]) for row in hits] == sorted(SLOW)
    assert all(FIRST_MS + 24_000 <= int(row[2]) <= FIRST_MS + 44_000 for row in hits)
    head, bars = table(client, f"/jobs/{jobs.lammps}/clusters.csv?part=histogram")
    assert np.array(bars, dtype=float)[:, 3:5].sum(axis=0).tolist() == [3000 - len(SLOW), len(SLOW)]


@pytest.mark.parametrize("part", ["boxes", "timeline", "histogram"])
def test_a_job_without_segments_has_heads_alone(client: FlaskClient, jobs: Jobs, part: str) -> None:
    head, rows = table(client, f"/jobs/{jobs.writer}/clusters.csv?part={part}")
    assert head[0] == "cluster"
    assert rows == []


def test_what_is_not_there_says_so(client: FlaskClient, jobs: Jobs) -> None:
    assert client.get(f"/jobs/{jobs.lammps}/clusters.csv?part=evil").status_code == 400
    assert client.get("/jobs/999999/heat.csv").status_code == 404


def test_names_are_no_formulas(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/evil.db"
    plain = make_lammps(hosts=("=cmd()", "@x"))
    assert plain.segments is not None
    closed_at = np.zeros(plain.segments.n_segments, dtype=np.int64)
    named = replace(plain, segments=replace(plain.segments, closed_at=closed_at, places=("=1+1",)))
    engine = open_database(url)
    key = load_profile(engine, named, evaluation=evaluate(named)).job_key
    engine.dispose()
    client = create_app(url).test_client()
    head, _ = table(client, f"/jobs/{key}/heat.csv?metric=write_disk&rows=node")
    assert head[3:] == ["'=cmd() [B/s]", "'@x [B/s]"]
    _, (box,) = table(client, f"/jobs/{key}/clusters.csv")
    assert box[-1] == "'=1+1"
