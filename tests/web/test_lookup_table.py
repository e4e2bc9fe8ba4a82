"""The picture of a lookup as a table: its sums are those of the picture, what is withheld is not in it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import load_profile, open_database, queries, reading
from crosswind.db.events import EVENT_KINDS, Event, store_events
from crosswind.web.figures import Axis
from crosswind.web.jobdata import read_loss
from crosswind.web.lookup_table import MOST_ROWS, load_rows
from support.neighbours import SLICES, make_neighbours
from support.profiles import FIRST_SLICE, make_profile
from support.viewers import client_of, proxied_app

HOUR = 900  # slices


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_neighbours(tmp_path_factory.mktemp("town"))


def cells(client: FlaskClient, path: str) -> list[list[str]]:
    """The table's rows as text."""
    text = client.get(path).text
    table = text[text.index("The picture as a table</summary>") :].partition("</table>")[0]
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_all_that_was_lost_is_in_the_table(url: str) -> None:
    with reading(open_database(url)) as conn:
        lost = read_loss(conn, queries.get_job(conn, 1)).per_slice_s
    rows = cells(client_of(proxied_app(url), "sam"), "/jobs/1/lookup")
    assert len(rows) == MOST_ROWS
    width = SLICES // MOST_ROWS
    expected = lost.reshape(-1, width).sum(axis=1)
    assert [float(row[2]) for row in rows] == pytest.approx(expected.tolist(), rel=0.005)
    begins = [int(re.search(r"from=(\d+)", row[4])[1]) for row in rows]
    assert begins == [(FIRST_SLICE + at) * 4000 for at in range(0, SLICES, width)]
    assert [row[1] for row in rows[:-1]] == [row[0].partition(" ")[2] for row in rows[1:]]


def test_a_gap_has_no_number(url: str) -> None:
    rows = load_rows(Axis(0, 3, 4 * 10**9), np.array([1.0, np.nan, 3.0]))
    assert [(row.begin_ms, row.load) for row in rows] == [(0, 1), (4000, None), (8000, 3)]
    shown, withheld = (
        cells(client_of(proxied_app(url, privacy={"background_jobs": k}), "alice"), "/jobs/1/lookup") for k in (3, 7)
    )
    assert any(re.search("[1-9]", row[3]) for row in shown)
    assert {row[3] for row in withheld if len(row) == 5} <= {"–"}


def test_the_range_begins_with_the_jobs_of_the_last_hour(tmp_path: Path) -> None:
    """Not with what else is known of earlier times, and it ends with the last job."""
    url = make_neighbours(tmp_path)
    engine = open_database(url)
    app = proxied_app(url)

    def fields(viewer: str) -> list[str]:
        return re.findall(r'name="(?:from|to)" value="([^"]*)"', client_of(app, viewer).get("/lookup").text)

    def moments(*slices: int) -> list[str]:
        return [str(np.datetime64((FIRST_SLICE + at) * 4, "s")) for at in slices]

    before = fields("sam")
    assert before == moments(0, SLICES)
    load_profile(engine, make_profile(job_id="old", first_slice=FIRST_SLICE - HOUR, n_slices=10))
    store_events(engine, [Event("", EVENT_KINDS[0], "", (FIRST_SLICE + at) * 4 * 10**9) for at in (-300, 300)])
    assert fields("sam") == before
    load_profile(engine, make_profile(job_id="long", user="bob", first_slice=FIRST_SLICE - HOUR, n_slices=HOUR))
    assert fields("sam") == moments(SLICES - HOUR, SLICES)
    assert fields("alice") == before, "when others began is not told"
