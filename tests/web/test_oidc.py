"""Sign-in by OpenID Connect against a real provider: what lets in, and everything that must not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient

from crosswind.web import create_app
from crosswind.web.identity import Settings
from support.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, running_provider
from support.sites import Site

OURS = "http://localhost"
PEOPLE = {"roles": {"support": ["@desk"], "admin": ["root"]}}
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with running_provider(f"{OURS}/sign-in/callback") as provider:
        yield provider


@pytest.fixture
def provider(running: Provider) -> Provider:
    """As it comes."""
    running.spoil, running.metadata, running.forged = {}, {}, False
    running.sign_in("alice")
    running.asked.clear()
    return running


@pytest.fixture
def dashboard(own_site: Site, provider: Provider, tmp_path: Path) -> Flask:
    return make_dashboard(own_site, provider, tmp_path)


def make_dashboard(site: Site, provider: Provider, folder: Path, **changes: object) -> Flask:
    secret = folder / "secret"
    secret.write_text(CLIENT_SECRET)
    secret.chmod(0o600)
    oidc = {"issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret_file": str(secret), **changes}
    return create_app(site.url, Settings.model_validate({"public_url": OURS, "oidc": oidc, **PEOPLE}))


def to_provider(client: FlaskClient, path: str = "/") -> str:
    """Where the dashboard sends a browser that asks for a page: an address of the provider."""
    asked = client.get(path, headers=HTML)
    assert asked.status_code == 303
    assert asked.headers["Location"].startswith("/sign-in?next=")
    begun = client.get(asked.headers["Location"])
    assert begun.status_code == 302
    return begun.headers["Location"]


def back(address: str) -> str:
    """Where the provider sends the browser: a path of the dashboard."""
    answer = requests.get(address, allow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"].removeprefix(OURS)


def sign_in(client: FlaskClient, path: str = "/"):
    return client.get(back(to_provider(client, path)))


def test_who_signs_in_gets_the_page_that_was_asked_for(dashboard: Flask, provider: Provider) -> None:
    client = dashboard.test_client()
    done = sign_in(client, "/?order=id&user=alice")
    assert (done.status_code, done.headers["Location"]) == (303, "/?order=id&user=alice")
    page = client.get(done.headers["Location"])
    assert page.status_code == 200
    assert ">alice<" in page.text
    assert "bob" not in page.text, "alice is a user"


def test_the_request_carries_state_nonce_and_pkce(dashboard: Flask) -> None:
    one, other = (
        {name: values[0] for name, values in parse_qs(urlsplit(to_provider(dashboard.test_client())).query).items()}
        for _ in range(2)
    )
    assert one["response_type"] == "code"
    assert one["redirect_uri"] == f"{OURS}/sign-in/callback"
    assert one["code_challenge_method"] == "S256"
    for name in ("state", "nonce", "code_challenge"):
        assert len(one[name]) >= 20
        assert one[name] != other[name]
    assert "code_verifier" not in one


def test_the_provider_and_roles(dashboard: Flask, provider: Provider) -> None:
    for name, groups, expected in [("sam", ["desk", "all"], 403), ("root", [], 200), ("alice", ["root"], 403)]:
        provider.sign_in(name, *groups)
        client = dashboard.test_client()
        sign_in(client)
        assert client.get("/admin/log").status_code == expected
    provider.sign_in("sam", "desk")
    client = dashboard.test_client()
    sign_in(client)
    assert "bob" in client.get("/").text, "the desk sees all"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": ["another-client"]},
        {"aud": None},
        {"aud": ["another-client", CLIENT_ID], "azp": "another-client"},
        {"iss": "https://another.example.org"},
        {"iss": None},
        {"exp": 1_600_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": None},
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(dashboard: Flask, provider: Provider, claims: dict) -> None:
    provider.spoil = claims
    client = dashboard.test_client()
    answer = sign_in(client)
    assert answer.status_code == 403
    assert client.get("/", headers=HTML).status_code == 303, "nobody is signed in"


def test_a_token_of_another_key_is_refused(dashboard: Flask, provider: Provider) -> None:
    provider.forged = True
    client = dashboard.test_client()
    assert sign_in(client).status_code == 403
    assert client.get("/", headers=HTML).status_code == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"preferred_username": None},
        {"preferred_username": ""},
        {"preferred_username": "a b"},
        {"preferred_username": ["root"]},
    ],
)
def test_a_name_that_is_none_is_refused(dashboard: Flask, provider: Provider, claims: dict) -> None:
    provider.spoil = claims
    assert sign_in(dashboard.test_client()).status_code == 403


@pytest.mark.parametrize("groups", ["desk", {"desk": 1}, [["desk"], 7, None], None])
def test_groups_that_are_no_list_of_names_give_nothing(dashboard: Flask, provider: Provider, groups: object) -> None:
    provider.spoil = {"groups": groups}
    client = dashboard.test_client()
    assert sign_in(client).status_code == 303
    assert "bob" not in client.get("/").text


def test_an_answer_to_another_browser_is_refused(dashboard: Flask) -> None:
    """A link with the attacker's code and state signs nobody in as the attacker."""
    mine, yours = dashboard.test_client(), dashboard.test_client()
    to_provider(yours)
    assert yours.get(back(to_provider(mine))).status_code == 403
    assert yours.get("/", headers=HTML).status_code == 303


def test_an_answer_works_once(dashboard: Flask) -> None:
    client = dashboard.test_client()
    path = back(to_provider(client))
    assert client.get(path).status_code == 303
    assert dashboard.test_client().get(path).status_code == 403
    assert client.get(path).status_code == 403


@pytest.mark.parametrize(
    "query", ["", "?code=x", "?code=x&state=y", "?error=access_denied&error_description=<b>no</b>"]
)
def test_an_answer_that_nobody_asked_for_is_refused(dashboard: Flask, query: str) -> None:
    answer = dashboard.test_client().get(f"/sign-in/callback{query}")
    assert answer.status_code == 403
    assert "<b>no</b>" not in answer.text


@pytest.mark.parametrize(
    "target", ["//evil.example.org", "https://evil.example.org", "/\\evil.example.org", "\\\\evil", "evil", "/\nx"]
)
def test_nobody_is_sent_elsewhere(dashboard: Flask, target: str) -> None:
    client = dashboard.test_client()
    begun = client.get("/sign-in", query_string={"next": target})
    assert client.get(back(begun.headers["Location"])).headers["Location"] == "/"


def test_programs_are_told_401(dashboard: Flask) -> None:
    for headers in ({}, {"Accept": "application/json"}):
        answer = dashboard.test_client().get("/api/v1/jobs", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert dashboard.test_client().post("/tokens", headers=HTML).status_code in (400, 401)


def test_people_behind_the_server_in_front_are_told_apart(own_site: Site, provider: Provider, tmp_path: Path) -> None:
    """There is always one: it has the certificate. Who guesses tokens shuts out nobody else."""
    limits = {"per_viewer": "99/minute", "per_address": "6/minute", "failed_sign_ins": "2/minute"}
    secret = tmp_path / "secret"
    secret.write_text(CLIENT_SECRET)
    secret.chmod(0o600)
    oidc = {"issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret_file": str(secret)}
    for trusted, others in ((["127.0.0.1"], 401), ([], 429)):
        values = {"public_url": OURS, "oidc": {**oidc, "trusted": trusted}, "limits": limits}
        client = create_app(own_site.url, Settings.model_validate(values)).test_client()

        def get(address: str, client=client, **headers: str) -> int:
            return client.get("/api/v1/jobs", headers={"X-Forwarded-For": address, **headers}).status_code

        assert [get("203.0.113.1", Authorization="Bearer xw_no") for _ in range(4)] == [401, 401, 429, 429]
        assert [get("203.0.113.1") for _ in range(3)] == [401, 401, 429]
        assert get("203.0.113.2") == others


def test_words_of_a_browser_are_one_line_of_the_log(dashboard: Flask, caplog: pytest.LogCaptureFixture) -> None:
    client = dashboard.test_client()
    state = to_provider(client).partition("state=")[2].partition("&")[0]
    forged = "error=x&error_description=no%0Aadmin%20signed%20in"
    assert client.get(f"/sign-in/callback?{forged}&state={state}").status_code == 403
    assert "admin signed in" in caplog.text
    assert "\nadmin signed in" not in caplog.text


def test_a_session_ends(own_site: Site, provider: Provider, tmp_path: Path) -> None:
    client = make_dashboard(own_site, provider, tmp_path, session_hours=1e-6).test_client()
    sign_in(client)
    assert client.get("/", headers=HTML).status_code == 303


def test_signing_out_takes_a_form_of_ours(dashboard: Flask) -> None:
    client = dashboard.test_client()
    sign_in(client)
    assert client.get("/sign-out").status_code == 405
    assert client.post("/sign-out").status_code == 400
    assert client.get("/").status_code == 200
    token = client.get("/tokens").text.split('name="csrf_token" value="')[1].split('"')[0]
    answer = client.post("/sign-out", data={"csrf_token": token})
    assert answer.status_code == 200
    assert "Signed out" in answer.text
    assert client.get("/", headers=HTML).status_code == 303


def test_a_session_cannot_be_made(dashboard: Flask, own_site: Site, provider: Provider, tmp_path: Path) -> None:
    """Another dashboard's cookie, signed by another key, is worth nothing here."""
    other = make_dashboard(own_site, provider, tmp_path).test_client()
    sign_in(other)
    cookie = other.get_cookie("crosswind")
    client = dashboard.test_client()
    client.set_cookie("crosswind", cookie.value)
    assert client.get("/", headers=HTML).status_code == 303


@pytest.mark.parametrize("what", [{"issuer": "https://another.example.org"}, {"authorization_endpoint": None}])
def test_a_provider_that_is_another_is_not_asked(dashboard: Flask, provider: Provider, what: dict) -> None:
    provider.metadata = what
    assert dashboard.test_client().get("/sign-in").status_code == 503


def test_a_provider_that_is_away_is_said_in_words(own_site: Site, provider: Provider, tmp_path: Path) -> None:
    client = make_dashboard(own_site, provider, tmp_path, issuer="http://127.0.0.1:9").test_client()
    answer = client.get("/sign-in")
    assert answer.status_code == 503
    assert "sign-in service" in answer.text
    assert "127.0.0.1:9" not in answer.text
