"""Tokens and the log of looks: what is stored, who finds what, bounds."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from crosswind.db import DatabaseError, access_schema, reading
from crosswind.db.audit import LogLine, access_lines, forget_lines, has_looked, write_line
from crosswind.db.tokens import MAX_TOKENS, create_token, find_token, note_use, revoke_token, tokens

NOW = 1_760_000_000 * 10**9
HOUR = 3600 * 10**9


def make(engine, owner="alice", **changes):
    known = {"name": "grafana", "scopes": ["read:jobs"], "now_ns": NOW, "lifetime_ns": 24 * HOUR}
    return create_token(engine, owner=owner, **{**known, **changes})


def test_a_token_is_found_by_its_secret_alone_and_the_secret_is_nowhere(engine):
    number, secret = make(engine, scopes=["read:system", "read:jobs"], role="support")
    with reading(engine) as conn:
        found = find_token(conn, secret, NOW)
        assert (found.id, found.owner, found.role, found.scopes) == (
            number,
            "alice",
            "support",
            ("read:jobs", "read:system"),
        )
        assert find_token(conn, secret + "x", NOW) is None
        assert find_token(conn, "", NOW) is None
        assert find_token(conn, "\udcff", NOW) is None
        stored = str(conn.execute(select(access_schema.api_token)).all())
    assert secret.startswith("xw_")
    assert secret not in stored
    assert secret.removeprefix("xw_") not in stored
    assert len(secret) > 40


def test_a_token_ends(engine):
    number, secret = make(engine)
    with reading(engine) as conn:
        assert find_token(conn, secret, NOW + 24 * HOUR - 1)
        assert find_token(conn, secret, NOW + 24 * HOUR) is None
    assert revoke_token(engine, number, NOW, owner="bob") is None, "not bob's"
    assert revoke_token(engine, number, NOW + 1).revoked_ns == NOW + 1
    assert revoke_token(engine, number, NOW + 2) is None, "once is enough"
    with reading(engine) as conn:
        assert find_token(conn, secret, NOW + 3) is None
        assert [token.id for token in tokens(conn, "alice")] == [number], "it stays in the list"
        assert tokens(conn, "bob") == []


def test_use_is_noted_once_an_hour(engine):
    _, secret = make(engine)

    def used(now_ns):
        with reading(engine) as conn:
            token = find_token(conn, secret, now_ns)
        note_use(engine, token, now_ns)
        with reading(engine) as conn:
            return find_token(conn, secret, now_ns).used_ns

    assert used(NOW + 1) == NOW + 1
    assert used(NOW + HOUR // 2) == NOW + 1
    assert used(NOW + 2 * HOUR) == NOW + 2 * HOUR


@pytest.mark.parametrize(
    "changes",
    [
        {"scopes": []},
        {"scopes": ["write:jobs"]},
        {"role": "root"},
        {"name": ""},
        {"name": "x" * 257},
        {"name": "a\nb"},
        {"owner": ""},
    ],
)
def test_an_impossible_token_is_refused(engine, changes):
    with pytest.raises(DatabaseError):
        make(engine, **changes)


def test_nobody_has_too_many(engine):
    made = [make(engine) for _ in range(MAX_TOKENS)]
    with pytest.raises(DatabaseError, match="revoke one first"):
        make(engine)
    assert make(engine, owner="bob")
    revoke_token(engine, made[0][0], NOW)
    assert make(engine)


def test_the_log_tells_who_looked_at_whose_job(engine):
    for at, (viewer, key, subject) in enumerate([("sam", 1, "alice"), ("sam", 2, "bob"), ("root", 1, "alice")]):
        write_line(engine, LogLine(NOW + at, viewer, "support", "job", subject, f"{key}.0", "10.0.0.1", key))
    with reading(engine) as conn:
        lines, total = access_lines(conn)
        assert ([line.viewer for line in lines], total) == (["root", "sam", "sam"], 3)
        assert [line.job_key for line in access_lines(conn, viewer="sam")[0]] == [2, 1]
        assert access_lines(conn, subject="alice", limit=1)[1] == 2
        assert access_lines(conn, since_ns=NOW + 2)[1] == 1
        assert has_looked(conn, "sam", 1, NOW)
        assert not has_looked(conn, "sam", 1, NOW + 1)
        assert not has_looked(conn, "sam", 3, NOW)
    assert forget_lines(engine, NOW + 1) == 1
    with reading(engine) as conn:
        assert access_lines(conn)[1] == 2


def test_a_line_is_bounded(engine):
    write_line(engine, LogLine(NOW, "v" * 9999, "user", "job", "s", "d" * 9999, "a"))
    with reading(engine) as conn:
        line = access_lines(conn)[0][0]
    assert len(line.viewer) == len(line.detail) == 512
