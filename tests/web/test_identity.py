"""Who is let in by whom: one person at this machine, proxies that tell the truth, lie, or are none; their settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from crosswind.web.identity import Role, Settings, SettingsError, load_settings
from crosswind.web.identity.addresses import Networks, client_address, rate_key
from crosswind.web.identity.person import Person, Refused, person_of, viewer_of
from support.sites import Site
from support.viewers import PROXY_ADDRESS, client_of, proxied_app


@pytest.fixture(scope="module")
def proxied(own_site: Site) -> Flask:
    return proxied_app(own_site.url)


class TestOnePerson:
    """The default: this machine only, and nobody who could be somebody else."""

    def test_sees_everything(self, client: FlaskClient) -> None:
        assert client.get("/").status_code == 200

    @pytest.mark.parametrize("address", ["192.168.1.7", "10.0.0.5", "::ffff:192.168.1.7", "fe80::1", "8.8.8.8"])
    def test_nobody_from_elsewhere(self, client: FlaskClient, address: str) -> None:
        answer = client.get("/", environ_base={"REMOTE_ADDR": address})
        assert answer.status_code == 403
        assert "serve --config" in answer.text
        assert "1001" not in answer.text

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"])
    def test_this_machine_has_several_names(self, client: FlaskClient, address: str) -> None:
        assert client.get("/", environ_base={"REMOTE_ADDR": address}).status_code == 200

    @pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "Via", "X-Forwarded-Host"])
    def test_not_through_a_proxy_that_others_may_reach(self, client: FlaskClient, header: str) -> None:
        assert client.get("/", headers={header: "127.0.0.1"}).status_code == 403

    @pytest.mark.parametrize("host", ["evil.example.org", "localhost.evil.example.org", "dashboard", "[::1", ""])
    def test_not_by_a_name_that_was_made_to_lead_here(self, client: FlaskClient, host: str) -> None:
        """A page of somebody else may have its own name lead to 127.0.0.1 and then read what is there."""
        assert client.get("/", headers={"Host": host}).status_code in (400, 403)

    @pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "172.17.0.2"])
    def test_by_its_own_names(self, client: FlaskClient, host: str) -> None:
        assert client.get("/", headers={"Host": host}).status_code == 200

    def test_a_wrong_token_is_not_passed_over(self, client: FlaskClient) -> None:
        answer = client.get("/api/v1/jobs", headers={"Authorization": "Bearer xw_nothing"})
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


class TestProxy:
    def test_whom_it_vouches_for_is_let_in(self, proxied: Flask) -> None:
        answer = client_of(proxied, "alice").get("/")
        assert answer.status_code == 200
        assert ">alice<" in answer.text

    def test_nobody_is_asked_to_sign_in(self, proxied: Flask) -> None:
        answer = client_of(proxied, None).get("/")
        assert answer.status_code == 401
        assert "1001" not in answer.text

    @pytest.mark.parametrize("address", ["10.0.0.6", "127.0.0.1", "::1", "::ffff:10.0.0.6"])
    def test_from_another_address_the_header_means_nothing(self, proxied: Flask, address: str) -> None:
        assert client_of(proxied, "root", address=address).get("/").status_code == 403

    def test_who_claims_to_come_from_the_proxy_does_not(self, proxied: Flask) -> None:
        client = client_of(proxied, "root", address="10.9.9.9")
        assert client.get("/", headers={"X-Forwarded-For": PROXY_ADDRESS}).status_code == 403
        assert client.get("/", headers={"X-Real-IP": PROXY_ADDRESS}).status_code == 403

    def test_an_unknown_header_of_the_client_is_not_the_proxys(self, proxied: Flask) -> None:
        client = client_of(proxied, None)
        for header in ("Remote-User", "X-Remote-User-Name", "X-Forwarded-User", "X_Remote_User2"):
            assert client.get("/", headers={header: "root"}).status_code == 401

    @pytest.mark.parametrize(
        "name",
        ["root,alice", "alice,root", "alice, root", "a b", "../alice", "alice\u202e", "'; --", "-x", "x" * 200, "<b>"],
    )
    def test_a_name_that_is_none_is_refused(self, proxied: Flask, name: str) -> None:
        """Two headers of that name arrive as one with a comma: a proxy that adds its own and keeps the client's."""
        client = client_of(proxied, name.encode().decode("latin-1"))
        answer = client.get("/")
        assert answer.status_code == 403
        assert name not in answer.text

    def test_two_headers_are_no_name(self, proxied: Flask) -> None:
        client = client_of(proxied, None)
        answer = client.get("/", headers=[("X-Remote-User", "root"), ("X-Remote-User", "alice")])
        assert answer.status_code == 403

    def test_groups_give_roles(self, proxied: Flask) -> None:
        assert client_of(proxied, "carol", "users,desk").get("/admin/log").status_code == 403
        assert client_of(proxied, "root").get("/admin/log").status_code == 200

    def test_wsgi_variable(self, own_site: Site) -> None:
        app = proxied_app(own_site.url, proxy={"trusted": [PROXY_ADDRESS], "variable": "REMOTE_USER"})
        client = client_of(app, None)
        assert client.get("/", environ_base={"REMOTE_USER": "alice"}).status_code == 200
        assert client.get("/", headers={"Remote-User": "alice"}).status_code == 401
        assert client.get("/", headers={"X-Remote-User": "alice"}).status_code == 401

    def test_unix_socket(self, own_site: Site) -> None:
        app = proxied_app(own_site.url, proxy={"trusted": ["unix"], "header": "X-Remote-User"})
        assert client_of(app, "alice", address="").get("/").status_code == 200
        assert client_of(app, "alice", address="127.0.0.1").get("/").status_code == 403

    def test_a_secret_tells_the_proxy_from_others_at_its_address(self, own_site: Site, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("between us\n")
        secret.chmod(0o600)
        proxy = {"trusted": [PROXY_ADDRESS], "header": "X-Remote-User", "secret_file": str(secret)}
        client = client_of(proxied_app(own_site.url, proxy=proxy), "alice")
        assert client.get("/").status_code == 403
        assert client.get("/", headers={"X-Crosswind-Proxy": "between u"}).status_code == 403
        assert client.get("/", headers={"X-Crosswind-Proxy": "\xe4"}).status_code == 403
        assert client.get("/", headers={"X-Crosswind-Proxy": "between us"}).status_code == 200

    def test_cookies_are_for_https_and_not_for_scripts(self, own_site: Site) -> None:
        client = client_of(proxied_app(own_site.url, public_url="https://crosswind.example.org"), "alice")
        cookie = client.get("/tokens").headers["Set-Cookie"]
        assert cookie.startswith("__Host-crosswind=")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}


def person(name: object, groups: tuple[str, ...] = (), **values: object) -> tuple[Role, tuple[str, ...]]:
    settings = Settings.model_validate(values)
    found = viewer_of(person_of(name, groups, settings, strip_domain=True), settings)
    return found.role, found.projects


def test_roles_and_projects_are_what_the_settings_say() -> None:
    values = {
        "roles": {"admin": ["root"], "support": ["@desk"]},
        "projects": {"lea": ["chem"], "@bio": ["bio", "chem"]},
    }
    assert person("alice", **values) == (Role.USER, ())
    assert person("lea", **values) == (Role.LEAD, ("chem",))
    assert person("lea", ("bio",), **values) == (Role.LEAD, ("bio", "chem"))
    assert person("lea", ("desk",), **values) == (Role.SUPPORT, ("chem",))
    assert person("root@EXAMPLE.ORG", **values) == (Role.ADMIN, ())
    assert person("desk", **values) == (Role.USER, ()), "a user of the group's name is not the group"
    assert person("x", ("root",), **values) == (Role.USER, ()), "nor a group of the user's name the user"
    with pytest.raises(Refused):
        person("@desk", **values)


def test_no_name_is_nobody() -> None:
    for name in (None, "", 7, ["root"], {"a": 1}):
        with pytest.raises(Refused):
            person(name)
    assert not viewer_of(Person("alice"), Settings()).names_others


def test_the_client_is_the_last_that_the_proxy_saw() -> None:
    trusted = Settings.model_validate(
        {"public_url": "https://x", "proxy": {"trusted": ["10.0.0.0/8"], "header": "X-User"}}
    ).proxy.trusted
    for remote, forwarded, expected in [
        ("10.0.0.5", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "1.1.1.1, 203.0.113.9, 10.0.0.9", "203.0.113.9"),
        ("10.0.0.5", "<script>", "10.0.0.5"),
        ("10.0.0.5", "", "10.0.0.5"),
        ("203.0.113.7", "1.1.1.1", "203.0.113.7"),
        (None, "1.1.1.1", "unix"),
    ]:
        assert client_address(remote, forwarded, trusted) == expected
    assert client_address("10.0.0.5", "1.1.1.1", Networks()) == "10.0.0.5"
    assert rate_key("2001:db8::1") == rate_key("2001:db8::ffff") != rate_key("2001:db8:0:1::1")


WRONG = {
    "no toml": ("a b", "is no TOML"),
    "unknown key": ("[proxi]\n", "proxi: there is no such key"),
    "unknown inner key": (
        '[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\nsecret = "a"\n',
        "proxy.secret: there is no such",
    ),
    "two ways in": (
        'public_url = "https://x"\n[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\n'
        '[oidc]\nissuer = "https://i"\nclient_id = "c"\n',
        "keep the one",
    ),
    "no address": ('[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\n', "public_url is missing"),
    "plain http": ('public_url = "http://crosswind.example.org"\n', "begins with https://"),
    "a path": ('public_url = "https://example.org/crosswind"\n', "without a path"),
    "no trusted": ('[proxy]\nheader = "X"\n', "proxy.trusted: is missing"),
    "host bits": ('[proxy]\ntrusted = ["10.0.0.1/8"]\nheader = "X"\n', "without host bits"),
    "a name": ('[proxy]\ntrusted = ["proxy.example.org"]\nheader = "X"\n', "proxy.trusted"),
    "no list": ('[proxy]\ntrusted = "10.0.0.1"\nheader = "X"\n', "write a list"),
    "no source": ('[proxy]\ntrusted = ["10.0.0.1"]\n', "either header"),
    "two sources": ('[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\nvariable = "REMOTE_USER"\n', "either header"),
    "bad header": ('[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X_User"\n', "proxy.header"),
    "any variable": ('[proxy]\ntrusted = ["10.0.0.1"]\nvariable = "HTTP_X_USER"\n', "proxy.variable"),
    "weak issuer": ('[oidc]\nissuer = "http://idp.example.org"\nclient_id = "c"\n', "oidc.issuer"),
    "k of 0": ("[privacy]\nbackground_jobs = 0\n", "privacy.background_jobs"),
    "no rate": ('[limits]\nper_viewer = "many"\n', "600/minute"),
    "no key here": ('key = "secret"\n', "session_key_file"),
    "single beside": (
        'public_url = "https://x"\n[single]\naddresses = ["10.0.0.1"]\n[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\n',
        "[single] is for one person",
    ),
    "relative": ('session_key_file = "key"\n', "absolute path"),
    "role of none": ('[roles]\nroot = ["a"]\n', "roles.root: there is no such key"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_name_the_key_and_the_way_out(tmp_path: Path, case: str) -> None:
    text, expected = WRONG[case]
    path = tmp_path / "crosswind.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as error:
        load_settings(path)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_secrets_are_read_from_files_that_others_cannot(tmp_path: Path) -> None:
    key, path = tmp_path / "key", tmp_path / "crosswind.toml"
    path.write_text(f'session_key_file = "{key}"\n')
    with pytest.raises(OSError, match="key"):
        load_settings(path)
    key.write_text("k" * 64)
    key.chmod(0o644)
    with pytest.raises(SettingsError, match="chmod o="):
        load_settings(path)
    key.chmod(0o640)
    assert load_settings(path).key == b"k" * 64
    key.write_text("short")
    with pytest.raises(SettingsError, match="openssl rand"):
        load_settings(path)


def test_keys_differ_from_start_to_start_and_are_not_shown() -> None:
    one, other = Settings(), Settings()
    assert len(one.key) == 32
    assert one.key != other.key
    assert "key=" not in repr(one)
