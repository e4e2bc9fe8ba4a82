"""Estimates beside the loading: whoever is handed in makes them, and they are never in the way of the data."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Engine

from crosswind.db import Evaluation, reading
from crosswind.db.queries import get_digest, get_profile
from crosswind.db.store import store_evaluation
from crosswind.profile.model import Profile

__all__ = ["NO_ESTIMATE", "Evaluate", "checked_evaluation", "evaluate_whole"]

Evaluate = Callable[[Profile], Evaluation | None]

NO_ESTIMATE = (ValueError, TypeError, ArithmeticError, LookupError)  # what a profile that has none may raise


def checked_evaluation(profile: Profile, evaluate: Evaluate | None) -> Evaluation | None:
    """What was found, if it can be stored: JSON has no NaN and no infinity. Raises one of NO_ESTIMATE."""
    found = evaluate(profile) if evaluate else None
    if found is not None:
        json.dumps(found.document, allow_nan=False)
    return found


def evaluate_whole(engine: Engine, job_key: int, evaluate: Evaluate) -> None:
    """Make and store the estimate of a job from all that the database has of it. Raises one of NO_ESTIMATE,
    DatabaseError.
    """
    with reading(engine) as conn:
        digest, profile = get_digest(conn, job_key), get_profile(conn, job_key)
    if digest is not None and profile is not None:
        store_evaluation(engine, job_key, checked_evaluation(profile, evaluate), digest)
