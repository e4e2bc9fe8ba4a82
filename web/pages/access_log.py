"""For admins: who opened a job of somebody else, who made and revoked tokens."""

from __future__ import annotations

from flask import Blueprint, render_template
from marshmallow import fields, validate

from crosswind.db.audit import access_lines
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.identity import Role, require
from crosswind.web.schemas import Arguments

__all__ = ["blueprint"]

blueprint = Blueprint("access_log", __name__)

PAGE = 100


class _LogArguments(Arguments):
    """Which lines."""

    viewer = fields.String(validate=validate.Length(max=256))
    subject = fields.String(validate=validate.Length(max=256))
    page = fields.Integer(load_default=1, validate=validate.Range(1, 1_000_000))


@blueprint.get("/admin/log")
def index() -> str:
    """One page of the log, newest first."""
    require(Role.ADMIN)
    wanted = arguments_or_400(_LogArguments())
    lines, total = access_lines(
        connection(),
        viewer=wanted.get("viewer") or None,
        subject=wanted.get("subject") or None,
        limit=PAGE,
        offset=(wanted["page"] - 1) * PAGE,
    )
    return render_template("access_log.html", lines=lines, total=total, wanted=wanted, pages=max(1, -(-total // PAGE)))
