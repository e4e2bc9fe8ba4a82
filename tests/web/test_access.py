"""Every route against every role, by the table of access_table.py; and that no answer names whom it must not."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from crosswind.db import BatchJob, open_database, queries, reading, schema
from crosswind.db.audit import access_lines, forget_lines
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.connection import writing
from crosswind.db.job_list import SHOWN
from crosswind.db.tokens import SCOPES, create_token
from crosswind.web import create_app
from crosswind.web.identity import Settings
from support.access_table import ROUTES, Kind, Route
from support.neighbours import make_neighbours
from support.viewers import ROLES, client_of, csrf_token, proxied_app

ALWAYS = [name for name in ROUTES if not name[1].startswith("sign_in.")]  # those are OpenID Connect's: test_oidc.py
NOT_FOR_USERS = (Kind.PUBLIC, Kind.SUPPORT, Kind.ADMIN)
GET = [name for name in ALWAYS if name[0] == "GET"]
POST = [name for name in ALWAYS if name[0] == "POST"]
JOBS = [name for name in GET if ROUTES[name].kind is Kind.JOB]
STAFF = ("support", "admin")


@dataclass(frozen=True)
class Town:
    """alice's job `victim` and those of seven others, of which `other1` belongs to the project that lea leads."""

    url: str
    app: Flask
    keys: dict[str, int]

    @property
    def others(self) -> list[str]:
        """Users, and ids of their jobs."""
        return sorted(self.keys.keys() - {"victim"})


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    url = make_neighbours(tmp_path_factory.mktemp("town"))
    engine = open_database(url)
    with reading(engine) as conn:
        rows = {row.job_id: row for row in queries.list_jobs(conn)[0]}
    led = rows["other1"]
    batch = BatchJob(led.job_id, "COMPLETED", led.uid, user=led.user, account="chem", start_ns=led.start_ns)
    store_batch_jobs(engine, [batch])
    link_steps(engine)
    engine.dispose()
    return Town(url, proxied_app(url), {name: row.key for name, row in rows.items()})


@pytest.fixture(scope="module")
def every_route(town: Town) -> Flask:
    """With the pages of all ways to sign in."""
    oidc = {"issuer": "https://sso.example.org", "client_id": "c"}
    return create_app(town.url, Settings.model_validate({"public_url": "https://localhost", "oidc": oidc}))


def ask(client: FlaskClient, route: Route, key: int = 0) -> int:
    with client.get(route.path.format(key=key, number=1)) as answer:
        return answer.status_code


def test_every_route_has_a_row(every_route: Flask) -> None:
    served = {
        (method, rule.endpoint)
        for rule in every_route.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert served - ROUTES.keys() == set(), "add a row to tests/support/access_table.py"
    assert ROUTES.keys() - served == set(), "these rows are of routes that are gone"


def test_every_row_leads_to_its_route(every_route: Flask) -> None:
    urls = every_route.url_map.bind("localhost")
    for (method, endpoint), route in ROUTES.items():
        path = route.path.partition("?")[0].format(key=1, number=1)
        assert urls.match(path, method)[0] == endpoint


@pytest.mark.parametrize("name", GET, ids=str)
def test_nobody_is_let_in_but_where_all_are(town: Town, name: tuple[str, str]) -> None:
    expected = 200 if ROUTES[name].kind is Kind.PUBLIC else 401
    assert ask(client_of(town.app, None), ROUTES[name], town.keys["victim"]) == expected


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", [name for name in GET if ROUTES[name].kind is not Kind.JOB], ids=str)
def test_each_role_is_let_in_where_it_may(town: Town, name: tuple[str, str], role: str) -> None:
    allowed = {Kind.SUPPORT: STAFF, Kind.ADMIN: ("admin",)}.get(ROUTES[name].kind, tuple(ROLES))
    assert ask(client_of(town.app, ROLES[role]), ROUTES[name]) == (200 if role in allowed else 403)


@pytest.mark.parametrize("name", JOBS, ids=str)
@pytest.mark.parametrize(
    ("role", "seen"),
    [
        ("user", {"victim"}),
        ("lead", {"other1"}),
        ("support", {"victim", "other1", "other2"}),
        ("admin", {"victim", "other1", "other2"}),
    ],
)
def test_jobs_are_there_for_whom_they_are(town: Town, name: tuple[str, str], role: str, seen: set[str]) -> None:
    client = client_of(town.app, ROLES[role])
    for job in ("victim", "other1", "other2"):
        assert ask(client, ROUTES[name], town.keys[job]) == (200 if job in seen else 404), job


@pytest.mark.parametrize("name", JOBS, ids=str)
def test_a_job_of_others_is_the_same_as_none(town: Town, name: tuple[str, str]) -> None:
    """Word for word, headers included, but for the key that was asked for."""
    client, path = client_of(town.app, "alice"), ROUTES[name].path
    theirs, none = (client.get(path.format(key=key)) for key in (town.keys["culprit"], 987))
    for answer in (theirs, none):
        assert answer.status_code == 404
    assert theirs.text.replace(f"key {town.keys['culprit']} in", "") == none.text.replace("key 987 in", "")
    assert {n: v for n, v in theirs.headers if n != "Content-Length"} == {
        n: v for n, v in none.headers if n != "Content-Length"
    }


@pytest.mark.parametrize("name", [name for name in GET if ROUTES[name].kind not in NOT_FOR_USERS], ids=str)
def test_no_answer_names_the_others(town: Town, name: tuple[str, str]) -> None:
    """Users, commands, ids and nodes of jobs that alice may not see; her own node she knows."""
    route = ROUTES[name]
    text = client_of(town.app, "alice").get(route.path.format(key=town.keys["victim"])).text
    for secret in (
        "other1",
        "other2",
        "other5",
        "elsewhere<",
        "elsewhere&lt;",
        "culprit<",
        "culprit&lt;",
        '"culprit"',
        "node77",
    ):
        assert secret not in text
    staff = client_of(town.app, "sam").get(route.path.format(key=town.keys["victim"])).text
    if name[1] in ("jobs.index", "lookup.document", "api.Jobs"):
        assert "culprit" in staff, "this test can fail"


@pytest.mark.parametrize(
    "path",
    [
        f"{page}?show={shown}{more}"
        for page in ("/", "/jobs.csv")
        for shown in SHOWN
        if shown != "unprofiled"
        for more in ("", "&order=user")
    ],
)
def test_lists_show_no_job_of_others(town: Town, path: str) -> None:
    """However they are asked: other1 is known to the batch system, too."""
    text = client_of(town.app, "alice").get(path).text
    staff = client_of(town.app, "sam").get(path).text
    assert not re.search(r"other[1-5]|culprit|\bchem\b", text)
    assert "other1" in staff, "this test can fail"


@pytest.mark.parametrize(
    "query",
    [
        "user=culprit",
        "user=other1",
        "command=other",
        "job=other",
        "account=chem",
        "nodes_from=0&user=other2",
        "order=user",
        "order=-interference",
        "size=1&page=2",
    ],
)
def test_lists_count_no_job_of_others(town: Town, query: str) -> None:
    """Filters, orders and page numbers tell nothing of what is not seen."""
    listed = client_of(town.app, "alice").get(f"/api/v1/jobs?{query}").json
    assert {job["user"] for job in listed["jobs"]} <= {"alice"}
    assert listed["total"] == (0 if "culprit" in query or "other" in query or "chem" in query else 1)


@pytest.mark.parametrize("name", POST, ids=str)
def test_forms_of_others_are_refused(town: Town, name: tuple[str, str]) -> None:
    """Without the token that our own page gave to this session."""
    path = ROUTES[name].path.format(number=1)
    assert client_of(town.app, None).post(path).status_code in (400, 401)
    for role in ROLES.values():
        client = client_of(town.app, role)
        assert client.post(path).status_code in (400, 403)
        assert client.post(path, data={"csrf_token": csrf_token(client_of(town.app, role), "/tokens")}).status_code in (
            400,
            403,
        )


def test_forms_for_staff_are_refused_to_users(town: Town) -> None:
    for route in ROUTES.values():
        if route.kind is Kind.SUPPORT_FORM:
            client = client_of(town.app, "alice")
            data = {"csrf_token": csrf_token(client, "/tokens")}
            assert client.post(route.path.format(number=1), data=data).status_code == 403


def token_of(town: Town, *scopes: str, owner: str = "alice", role: str = "user") -> dict[str, str]:
    engine = open_database(town.url)
    now_ns = time.time_ns()
    secret = create_token(
        engine, owner=owner, name="t", scopes=scopes, now_ns=now_ns, lifetime_ns=60 * 10**9, role=role
    )[1]
    engine.dispose()
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_opens_what_it_is_for(town: Town, scope: str) -> None:
    headers, client = token_of(town, scope), town.app.test_client()
    for name in GET:
        route = ROUTES[name]
        if route.kind is Kind.PUBLIC:
            continue
        expected = 200 if route.token_scope in (scope, "any") else 403
        path = route.path.format(key=town.keys["victim"])
        assert client.get(path, headers=headers).status_code == expected, name
        if expected == 200 and route.kind is Kind.JOB:
            assert client.get(route.path.format(key=town.keys["culprit"]), headers=headers).status_code == 404


def test_a_token_changes_nothing(town: Town) -> None:
    """Not even with the role of an admin."""
    headers = token_of(town, *SCOPES, owner="root", role="admin")
    client = town.app.test_client()
    for name in POST:
        assert client.post(ROUTES[name].path.format(number=1), headers=headers).status_code in (400, 403)


def test_a_token_has_no_more_than_it_was_made_with(town: Town) -> None:
    client, key = town.app.test_client(), town.keys["other1"]
    assert client.get(f"/api/v1/jobs/{key}", headers=token_of(town, "read:jobs", owner="root")).status_code == 404
    assert client.get(f"/api/v1/jobs/{key}", headers=token_of(town, "read:jobs", owner="lea")).status_code == 404
    as_lead = token_of(town, "read:jobs", owner="lea", role="lead")
    assert client.get(f"/api/v1/jobs/{key}", headers=as_lead).status_code == 200
    assert client.get(f"/api/v1/jobs/{town.keys['victim']}", headers=as_lead).status_code == 404
    as_staff = token_of(town, "read:jobs", owner="root", role="support")
    assert client.get(f"/api/v1/jobs/{key}", headers=as_staff).status_code == 200


def test_a_token_has_no_more_than_its_owner_has_now(tmp_path: Path) -> None:
    """Whoever is taken out of the settings keeps no role in a token. Of groups nothing is known without a sign-in."""
    url = make_neighbours(tmp_path)
    town = Town(url, proxied_app(url), {})
    tokens = {owner: token_of(town, "read:jobs", owner=owner, role="support") for owner in ("sam", "grafana", "lea")}

    def seen(app: Flask, owner: str) -> int:
        return app.test_client().get("/api/v1/jobs", headers=tokens[owner]).json["total"]

    everything = seen(town.app, "sam")
    assert everything > 0
    assert [seen(town.app, owner) for owner in ("grafana", "lea")] == [0, 0], "both were never given that role"
    later = proxied_app(url, roles={"support": ["@desk", "grafana"]})
    assert [seen(later, owner) for owner in ("sam", "grafana")] == [0, everything]
    alone = create_app(url)
    assert seen(alone, "sam") == everything, "one person alone has no roles to give"


def test_who_opens_a_job_of_somebody_else_is_written_down(tmp_path: Path) -> None:
    url = make_neighbours(tmp_path)
    app = proxied_app(url)
    for _ in range(2):
        client_of(app, "alice").get("/jobs/1")
        client_of(app, "sam").get("/jobs/1")
        client_of(app, "sam").get("/api/v1/jobs/1/timeline")
        client_of(app, "sam").get("/")
        client_of(app, "root").get("/api/v1/jobs/1", headers={"X-Forwarded-For": "203.0.113.9"})
        client_of(app, "bob").get("/jobs/1")
    with reading(open_database(url)) as conn:
        written, total = access_lines(conn)
    lines = [line for line in written if line.action == "job"]
    assert (total, len(lines)) == (3, 2), "one line for a look, however much it loads"
    assert [(line.viewer, line.role, line.action, line.subject, line.detail) for line in lines] == [
        ("root", "admin", "job", "alice", "victim.0"),
        ("sam", "support", "job", "alice", "victim.0"),
    ]
    assert [line.address for line in lines] == ["203.0.113.9", "10.0.0.5"]
    text = client_of(app, "root").get("/admin/log?viewer=sam").text
    assert "victim.0" in text
    assert "203.0.113.9" not in text


@pytest.mark.parametrize("name", [name for name in GET if ROUTES[name].kind is not Kind.PUBLIC])
def test_whose_names_staff_reads_is_written_down(town: Town, name: tuple[str, str]) -> None:
    """On whatever page, in whatever form: of each name there is a line. To plain users nobody is named."""
    engine = open_database(town.url)
    forget_lines(engine, time.time_ns())
    for viewer in ("root", "alice"):
        with client_of(town.app, viewer).get(ROUTES[name].path.format(key=town.keys["victim"])) as answer:
            text = answer.text
        with reading(engine) as conn:
            written = {other: access_lines(conn, viewer=viewer, subject=other)[1] for other in town.others}
        told = {other for other in town.others if re.search(rf"\b{other}\b", text)} if viewer == "root" else set()
        assert told == {other for other, n in written.items() if n and other in told}, viewer
        assert told or not any(written.values()) or "csv" in name[1], "nothing is written of who is not told"
    engine.dispose()


def test_a_list_is_one_line_and_the_same_again_none(tmp_path: Path) -> None:
    url = make_neighbours(tmp_path)
    app = proxied_app(url)
    for _ in range(2):
        for viewer in ("sam", "alice"):
            client_of(app, viewer).get("/")
        client_of(app, "sam").get("/?user=culprit")
    with reading(open_database(url)) as conn:
        lines = access_lines(conn)[0]
        assert access_lines(conn, subject="culprit")[1] == 2
        assert access_lines(conn, subject="other2")[1] == 1
        assert access_lines(conn, subject="other")[1] == 0
    assert [(line.viewer, line.role, line.action, line.subject, line.detail) for line in lines] == [
        ("sam", "support", "names", "culprit", "jobs: culprit"),
        (
            "sam", "support", "names", "8 users",
            "jobs: alice, culprit, elsewhere, other1, other2, other3, other4, other5",
        ),
    ]  # fmt: skip


def test_one_person_is_not_written_down(tmp_path: Path) -> None:
    url = make_neighbours(tmp_path)
    for path in ("/jobs/1", "/"):
        assert create_app(url).test_client().get(path).status_code == 200
    with reading(open_database(url)) as conn:
        assert access_lines(conn)[1] == 0


def test_the_name_of_a_job_passes_for_no_user(tmp_path: Path) -> None:
    """A list is named after the job that it is of, and whoever runs a job may choose its id."""
    url = make_neighbours(tmp_path)
    engine = open_database(url)
    with writing(engine) as conn:
        conn.execute(update(schema.job).where(schema.job.c.key == 1).values(job_id="1, mallory, x"))
    client_of(proxied_app(url), "sam").get("/jobs/1/lookup")
    with reading(engine) as conn:
        assert access_lines(conn, subject="culprit")[1] == 1
        assert access_lines(conn, subject="mallory")[1] == 0
    engine.dispose()
