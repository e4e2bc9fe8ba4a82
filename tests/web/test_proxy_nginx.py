"""The sign-in by a proxy as docs/dashboard/access.md writes it, with nginx itself."""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosswind.db import open_database
from crosswind.db.tokens import create_token
from crosswind.web import create_app
from crosswind.web.identity import Settings
from support.serving import serving
from support.sites import Site

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
ACCESS = Path(__file__).parents[2] / "docs/dashboard/access.md"
PASSWORD = "swordfish"
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx)")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def documented(upstream: str, sign_in: int) -> tuple[str, str]:
    """The locations of the docs, and what the docs put beside `server`, with our addresses and the secret."""
    blocks = re.findall(r"```nginx\n(.*?)```", ACCESS.read_text(), re.DOTALL)
    locations, rates = blocks
    zone, *in_location = rates.splitlines()
    changes = {
        "http://127.0.0.1:8080": upstream.rstrip("/"),
        "http://127.0.0.1:9000": f"http://127.0.0.1:{sign_in}",
        "the secret": PASSWORD,
        "    auth_request      /auth;": "\n".join(["    auth_request /auth;", *in_location]),
    }
    for old, new in changes.items():
        assert locations.count(old) == 1, old
        locations = locations.replace(old, new)
    return locations, zone


@pytest.fixture(scope="module")
def proxy(own_site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of nginx and of the dashboard behind it. Its sign-in is HTTP's own; nobody is in a group."""
    folder = tmp_path_factory.mktemp("nginx")
    folder.chmod(0o755)
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    (folder / "people").write_text("".join(f"{name}:{{PLAIN}}{PASSWORD}\n" for name in ("alice", "sam")))
    settings = {
        "public_url": "http://localhost",
        "proxy": {
            "trusted": ["127.0.0.1"], "header": "X-Remote-User", "groups_header": "X-Remote-Groups",
            "secret_file": str(secret),
        },
        "roles": {"support": ["sam", "@hpc-support"]},
    }  # fmt: skip
    port, sign_in = free_port(), free_port()
    with serving(create_app(own_site.url, Settings.model_validate(settings))) as behind:
        locations, zone = documented(behind, sign_in)
        temporary = "".join(
            f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(f"""
            {"user root;" if os.geteuid() == 0 else ""} daemon off; pid {folder}/pid; error_log stderr; events {{}}
            http {{
                access_log off; {temporary} {zone}
                server {{ listen 127.0.0.1:{port}; {locations} }}
                server {{ listen 127.0.0.1:{sign_in}; location / {{
                    auth_basic site; auth_basic_user_file {folder}/people; add_header X-User $remote_user; empty_gif;
                }} }}
            }}""")
        command = [str(NGINX), "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            try:
                wait_for(port, running)
                yield f"http://127.0.0.1:{port}", behind.rstrip("/")
            finally:
                running.terminate()


def wait_for(port: int, running: subprocess.Popen[str]) -> None:
    """Until it listens; what it says where it ended."""
    for _ in range(100):
        if running.poll() is not None:
            pytest.fail(running.stderr.read())
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("nginx does not listen")


def ask(address: str, user: str = "", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers={name.replace("_", "-"): v for name, v in headers.items()})
    if user:
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def users_seen(text: str) -> set[str]:
    return set(re.findall(r'"user":\s*"(\w+)"', text))


def test_the_proxy_says_who_asks(proxy: tuple[str, str]) -> None:
    front, _ = proxy
    assert ask(front)[0] == 401
    assert ask(front, "mallory")[0] == 401
    status, page = ask(front, "alice")
    assert status == 200
    assert ">alice<" in page
    assert users_seen(ask(f"{front}/api/v1/jobs", "alice")[1]) == {"alice"}
    assert users_seen(ask(f"{front}/api/v1/jobs", "sam")[1]) > {"alice", "bob", "carol"}


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Remote_User": "sam"},
        {"X_Remote_Groups": "hpc-support"},
        {"X_Remote_User": "sam", "X_Remote_Groups": "hpc-support", "X_Crosswind_Proxy": PASSWORD},
        {"X_User": "sam", "X_Groups": "hpc-support"},
    ],
)
def test_what_the_client_says_of_itself_counts_for_nothing(proxy: tuple[str, str], headers: dict[str, str]) -> None:
    front, _ = proxy
    assert users_seen(ask(f"{front}/api/v1/jobs", "alice", **headers)[1]) == {"alice"}
    assert ask(front, **headers)[0] == 401


def test_nobody_comes_round_the_proxy(proxy: tuple[str, str]) -> None:
    _, behind = proxy
    assert ask(f"{behind}/", X_Remote_User="sam")[0] == 403


def test_programs_come_through_with_a_token(proxy: tuple[str, str], own_site: Site) -> None:
    front, _ = proxy
    engine = open_database(own_site.url)
    _, secret = create_token(
        engine, owner="alice", name="t", scopes=["read:jobs"], now_ns=time.time_ns(), lifetime_ns=60 * 10**9
    )
    engine.dispose()
    bearer = {"Authorization": f"Bearer {secret}"}
    assert users_seen(ask(f"{front}/api/v1/jobs", **bearer)[1]) == {"alice"}
    assert ask(front, **bearer)[0] == 403, "a token opens no pages"
    assert users_seen(ask(f"{front}/api/v1/jobs", **bearer, X_Remote_User="sam")[1]) == {"alice"}
    assert ask(f"{front}/api/v1/jobs", Authorization="Bearer xw_none")[0] == 401
    assert ask(f"{front}/", Authorization="Bearer none")[0] == 401
