"""What a user learns of others: sums of at least k planted jobs, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import load_profile, open_database
from support.profiles import FIRST_SLICE, SLICE_NS, WRITER_RATES, make_lammps, make_profile
from support.viewers import client_of, proxied_app

N = 12
# user: (slices on node01, writes in slices 0 to 11 in units of WRITER_RATES)
OTHERS = {"bob": (0, 12), "carol": (3, 12), "dave": (6, 12), "erin": (6, 9)}
ENOUGH = [at >= 6 for at in range(N)]  # bob, carol and dave


@dataclass(frozen=True)
class Planted:
    """The database, the key of alice's job, and what the others wrote in each slice, B/s."""

    url: str
    key: int
    written: np.ndarray


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    url = f"sqlite:///{tmp_path_factory.mktemp('privacy')}/c.db"
    engine = open_database(url)
    key = load_profile(engine, make_lammps(n_slices=N)).job_key
    written = np.zeros(N)
    for uid, (user, (first, end)) in enumerate(OTHERS.items()):
        profile = make_profile(
            job_id=user, user=user, uid=3000 + uid, command="w", n_ranks=1, mpi="", n_slices=end - first,
            first_slice=FIRST_SLICE + first, rates=WRITER_RATES,
        )  # fmt: skip
        load_profile(engine, profile)
        written[first:end] += profile.slices["posix_disk_write_bytes"].sum(axis=0) / (SLICE_NS / 1e9)
    engine.dispose()
    return Planted(url, key, written)


def viewed(planted: Planted, user: str, k: int = 3) -> FlaskClient:
    return client_of(proxied_app(planted.url, privacy={"background_jobs": k}), user)


def background(client: FlaskClient, planted: Planted) -> tuple[list, dict]:
    answer = client.get(f"/api/v1/jobs/{planted.key}/background").json
    rows = [each for each in answer["series"] if (each["resource"], each["name"]) == ("fs:disk", "write_disk")]
    return rows[0]["others"] if rows else [None] * N, answer


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_slice_is_shown_where_k_others_ran(planted: Planted, k: int) -> None:
    there = np.array([sum(first <= at < end for first, end in OTHERS.values()) for at in range(N)])
    others, answer = background(viewed(planted, "alice", k), planted)
    for at in range(N):
        if there[at] >= k:
            assert others[at] == pytest.approx(planted.written[at])
        else:
            assert others[at] is None
    assert f"at least {k} " in answer["withheld_because"], "on the network nobody was"


def test_staff_see_every_slice(planted: Planted) -> None:
    others, answer = background(viewed(planted, "sam"), planted)
    assert others == pytest.approx(planted.written.tolist())
    assert answer["withheld_because"] == ""


def test_grafana_sees_the_same(planted: Planted) -> None:
    query = f"job={planted.key}&resource=fs:disk&name=write_disk"
    points = viewed(planted, "alice").get(f"/api/v1/series/background?{query}").json
    assert [point["value"] is not None for point in points] == ENOUGH
    assert [point["time"] for point in points] == [(FIRST_SLICE + at) * SLICE_NS // 10**6 for at in range(N)]
    assert [p["value"] for p in points[6:]] == pytest.approx(planted.written[6:].tolist())


def test_a_mean_over_slices_holds_none_that_is_withheld(planted: Planted) -> None:
    answer = viewed(planted, "alice").get(f"/api/v1/jobs/{planted.key}/background?max_points=2").json
    row = next(each for each in answer["series"] if (each["resource"], each["name"]) == ("fs:disk", "write_disk"))
    assert row["others"] == [None, pytest.approx(planted.written[6:].mean())]
    answer = viewed(planted, "alice").get(f"/api/v1/jobs/{planted.key}/background?max_points=1").json
    row = next(each for each in answer["series"] if (each["resource"], each["name"]) == ("fs:disk", "write_disk"))
    assert row["others"] == [pytest.approx(planted.written[6:].mean())]


@pytest.mark.parametrize("n_others", [0, 2, 3])
def test_the_system_is_shown_where_k_others_ran(tmp_path: Path, n_others: int) -> None:
    """Her own load alice can take away."""
    url = f"sqlite:///{tmp_path}/c.db"
    engine = open_database(url)
    sent = 0.0
    for uid in range(n_others + 1):
        profile = make_lammps(job_id=str(uid), user=f"user{uid}", uid=4000 + uid, n_slices=N, hosts=(f"n{uid}",))
        load_profile(engine, profile)
        sent = sent + profile.slices["mpi_coll_all_to_all_bytes_out"].sum(axis=0)
    engine.dispose()
    begin, end = (at * SLICE_NS // 10**6 for at in (FIRST_SLICE, FIRST_SLICE + N))
    path = f"/api/v1/series/system?resource=net&name=coll_bytes&from={begin}&to={end}"
    values = [point["value"] for point in client_of(proxied_app(url), "user0").get(path).json]
    staff = [point["value"] for point in client_of(proxied_app(url), "sam").get(path).json]
    assert len(values) == len(staff) == N
    assert min(staff) >= sent.min() / (SLICE_NS / 1e9) > 0
    assert values == (staff if n_others >= 3 else [None] * N)


@pytest.mark.parametrize("resource", ["fs:disk@node01", "cpu@node01", "cpu@nowhere", "nothing", "fs:net@x", "cpu"])
def test_nodes_of_others_are_not_there(planted: Planted, resource: str) -> None:
    path = f"/api/v1/series/system?resource={resource}&name=cpu&from=1&to=4000"
    answer = viewed(planted, "alice").get(path)
    assert answer.status_code == 404
    assert answer.json["message"].startswith("There is no shared resource")


_OF_THE_SESSION = re.compile(r'name="csrf_token" value="[^"]*"')


def test_what_is_withheld_does_not_depend_on_what_others_did(tmp_path: Path) -> None:
    """Two sites that differ only in how much bob, who is alone, wrote: alice's answers are the same, byte for byte."""
    answers = []
    for factor in (1.0, 7.0):
        folder = tmp_path / str(factor)
        folder.mkdir()
        url = f"sqlite:///{folder}/c.db"
        engine = open_database(url)
        key = load_profile(engine, make_lammps(n_slices=N)).job_key
        rates = {name: rate * factor for name, rate in WRITER_RATES.items()}
        load_profile(
            engine,
            make_profile(
                job_id="2", user="bob", uid=3000, command="w", n_ranks=1, mpi="", n_slices=N, rates=rates, seed=2
            ),
        )
        engine.dispose()
        client = client_of(proxied_app(url), "alice")
        paths = (
            f"/api/v1/jobs/{key}/background",
            f"/jobs/{key}/figure.json?plots=all",
            f"/jobs/{key}/figure.json",
            f"/jobs/{key}",
            f"/jobs/{key}?tab=lookup",
            f"/jobs/{key}/lookup",
            f"/jobs/{key}/lookup.json",
            f"/jobs/{key}/lookup/figure.json",
            f"/jobs/{key}/lookup/other-side.json",
            f"/jobs/{key}/plot.csv?plot=cpu",
            "/lookup.json?resource=fs:net&from=1759999900000&to=1760000600000",
            "/system",
            "/system/grid.json",
            "/jobs.csv",
            f"/compare?jobs={key},{key}",
            f"/api/v1/series/background?job={key}&resource=fs:disk&name=write_disk",
            "/",
            "/api/v1/jobs",
        )
        answers.append({path: re.sub(_OF_THE_SESSION, "", client.get(path).text) for path in paths})
    for path, text in answers[0].items():
        assert text == answers[1][path], path


def test_two_users_together_learn_no_more_than_documented(planted: Planted) -> None:
    """With k = 3, bob's share taken from what alice sees leaves at least two jobs; with k = 4 three."""
    for k, left in ((3, 2), (4, 3)):
        others, _ = background(viewed(planted, "alice", k), planted)
        for at in range(N):
            if others[at] is not None:
                rest = [user for user, (first, end) in OTHERS.items() if user != "bob" and first <= at < end]
                assert len(rest) >= left
