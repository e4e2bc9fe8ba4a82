"""What a viewer sees of jobs that are not to be seen: a sum of enough of them, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crosswind.db.crowd import Run, count_filling, crowd_of, crowd_outside, crowds_on_each
from crosswind.db.resources import resource_names
from crosswind.web.identity import settings, viewer

__all__ = ["too_few", "withheld_of_each", "withheld_of_nodes", "withheld_slices", "withheld_words"]


def withheld_slices(
    conn: Connection, names: Sequence[str], first_slice: int, n_slices: int, slice_ns: int
) -> NDArray[np.bool_]:
    """In which slices the sum over these resources may not be shown to this viewer, bool [slice]."""
    asks = viewer()
    if asks.names_others or not names:
        return np.zeros(n_slices, dtype=np.bool_)
    k, by_user = _bound()
    crowd = crowd_of(conn, asks.scope, names, first_slice, n_slices, slice_ns, by_user=by_user)
    outside = crowd_outside(conn, asks.scope, names, first_slice, n_slices, slice_ns, by_user=by_user)
    return crowd.is_smaller_than(k) | ((outside > 0) & (outside < k))


def withheld_of_nodes(
    conn: Connection, hosts: Collection[str], first_slice: int, n_slices: int, slice_ns: int
) -> NDArray[np.bool_]:
    """In which slices what was seen of the viewer's own nodes together may not be shown, bool [slice]: where it may not
    be shown of one of them.
    """
    hidden = np.zeros(n_slices, dtype=np.bool_)
    for of_node in withheld_of_each(conn, hosts, first_slice, n_slices, slice_ns).values():
        hidden |= of_node
    return hidden


def withheld_of_each(
    conn: Connection, hosts: Collection[str], first_slice: int, n_slices: int, slice_ns: int
) -> dict[str, NDArray[np.bool_]]:
    """In which slices what was seen of each of the viewer's own nodes may not be shown: few other jobs are known to
    have been there, and what is not the viewer's was theirs. bool [slice]; nodes of which all may be shown are absent.
    """
    asks = viewer()
    if asks.names_others or not hosts:
        return {}
    k, by_user = _bound()
    names = {name: host for host in hosts for name in resource_names("cpu", [host])}
    asked = (conn, asks.scope, list(names), first_slice, n_slices, slice_ns)
    crowds = crowds_on_each(*asked, by_user=by_user)
    hidden = ((names[name], (crowd > 0) & (crowd < k)) for name, crowd in crowds)
    return {host: few for host, few in hidden if few.any()}


def too_few(runs: Iterable[Run], first_slice: int, n_slices: int, slice_ns: int) -> NDArray[np.bool_]:
    """In which slices these runs, none of which the viewer may see, are too few to be shown as a sum, bool [slice]."""
    k, by_user = _bound()
    if viewer().names_others:
        return np.zeros(n_slices, dtype=np.bool_)
    return count_filling(runs, first_slice, n_slices, slice_ns, by_user=by_user) < k


def _bound() -> tuple[int, bool]:
    """How many jobs a sum is of at least, and whether users are counted instead."""
    privacy = settings().privacy
    return privacy.background_jobs, privacy.count == "users"


def withheld_words() -> str:
    """Why there is a gap."""
    privacy = settings().privacy
    what = (
        f"{privacy.background_jobs} of them" if privacy.count == "jobs" else f"those of {privacy.background_jobs} users"
    )
    return f"The other jobs are shown where at least {what} ran; where there were fewer there is a gap."
