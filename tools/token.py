"""`crosswind token`: keys to the dashboard's API. docs/dashboard/access.md."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import click

from crosswind.tools.database import db_option
from crosswind.tools.errors import CommandError
from crosswind.tools.moments import Age, utc
from crosswind.tools.output import one_line, print_json, print_table

if TYPE_CHECKING:
    from crosswind.db.tokens import Token

__all__ = ["token_command"]

_SCOPES = ("read:jobs", "read:background", "read:system")
_ROLES = ("user", "lead", "support", "admin")


@click.group("token")
def token_command() -> None:
    """Make, list and revoke keys to the dashboard's API. Whoever may write to the database may.

    \b
    Example: crosswind token create grafana --user alice --scope read:jobs --db sqlite:///crosswind.db
    """


@token_command.command("create")
@click.argument("name")
@click.option("--user", "owner", required=True, help="Whose jobs it reads: a login name; for staff's tokens any name.")
@click.option("--scope", "scopes", type=click.Choice(_SCOPES), multiple=True, required=True, help="What it may read.")
@click.option(
    "--role",
    type=click.Choice(_ROLES),
    default="user",
    show_default=True,
    help="support, admin: it reads everybody's jobs.",
)
@click.option("--expires", type=Age(), default="90d", show_default=True, help="Ends after this time: 90d, 12w, 1y.")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create_token_command(
    name: str, owner: str, scopes: tuple[str, ...], role: str, expires: int, db: str, as_json: bool
) -> None:
    """Make a token and print its secret, which cannot be had again.

    \b
    Example: crosswind token create grafana --user grafana --role support --scope read:system --db sqlite:///crosswind.db
    """
    from crosswind.db.connection import open_database
    from crosswind.db.tokens import create_token

    number, secret = create_token(
        open_database(db, create=False),
        owner=owner,
        name=name,
        scopes=scopes,
        now_ns=time.time_ns(),
        lifetime_ns=expires,
        role=role,
    )
    if as_json:
        print_json({"id": number, "token": secret})
    else:
        click.echo(secret)
        click.echo(f"token {number}: keep it now, only its hash is stored", err=True)


@token_command.command("list")
@click.option("--user", "owner", help="Of one user only.")
@db_option(required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_tokens_command(owner: str | None, db: str, as_json: bool) -> None:
    """List tokens, the newest first; those that have ended or were revoked, too."""
    from crosswind.db.connection import open_database, reading
    from crosswind.db.tokens import tokens

    with reading(open_database(db, create=False)) as conn:
        found = tokens(conn, owner)
    if as_json:
        print_json([dataclasses.asdict(token) for token in found])
        return
    now_ns = time.time_ns()
    header = ["id", "user", "name", "as", "may read", "made", "ends", "last used", "state"]
    print_table(header, [_row(token, now_ns) for token in found])


@token_command.command("revoke")
@click.argument("number", type=int)
@db_option(required=True)
def revoke_token_command(number: int, db: str) -> None:
    """Let a token open nothing any more, from the next request on. NUMBER is its id in the list."""
    from crosswind.db.connection import open_database
    from crosswind.db.tokens import revoke_token

    revoked = revoke_token(open_database(db, create=False), number, time.time_ns())
    if revoked is None:
        raise CommandError(f"there is no token {number} in force: see crosswind token list")
    click.echo(one_line(f"token {number} ({revoked.name}, {revoked.owner}) is revoked"))


def _row(token: Token, now_ns: int) -> list[object]:
    ended = "ended" if token.revoked_ns is None else "revoked"
    state = "in force" if token.is_in_force(now_ns) else ended
    times = (utc(token.created_ns), utc(token.expires_ns), utc(token.used_ns))
    return [token.id, token.owner, token.name, token.role, " ".join(token.scopes), *times, state]
