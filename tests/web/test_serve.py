"""The verb `serve` as a process: where it listens, what it says, how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sites import Site

SERVE = (sys.executable, "-m", "crosswind.tools", "serve")


@pytest.fixture
def served(site: Site) -> Iterator[tuple[subprocess.Popen, str]]:
    """The running verb and the address it printed."""
    command = [*SERVE, "--db", site.url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        yield process, re.search(r"http://\S+/", said)[0]
        process.kill()


def test_serves_on_loopback_and_ends_quietly_on_sigterm(served: tuple[subprocess.Popen, str]) -> None:
    process, url = served
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert "Content-Security-Policy" in answer.headers
        assert b"1001" in answer.read()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0
    assert process.stderr.read() == ""


def test_linear_algebra_has_no_threads_of_its_own(served: tuple[subprocess.Popen, str]) -> None:
    """With them the workers wait for each other: the lookup of a wide job took five times the processor time."""
    process, _ = served
    assert b"numpy" in Path(f"/proc/{process.pid}/maps").read_bytes()
    assert re.search(r"^Threads:\s+1$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)


def failure(*arguments: str) -> str:
    done = subprocess.run([*SERVE, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_missing_database_is_one_line(tmp_path) -> None:
    said = failure("--db", f"sqlite:///{tmp_path}/none.db")
    assert "there is no database" in said
    assert not (tmp_path / "none.db").exists()


def test_taken_port_is_one_line(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        said = failure("--db", site.url, "--port", str(other.getsockname()[1]))
    assert "already in use" in said
    assert "--port" in said


def test_unknown_host_is_one_line(site: Site) -> None:
    assert "cannot listen on no.such.host.invalid" in failure("--db", site.url, "--host", "no.such.host.invalid")


def test_wrong_usage_is_2(site: Site) -> None:
    done = subprocess.run([*SERVE, "--db", site.url, "--port", "99999"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Usage" in done.stderr


def test_wrong_settings_are_one_line(site: Site, tmp_path) -> None:
    config = tmp_path / "crosswind.toml"
    config.write_text(
        'public_url = "https://x"\n[proxy]\ntrusted = ["10.0.0.1"]\nheader = "X"\nsecret_file = "/no/such"\n'
    )
    assert "/no/such" in failure("--db", site.url, "--config", str(config))
    config.write_text("[proxy]\n")
    assert "proxy.trusted: is missing" in failure("--db", site.url, "--config", str(config))
    assert "No such file" in failure("--db", site.url, "--config", str(tmp_path / "none.toml"))


def test_behind_a_proxy_nobody_is_somebody(site: Site, tmp_path) -> None:
    """The settings reach every worker, and so does the key of the sessions."""
    config = tmp_path / "crosswind.toml"
    config.write_text('public_url = "http://localhost"\n[proxy]\ntrusted = ["127.0.0.1"]\nheader = "X-Remote-User"\n')
    command = [*SERVE, "--db", site.url, "--port", "0", "--workers", "2", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = re.search(r"http://\S+/", process.stdout.readline())[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, timeout=30)
        cookie = None
        for _ in range(8):
            headers = {"X-Remote-User": "alice"} | ({"Cookie": cookie} if cookie else {})
            with urllib.request.urlopen(urllib.request.Request(f"{url}tokens", headers=headers), timeout=30) as answer:
                assert not (cookie and answer.headers["Set-Cookie"]), "a worker did not know the other's session"
                cookie = cookie or answer.headers["Set-Cookie"].partition(";")[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
