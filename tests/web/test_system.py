"""The page of the system: its picture against the planted numbers, events, loads, and what a user sees of others."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import load_profile, open_database
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app
from support.profiles import FIRST_SLICE, make_lammps, make_profile
from support.sites import SLOW, Jobs
from support.system_grid import START_MS, picture
from support.viewers import client_of, csrf_token, proxied_app

WHEN = f"from={START_MS}&to={START_MS + 60_000}"
NET = {"posix_net_write_calls": 50, "posix_net_write_bytes": 50_000_000, "cpu_time": 500_000_000}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> str:
    """alice on n1 and n2 (disturbed in slices 6 to 8), bob on n2 and n3, and, later, carol and dave on n4."""
    url = f"sqlite:///{tmp_path_factory.mktemp('town')}/town.db"
    engine = open_database(url)
    alice = make_lammps(user="alice", hosts=("n1", "n2"), slow_segments=SLOW, job_id="1")
    load_profile(engine, alice, evaluation=evaluate(alice))
    for number, (user, hosts, at) in enumerate(
        (("bob", ("n2", "n3"), 5), ("carol", ("n4",), 7), ("dave", ("n4",), 7)), 2
    ):
        profile = make_profile(
            job_id=str(number), user=user, uid=number, command=f"{user}prog", hosts=hosts, n_slices=8,
            first_slice=FIRST_SLICE + at, rates=NET, factor={},
        )  # fmt: skip
        load_profile(engine, profile)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def staff(town: str) -> FlaskClient:
    return create_app(town).test_client()


def at(values: np.ndarray, row: int, slice_: float) -> float:
    """The cell in the middle of a slice of WHEN's minute."""
    return values[row, int((slice_ + 0.5) / 15 * values.shape[1])]


def test_cells_hold_what_each_node_did(staff: FlaskClient) -> None:
    answer, values = picture(staff, f"{WHEN}&metric=net_fs")
    assert answer["rows"] == ["n1", "n2", "n3", "n4"]
    assert answer["metric"]["unit"] == "MiB/s"
    one = 5e7 / 2**20
    assert [at(values, row, 9) for row in range(4)] == pytest.approx([0, one, one, 4 * one], rel=0.01)
    assert np.isnan(at(values, 2, 2))
    assert at(values, 1, 2) == 0, "alice ran there and moved nothing"
    assert np.isnan(at(values, 3, 14.4)) == np.isnan(values[3, -1])


def test_processors_are_summed_over_jobs_of_a_node(staff: FlaskClient) -> None:
    answer, values = picture(staff, f"{WHEN}&metric=cpu")
    assert answer["metric"]["unit"] == "processors"
    assert at(values, 1, 11) == pytest.approx(0.99 + 0.5, rel=0.05)
    assert at(values, 0, 11) == pytest.approx(0.99, rel=0.05)


def test_lost_time_is_where_it_was_planted(staff: FlaskClient) -> None:
    answer, values = picture(staff, f"{WHEN}&metric=lost")
    slices = np.flatnonzero(values[0] > 3)
    assert values.shape[1] == 15, "no column is shorter than a slice"
    last_s = 1790 * 0.020 + sum(SLOW.values()) / 1e3  # where the last of the planted segments ends
    assert slices.tolist() == list(range(6, int(last_s / 4) + 1))
    assert "estimated" in answer["metric"]["how"]


def test_jobs_are_outlined_where_they_ran(staff: FlaskClient) -> None:
    answer, _ = picture(staff, WHEN)
    bob = next(job for job in answer["jobs"] if job["user"] == "bob")
    assert bob["rows"] == [[1, 2]]
    assert (bob["begin"], bob["end"]) == (START_MS + 20_000, START_MS + 52_000)
    assert staff.get(f"/jobs/{bob['key']}").status_code == 200


def test_nodes_can_be_cut_and_time_is_bounded(staff: FlaskClient) -> None:
    answer, _ = picture(staff, f"{WHEN}&first=n2&last=n30")
    assert answer["rows"] == ["n2", "n3", "n4"]
    answer, _ = picture(staff, f"from=0&to={START_MS + 60_000}")
    assert answer["to"] - answer["from"] <= 7 * 86_400_000
    answer, _ = picture(staff, "")
    assert (answer["from"], answer["to"]) == (START_MS, START_MS + 60_000), "of a short history all"
    answer, values = picture(staff, f"from={START_MS + 10**8}&to={START_MS + 2 * 10**8}")
    assert answer["rows"] == []
    assert values.size == 0
    for query in ("metric=x", "from=never", "to=253402300799000", "first=" + "n" * 300, "colour=1"):
        assert staff.get(f"/system?{query}").status_code == 400


def test_resources_below_have_the_same_time_axis(staff: FlaskClient) -> None:
    answer, _ = picture(staff, WHEN)
    panel = next(p for p in answer["panels"] if p["resource"] == "fs:net" and p["unit"] == "MiB/s")
    mean, _ = panel["lines"]["write rate, network file systems"]
    assert mean == pytest.approx(
        [0] * 5 + [200 / 1.048576 / 2] * 2 + [600 / 1.048576 / 2] * 6 + [400 / 1.048576 / 2] * 2, rel=0.01
    )


def test_page_lists_what_the_picture_shows(staff: FlaskClient) -> None:
    text = staff.get(f"/system?{WHEN}").text
    assert "4 job steps" in text
    assert 'data-grid="/system/grid.json"' in text
    loads = text[text.index("Who loads what now") : text.index("Events in this time")]
    assert [name for name in re.findall(r'<td class="user">(\w+)', loads)][:1] in (["bob"], ["carol"], ["dave"])
    assert "MiB/s in all" in loads


def test_empty_database_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/e.db"
    open_database(url).dispose()
    client = create_app(url).test_client()
    assert "No job has been collected yet" in client.get("/system").text
    assert client.get("/system/grid.json").status_code == 404


def test_hostile_names_stay_text(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get("/system").text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "\\u003cscript" in client.get("/system/grid.json").text or "<script>" in str(
        client.get("/system/grid.json").json
    )
    assert client.get("/system/grid.json").mimetype == "application/json"
    assert jobs.hostile


# --- events ------------------------------------------------------------------------------------------------------


def event_form(client: FlaskClient, **fields: str) -> dict[str, str]:
    return {"csrf_token": csrf_token(client, f"/system?{WHEN}"), **fields}


def test_staff_adds_changes_and_removes_events(town: str) -> None:
    app = proxied_app(town)
    sam = client_of(app, "sam")
    form = {"kind": "maintenance", "place": "fs:net", "begin": "2025-10-09T08:53:24", "note": "<b>firmware</b>"}
    answer = sam.post("/system/events", data=event_form(sam, **form))
    assert answer.status_code == 303
    text = sam.get(answer.location).text
    assert "&lt;b&gt;firmware&lt;/b&gt;" in text
    assert "goes on" in text
    assert "(sam)" in text
    number = re.search(r"/system/events/(\d+)/remove", text)[1]
    (shown,) = sam.get(f"/system/grid.json?{WHEN}").json["events"]
    assert (shown["kind"], shown["begin"], shown["end"]) == ("maintenance", START_MS + 4000, None)
    assert f'action="/system/events/{number}"' in sam.get(f"/system?{WHEN}&event={number}").text

    form |= {"end": "2025-10-09T08:53:40", "kind": "file_system"}
    assert sam.post(f"/system/events/{number}", data=event_form(sam, **form)).status_code == 303
    (shown,) = sam.get(f"/system/grid.json?{WHEN}").json["events"]
    assert (shown["kind"], shown["end"]) == ("file_system", START_MS + 20_000)

    wrong = sam.post(f"/system/events/{number}", data=event_form(sam, **form | {"end": "2025-10-09T08:53:00"}))
    assert wrong.status_code == 400
    assert "ends before it begins" in wrong.text
    for bad in ({"kind": "party"}, {"begin": "soon"}, {"begin": ""}):
        assert sam.post("/system/events", data=event_form(sam, **form | bad)).status_code == 400

    alice = client_of(app, "alice")
    assert "firmware" in alice.get(f"/system?{WHEN}").text, "users see it"
    assert "csrf_token" not in alice.get(f"/system?{WHEN}").text.partition('id="events"')[2], "and cannot change it"
    data = {"csrf_token": csrf_token(alice, "/tokens")}
    assert alice.post(f"/system/events/{number}/remove", data=data).status_code == 403
    assert sam.post(f"/system/events/{number}/remove").status_code == 400, "without the token of a form"

    assert sam.post(f"/system/events/{number}/remove", data=event_form(sam)).status_code == 303
    assert sam.post(f"/system/events/{number}/remove", data=event_form(sam)).status_code == 404
    assert sam.get(f"/system/grid.json?{WHEN}").json["events"] == []


def test_events_of_nodes_are_for_those_who_were_there(town: str) -> None:
    app = proxied_app(town)
    sam = client_of(app, "sam")
    for node in ("n1", "n4"):
        form = {"kind": "reboot", "place": node, "begin": "2025-10-09T08:53:24", "end": "2025-10-09T08:53:28"}
        assert sam.post("/system/events", data=event_form(sam, **form)).status_code == 303
    places = [event["place"] for event in client_of(app, "alice").get(f"/system/grid.json?{WHEN}").json["events"]]
    assert places == ["n1"]
    for number in re.findall(r"/system/events/(\d+)/remove", sam.get(f"/system?{WHEN}").text):
        sam.post(f"/system/events/{number}/remove", data=event_form(sam))


# --- what a user sees --------------------------------------------------------------------------------------------


def test_a_user_sees_own_nodes_and_own_jobs_alone(town: str) -> None:
    alice = client_of(proxied_app(town), "alice")
    answer, values = picture(alice, f"{WHEN}&metric=net_fs")
    assert answer["rows"] == ["n1", "n2"]
    assert [job["user"] for job in answer["jobs"]] == ["alice"]
    assert np.nanmax(values) == 0, "what bob moved on n2 is not hers"
    text = alice.get(f"/system?{WHEN}").text
    for secret in ("bob", "carol", "dave", "n3", "n4"):
        assert not re.search(rf"\b{secret}", text + str(answer)), secret
    assert "1 job step" in text
    assert "n3" in str(picture(client_of(proxied_app(town), "sam"), WHEN)[0]), "this test can fail"


def test_sums_of_too_few_others_are_withheld(town: str) -> None:
    """Others of alice: bob alone in slices 5 and 6, three of them in 7 to 12, two in 13 and 14, nobody before."""
    answer, _ = picture(client_of(proxied_app(town), "alice"), WHEN)
    panels = [p for p in answer["panels"] if p["resource"] == "fs:net"]
    for panel in panels:
        for mean, high in panel["lines"].values():
            assert [v is not None for v in mean] == [False] * 7 + [True] * 6 + [False] * 2
            assert [v is None for v in high] == [v is None for v in mean]
    assert panels
    assert any("at least 3" in note for note in answer["notes"])
    alone, _ = picture(client_of(proxied_app(town), "alice"), f"from={START_MS}&to={START_MS + 7 * 4000}")
    assert not [p for p in alone["panels"] if p["resource"] == "fs:net"], "neither its unit nor its lines tell of it"
    assert any("at least 3" in note for note in alone["notes"])


def test_loads_now_name_own_jobs_only(town: str) -> None:
    text = client_of(proxied_app(town), "dave").get("/system").text
    loads = text[text.index("Who loads what now") : text.index("Events in this time")]
    assert "daveprog" in loads
    assert "carolprog" not in loads
    assert "in all" not in loads, "too few others in the last slices"
    assert "<meter" not in loads, "a share of what is not told"


# --- size and speed ----------------------------------------------------------------------------------------------


def test_a_wide_system_stays_small(tmp_path: Path) -> None:
    """5000 nodes in 160 rows or less, and less than 300 kB, however many jobs there are."""
    url = f"sqlite:///{tmp_path}/wide.db"
    engine = open_database(url)
    for number in range(25):
        hosts = tuple(f"n{number * 200 + i:04d}" for i in range(200))
        load_profile(
            engine, make_profile(job_id=str(number), hosts=hosts, n_ranks=200, n_slices=30, rates=NET, factor={3: 9.0})
        )
    engine.dispose()
    client = create_app(url).test_client()
    begin = time.monotonic()
    raw = client.get("/system/grid.json?metric=net_fs")
    assert time.monotonic() - begin < 10
    assert len(raw.data) < 300_000
    answer, values = picture(client, "metric=net_fs")
    assert len(answer["rows"]) <= 160
    assert answer["first_of_row"][0] == "n0000"
    assert answer["last_of_row"][-1] == "n4999"
    assert (np.nanmax(values, axis=1) > 8 * np.nanmedian(values, axis=1)).all(), "the peak of each row is kept"
    assert any("largest value" in note for note in answer["notes"])
