"""The list of jobs: each filter and order against a plain loop over the jobs, CSV, jobs without a profile, privacy."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from crosswind.db import BatchJob, load_profile, open_database, reading
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.disturbing import read_losses
from crosswind.db.evaluation import Evaluation, LostTime, Stretches
from crosswind.db.job_list import ORDERS, list_jobs
from crosswind.web import create_app
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps, make_profile
from support.sites import HOSTILE, Jobs
from support.viewers import client_of, proxied_app

NET_RATES = {"posix_net_write_calls": 50, "posix_net_write_bytes": 50_000_000, "cpu_time": 500_000_000}
STORM = {"posix_net_meta_calls": 700, "posix_net_read_calls": 5000, "posix_net_read_bytes": 5_000_000}


@dataclass(frozen=True)
class Planted:
    """A job of the site below as this test knows it."""

    job: str
    user: str
    command: str
    account: str
    partition: str
    nodes: int
    ranks: int
    start_s: float  # after the first
    duration_s: float
    volume: float
    pattern: str
    percent: float | None
    idle: float | None


PLANTED = (
    Planted("11", "alice", "lmp", "chem", "batch", 1, 2, 0, 60, 0, "", None, 0.5),
    Planted("12", "alice", "gromacs", "chem", "batch", 2, 4, 400, 120, 4 * 120 * 5e7, "", None, None),
    Planted("13", "bob", "reader", "bio", "fat", 4, 4, 800, 240, 4 * 240 * 5e6, "small requests", 4.0, None),
    Planted("14", "carol", "LMP", "", "", 1, 1, 1600, 20, 0, "", 20.0, None),
)
RATES = {"11": {"cpu_time": 1e9}, "12": NET_RATES, "13": STORM, "14": {"cpu_time": 1e9}}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database with the jobs of PLANTED, and one that has no profile."""
    url = f"sqlite:///{tmp_path_factory.mktemp('list')}/list.db"
    engine = open_database(url)
    batch = []
    for uid, job in enumerate(PLANTED):
        profile = make_profile(
            job_id=job.job, user=job.user, uid=100 + uid, command=job.command, n_ranks=job.ranks,
            hosts=tuple(f"n{uid}{i}" for i in range(job.nodes)), n_slices=round(job.duration_s / 4),
            first_slice=FIRST_SLICE + round(job.start_s / 4), rates=RATES[job.job], factor={},
        )  # fmt: skip
        document = None if job.percent is None else {"interference_pct": job.percent, "class": "low", "certain": True}
        load_profile(engine, profile, evaluation=None if document is None else Evaluation(document))
        if job.account:
            cpus = 4 if job.idle else None
            batch.append(
                BatchJob(job.job, "TIMEOUT" if job.job == "13" else "COMPLETED", 100 + uid, user=job.user,
                         account=job.account, partition=job.partition, start_ns=profile.job.start_ns, cpus=cpus)
            )  # fmt: skip
    batch.append(
        BatchJob("99", "FAILED", 500, user="dora", account="bio", partition="batch", name="bare", hosts=("n1", "n2"),
                 start_ns=FIRST_SLICE * SLICE_NS, end_ns=(FIRST_SLICE + 5) * SLICE_NS)
    )  # fmt: skip
    store_batch_jobs(engine, batch)
    link_steps(engine)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def pages(planted: str) -> FlaskClient:
    return create_app(planted).test_client()


def listed(client: FlaskClient, query: str = "") -> list[str]:
    """The ids of the list, as CSV and page both have them."""
    text = client.get(f"/?size=200&{query}").text
    on_page = re.findall(r'<td class="id">(?:<a href="/jobs/\d+">|<span [^>]*>)(\w+)', text)
    rows = list(csv.DictReader(io.StringIO(client.get(f"/jobs.csv?{query}").text)))
    assert [row["job"] for row in rows] == on_page
    return on_page


START_MS = FIRST_SLICE * SLICE_NS // 10**6
FILTERS: list[tuple[str, Callable[[Planted], bool]]] = [
    ("user=alice", lambda j: j.user == "alice"),
    ("command=lmp", lambda j: "lmp" in j.command.lower()),
    ("job=1", lambda j: "1" in j.job),
    ("job=%25", lambda j: False),
    ("account=chem", lambda j: j.account == "chem"),
    ("partition=fat", lambda j: j.partition == "fat"),
    ("state=finished", lambda j: True),
    ("state=running", lambda j: False),
    ("state=TIMEOUT", lambda j: j.job == "13"),
    ("nodes_from=2", lambda j: j.nodes >= 2),
    ("nodes_to=2", lambda j: j.nodes <= 2),
    ("ranks_from=2&ranks_to=2", lambda j: j.ranks == 2),
    (f"from={START_MS + 500_000}", lambda j: j.start_s + j.duration_s > 500),
    ("to=2025-10-09T09:01:40", lambda j: j.start_s < 500),
    ("duration_from=1m", lambda j: j.duration_s >= 60),
    ("duration_to=90s", lambda j: j.duration_s <= 90),
    ("volume_from=1K", lambda j: j.volume >= 1024),
    ("volume_to=10GiB", lambda j: j.volume <= 10 * 2**30),
    ("pattern=any", lambda j: bool(j.pattern)),
    ("pattern=metadata+storm", lambda j: bool(j.pattern)),
    ("pattern=many+opens", lambda j: False),
    ("class=low", lambda j: j.percent is not None and j.percent < 7.5),
    ("class=high", lambda j: j.percent is not None and j.percent > 15),
    ("class=medium", lambda j: False),
    ("class=unknown", lambda j: j.percent is None),
    ("class=known&interference_to=10", lambda j: j.percent is not None and j.percent <= 10),
    ("interference_from=10", lambda j: (j.percent or 0) >= 10),
    ("idle_from=40&idle_to=60", lambda j: j.idle == 0.5),
    ("user=alice&command=&nodes_from=", lambda j: j.user == "alice"),
]


@pytest.mark.parametrize(("query", "keep"), FILTERS, ids=[query for query, _ in FILTERS])
def test_each_filter_keeps_what_it_says(pages: FlaskClient, query: str, keep: Callable[[Planted], bool]) -> None:
    assert listed(pages, f"{query}&order=id") == [job.job for job in PLANTED if keep(job)]


@pytest.mark.parametrize("name", ORDERS)
def test_each_column_sorts_and_what_lacks_a_value_comes_last(pages: FlaskClient, name: str) -> None:
    values: dict[str, Callable[[Planted], object]] = {
        "start": lambda j: j.start_s, "end": lambda j: j.start_s + j.duration_s, "duration": lambda j: j.duration_s,
        "id": lambda j: j.job, "user": lambda j: j.user, "command": lambda j: j.command,
        "account": lambda j: j.account, "partition": lambda j: j.partition, "state": lambda j: "finished",
        "nodes": lambda j: j.nodes, "ranks": lambda j: j.ranks, "interference": lambda j: j.percent,
        "volume": lambda j: j.volume, "idle": lambda j: j.idle,
        "pattern": lambda j: 20 if j.pattern else 0,
    }  # fmt: skip
    of = {job.job: values[name](job) for job in PLANTED}
    for sign in ("", "-"):
        found = [of[job] for job in listed(pages, f"order={sign}{name}")]
        known = [value for value in found if value is not None]
        assert found == known + [None] * (len(found) - len(known))
        assert known == sorted(known, reverse=bool(sign))


def test_numbers_of_a_line(pages: FlaskClient) -> None:
    (row,) = csv.DictReader(io.StringIO(pages.get("/jobs.csv?job=13").text))
    assert (row["account"], row["partition"], row["batch_state"]) == ("bio", "fat", "TIMEOUT")
    assert (int(row["nodes"]), float(row["duration_s"]), int(row["io_bytes"])) == (4, 240, 4 * 240 * 5_000_000)
    assert set(row["io_patterns"].split()) == {"small-requests", "metadata-storm"}
    (row,) = csv.DictReader(io.StringIO(pages.get("/jobs.csv?job=11").text))
    assert float(row["idle_share"]) == pytest.approx(0.5, abs=0.01), "two of four processors"
    text = pages.get("/?job=13").text
    assert "small requests +1" in text or "metadata storm +1" in text


def test_jobs_without_a_profile_are_shown_where_asked_for(pages: FlaskClient) -> None:
    assert "99" not in listed(pages)
    assert listed(pages, "show=unprofiled") == ["99"]
    assert listed(pages, "show=all&order=start")[:2] in (["11", "99"], ["99", "11"])
    assert listed(pages, "show=all&nodes_from=2&nodes_to=2&order=id") == ["12", "99"]
    assert listed(pages, "show=all&class=known") == ["14", "13"]
    text = pages.get("/?show=unprofiled").text
    assert "not profiled" in text
    assert 'type="checkbox"' not in text


def test_every_state_of_the_page_is_in_its_address(pages: FlaskClient) -> None:
    text = html.unescape(pages.get("/?user=alice&order=-duration&show=all&nodes_from=1").text)
    for link in re.findall(r'href="(/\?[^"]*)"', text):
        assert pages.get(link).status_code == 200, link
    assert 'href="/jobs.csv?user=alice&order=-duration&show=all&nodes_from=1"' in text
    assert 'aria-label="Remove the filter user alice"' in text
    assert "/?user=alice&order=duration&show=all&nodes_from=1" in text, "the heading turns the order round"
    assert "Newest data:" in text


@pytest.mark.parametrize(
    "query",
    ["nodes_from=-1", "from=yesterday", "duration_from=5x", "volume_from=much", "class=worst", "show=some",
     "interference_from=101", "pattern=x", "state=DROP", "by=chance", "from=9999999999999999",
     "from=253402300799000", "to=0001-01-01"],
)  # fmt: skip
def test_what_makes_no_sense_is_named(pages: FlaskClient, query: str) -> None:
    for path in ("/", "/jobs.csv"):
        answer = pages.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.text


def test_csv_is_safe_in_a_spreadsheet(client: FlaskClient, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/f.db"
    engine = open_database(url)
    load_profile(engine, make_profile(command="=HYPERLINK(evil)", user="+1", job_id="@x"))
    engine.dispose()
    (row,) = csv.DictReader(io.StringIO(create_app(url).test_client().get("/jobs.csv").text))
    assert (row["command"], row["user"], row["job"]) == ("'=HYPERLINK(evil)", "'+1", "'@x")
    answer = client.get("/jobs.csv?order=id")
    assert answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert len(list(csv.reader(io.StringIO(answer.text)))) == 1 + 4 + len(HOSTILE)


# --- who may have disturbed others -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quarrel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four victims that lose 10 s each in slices 10 to 19; `loud` moves 9 of 10 bytes meanwhile, `quiet` one, `later`
    moves as much as loud when nobody loses anything.
    """
    url = f"sqlite:///{tmp_path_factory.mktemp('quarrel')}/q.db"
    engine = open_database(url)
    for number in range(4):
        lost = Stretches(*(np.zeros(0, dtype="int64") for _ in range(5)))
        per_slice = np.array([10**9] * 10, dtype="int64")
        victim = make_lammps(job_id=f"v{number}", user=f"victim{number}", uid=10 + number, n_slices=30, factor={})
        evaluation = Evaluation({"interference_pct": 8.0}, LostTime(FIRST_SLICE + 10, per_slice, lost, 0))
        load_profile(engine, victim, evaluation=evaluation)
    for uid, (name, share, at) in enumerate((("loud", 9, 8), ("quiet", 1, 8), ("later", 9, 40))):
        rates = {name: rate * share for name, rate in NET_RATES.items()}
        load_profile(
            engine,
            make_profile(job_id=name, user=name, uid=50 + uid, first_slice=FIRST_SLICE + at, n_slices=14, rates=rates,
                         factor={}),
        )  # fmt: skip
    engine.dispose()
    return url


def test_most_disturbing_ranks_by_share_times_loss(quarrel: str) -> None:
    text = create_app(quarrel).test_client().get("/?by=disturbing").text
    assert re.findall(r'<td class="id"><a href="/jobs/\d+">(\w+)<', text) == ["loud", "quiet"]
    scores = re.findall(r'(\d+\.\d) s <span class="quiet">\((\d+) s × (\d+) %\)', text)
    assert scores == [("36.0", "40", "90"), ("4.0", "40", "10")]
    assert "not a proof" in text
    with reading(open_database(quarrel)) as conn:
        assert read_losses(conn, FIRST_SLICE, 100, SLICE_NS).per_slice_ns.sum() == 4 * 10e9


def test_a_user_is_ranked_alone_and_told_of_no_single_victim(quarrel: str) -> None:
    app = proxied_app(quarrel, privacy={"background_jobs": 1})
    text = client_of(app, "loud").get("/?by=disturbing").text
    assert re.findall(r'<td class="id"><a href="/jobs/\d+">(\w+)<', text) == ["loud"]
    assert "victim" not in text
    app = proxied_app(quarrel)
    text = client_of(app, "loud").get("/?by=disturbing").text
    assert "%)</span>" not in text, "a share of what only quiet moved beside it would be quiet's load"
    with open_database(quarrel).begin() as conn:
        conn.exec_driver_sql("DELETE FROM lost_time WHERE job_key > 2")
    text = client_of(app, "loud").get("/?by=disturbing").text
    assert "too few jobs lost time to tell" in text
    assert client_of(app, "sam").get("/?by=disturbing").text.count('class="pick"><input') == 2


def test_a_user_sees_own_jobs_only_in_every_form_of_the_list(planted: str) -> None:
    alice = client_of(proxied_app(planted), "alice")
    assert listed(alice, "show=all&order=id") == ["11", "12"]
    assert listed(alice, "user=bob") == []
    text = alice.get("/?show=all").text
    for secret in ("bob", "carol", "dora", "bio", "fat", "reader"):
        assert not re.search(rf"\b{secret}\b", text), secret
    lead = client_of(proxied_app(planted), "lea")
    assert listed(lead, "show=all&order=id") == ["11", "12"], "the jobs of project chem"


def test_api_and_page_agree(client: FlaskClient, jobs: Jobs) -> None:
    found = client.get("/api/v1/jobs?order=-duration&size=200").json["jobs"]
    text = client.get("/?order=-duration&size=200").text
    assert [job["key"] for job in found] == [
        int(key) for key in re.findall(r'<td class="id"><a href="/jobs/(\d+)"', text)
    ]
    assert jobs.lammps in {job["key"] for job in found}


def test_unknown_filters_are_a_fault_of_the_program(planted: str) -> None:
    with reading(open_database(planted)) as conn, pytest.raises(TypeError, match="colour"):
        list_jobs(conn, colour="blue")  # type: ignore[call-arg]
