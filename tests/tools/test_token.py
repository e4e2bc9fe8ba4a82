"""The verbs `token` and `access` as a person at the terminal uses them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crosswind.db import open_database, reading
from crosswind.db.audit import LogLine, write_line
from crosswind.db.tokens import find_token
from crosswind.tools.cli import main


@pytest.fixture
def db(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/c.db"
    open_database(url).dispose()
    return url


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_a_token_is_made_shown_once_listed_and_revoked(db: str) -> None:
    made = run("token", "create", "grafana", "--user", "alice", "--scope", "read:jobs", "--expires", "2d", "--db", db)
    assert made.exit_code == 0, made.output
    secret = made.stdout.strip()
    with reading(open_database(db)) as conn:
        token = find_token(conn, secret, time.time_ns())
    assert (token.owner, token.name, token.role, token.scopes) == ("alice", "grafana", "user", ("read:jobs",))
    assert token.expires_ns - token.created_ns == 2 * 86400 * 10**9
    listed = run("token", "list", "--db", db)
    assert secret not in listed.stdout
    assert "in force" in listed.stdout
    assert run("token", "list", "--user", "bob", "--json", "--db", db).stdout.strip() == "[]"
    assert run("token", "revoke", "1", "--db", db).exit_code == 0
    assert "revoked" in run("token", "list", "--db", db).stdout
    again = run("token", "revoke", "1", "--db", db)
    assert again.exit_code == 1
    assert "crosswind token list" in again.stderr
    with reading(open_database(db)) as conn:
        assert find_token(conn, secret, time.time_ns()) is None


def test_impossible_tokens_are_wrong_usage_or_one_line(db: str) -> None:
    assert run("token", "create", "x", "--user", "a", "--scope", "write:jobs", "--db", db).exit_code == 2
    assert run("token", "create", "x", "--user", "a", "--db", db).exit_code == 2
    assert (
        run("token", "create", "x", "--user", "a", "--scope", "read:jobs", "--expires", "soon", "--db", db).exit_code
        == 2
    )
    bad = run("token", "create", "x\x1b[2J", "--user", "a", "--scope", "read:jobs", "--db", db)
    assert bad.exit_code == 1
    assert bad.stderr.count("\n") == 1
    assert "\x1b" not in bad.output


def test_the_log_is_read_and_shortened(db: str) -> None:
    now_ns = time.time_ns()
    for age_d, viewer in ((0, "sam"), (1, "root\x1b[2J"), (40, "old")):
        write_line(
            open_database(db),
            LogLine(now_ns - age_d * 86400 * 10**9, viewer, "support", "job", "alice", "1.0", "::1", 7),
        )
    shown = run("access", "log", "--db", db).stdout
    assert "sam" in shown
    assert "old" not in shown
    assert "\x1b[2J" not in shown
    lines = json.loads(run("access", "log", "--last", "1y", "--subject", "alice", "--json", "--db", db).stdout)
    assert (lines["total"], lines["lines"][2]["viewer"], lines["lines"][0]["job_key"]) == (3, "old", 7)
    assert "2 older lines" in run("access", "log", "--last", "1y", "--limit", "1", "--db", db).stderr
    assert run("access", "forget", "--older-than", "30d", "--db", db).stdout == "1 lines deleted\n"
    assert json.loads(run("access", "log", "--last", "1y", "--json", "--db", db).stdout)["total"] == 2
