"""What a viewer sees of jobs that are not to be seen: a sum of enough of them, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.db.crowd import crowd_of, crowd_outside
from crosswind.web.identity import settings, viewer

__all__ = ["withheld_slices", "withheld_words"]


def withheld_slices(
    conn: Connection, names: Sequence[str], first_slice: int, n_slices: int, slice_ns: int
) -> NDArray[np.bool_]:
    """In which slices the sum over these resources may not be shown to this viewer, bool [slice]."""
    asks = viewer()
    if asks.names_others or not names:
        return np.zeros(n_slices, dtype=np.bool_)
    k, by_user = settings().privacy.background_jobs, settings().privacy.count == "users"
    crowd = crowd_of(conn, asks.scope, names, first_slice, n_slices, slice_ns, by_user=by_user)
    outside = crowd_outside(conn, asks.scope, names, first_slice, n_slices, slice_ns, by_user=by_user)
    return crowd.is_smaller_than(k) | ((outside > 0) & (outside < k))


def withheld_words() -> str:
    """Why there is a gap."""
    privacy = settings().privacy
    what = (
        f"{privacy.background_jobs} of them" if privacy.count == "jobs" else f"those of {privacy.background_jobs} users"
    )
    return f"The other jobs are shown where at least {what} ran; where there were fewer there is a gap."
