"""Runs of one program side by side."""

from __future__ import annotations

from flask import Blueprint, render_template

__all__ = ["blueprint"]

blueprint = Blueprint("compare", __name__)


@blueprint.get("/compare")
def index() -> str:
    """The comparison."""
    return render_template("base.html")
