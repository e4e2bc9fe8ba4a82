"""The page of tokens, forms, and rates."""

from __future__ import annotations

import re
import time

import pytest
from flask import Flask

from crosswind.db import open_database, reading
from crosswind.db.audit import access_lines
from crosswind.db.tokens import create_token, find_token
from support.sites import HOSTILE, Jobs, Site
from support.viewers import PROXY_ADDRESS, client_of, csrf_token, proxied_app


@pytest.fixture(scope="module")
def site_app(own_site: Site) -> Flask:
    return proxied_app(own_site.url)


def form(client, **fields):
    known = {"name": "grafana", "scopes": ["read:jobs"], "days": "30", "csrf_token": csrf_token(client, "/tokens")}
    return client.post("/tokens", data=known | fields)


def secret_in(text: str) -> str:
    return re.search(r"xw_[\w-]{40,}", text)[0]


def test_a_token_is_shown_once_and_opens_own_jobs(site_app: Flask, own_site: Site, jobs: Jobs) -> None:
    client = client_of(site_app, "alice")
    made = form(client)
    assert made.status_code == 200
    secret = secret_in(made.text)
    assert made.headers["Cache-Control"] == "no-store"
    assert secret not in client.get("/tokens").text
    headers = {"Authorization": f"Bearer {secret}"}
    program = site_app.test_client()
    listed = program.get("/api/v1/jobs", headers=headers).json
    assert {job["user"] for job in listed["jobs"]} == {"alice"}
    assert program.get(f"/api/v1/jobs/{own_site.jobs.writer}", headers=headers).status_code == 404
    assert program.get("/", headers=headers).status_code == 403, "tokens open no pages"
    with reading(open_database(own_site.url)) as conn:
        assert find_token(conn, secret, time.time_ns()).role == "user"
        assert "token made" in {line.action for line in access_lines(conn, viewer="alice")[0]}


def test_staffs_tokens_of_the_page_are_users(site_app: Flask, own_site: Site) -> None:
    secret = secret_in(form(client_of(site_app, "root")).text)
    answer = site_app.test_client().get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"})
    assert answer.json["total"] == 0


def test_a_revoked_token_opens_nothing(site_app: Flask) -> None:
    client = client_of(site_app, "carol")
    secret = secret_in(form(client).text)
    number = re.search(r"/tokens/(\d+)/revoke", client.get("/tokens").text)[1]
    headers = {"Authorization": f"Bearer {secret}"}
    assert site_app.test_client().get("/api/v1/jobs", headers=headers).status_code == 200
    mallory = client_of(site_app, "mallory")
    data = {"csrf_token": csrf_token(mallory, "/tokens")}
    assert mallory.post(f"/tokens/{number}/revoke", data=data).status_code == 404
    assert mallory.post(f"/tokens/{10**30}/revoke", data=data).status_code == 404
    assert site_app.test_client().get("/api/v1/jobs", headers=headers).status_code == 200
    done = client.post(f"/tokens/{number}/revoke", data={"csrf_token": csrf_token(client, "/tokens")})
    assert (done.status_code, done.headers["Location"]) == (303, "/tokens")
    assert site_app.test_client().get("/api/v1/jobs", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"scopes": []},
        {"scopes": ["write:jobs"]},
        {"days": "100000"},
        {"days": "x"},
        {"colour": "blue"},
        {"role": "admin"},
        {"owner": "bob"},
    ],
)
def test_impossible_forms_are_400(site_app: Flask, fields: dict) -> None:
    answer = form(client_of(site_app, "alice"), **fields)
    assert answer.status_code == 400
    assert "xw_" not in answer.text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_tokens_stay_text(site_app: Flask, name: str) -> None:
    client = client_of(site_app, "dave")
    assert form(client, name=name).status_code in (200, 400)
    text = client.get("/tokens").text
    assert "<script>alert" not in text
    assert "onerror=alert(1)>" not in text.replace("&gt;", "")
    assert "<svg onload" not in text
    assert "49" not in re.findall(r"\{\{.*?\}\}", text)


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer",
        "Bearer ",
        "Bearer xw_",
        "Bearer \xe4",
        "bearer " + "x" * 5000,
        "Basic YWxpY2U6YQ==",
        "Token x",
        "Bearer a b",
    ],
)
def test_odd_authorizations_open_nothing(site_app: Flask, authorization: str) -> None:
    answer = site_app.test_client().get(
        "/api/v1/jobs", headers={"Authorization": authorization}, environ_base={"REMOTE_ADDR": PROXY_ADDRESS}
    )
    assert answer.status_code == 401


def test_rates_are_by_viewer_and_by_address(own_site: Site) -> None:
    limits = {"per_viewer": "5/minute", "per_address": "12/minute", "failed_sign_ins": "3/minute"}
    app = proxied_app(own_site.url, limits=limits)

    def statuses(user, n, forwarded, **headers):
        client = client_of(app, user)
        return [
            client.get("/api/v1/series/names", headers={"X-Forwarded-For": forwarded, **headers}).status_code
            for _ in range(n)
        ]

    assert statuses("alice", 7, "203.0.113.1") == [200] * 5 + [429] * 2
    assert statuses("bob", 6, "203.0.113.1") == [200] * 5 + [429], "the others of that address go on"
    assert statuses("carol", 2, "203.0.113.2") == [200] * 2
    assert statuses("dave", 1, "203.0.113.1") == [429], "until the address has had enough"
    assert statuses(None, 5, "203.0.113.3", Authorization="Bearer xw_wrong") == [401] * 3 + [429] * 2
    assert statuses("erin", 1, "203.0.113.3") == [200], "who is let in is not shut out by who guesses beside them"
    answer = client_of(app, "alice").get("/", headers={"X-Forwarded-For": "203.0.113.9"})
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    with client_of(app, None).get("/static/style.css", headers={"X-Forwarded-For": "203.0.113.3"}) as style:
        assert style.status_code == 200


def test_a_token_that_is_used_is_noted(site_app: Flask, own_site: Site) -> None:
    engine = open_database(own_site.url)
    now_ns = time.time_ns()
    secret = create_token(engine, owner="zoe", name="t", scopes=["read:jobs"], now_ns=now_ns, lifetime_ns=60 * 10**9)[1]
    site_app.test_client().get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"})
    with reading(engine) as conn:
        assert find_token(conn, secret, now_ns).used_ns >= now_ns
    engine.dispose()
