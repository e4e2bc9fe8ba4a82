"""clusters.json: the segments of a job by cluster of like ones: boxes, when they were hit, one histogram.

The segments are judged again as when the job was loaded, once while the answer is remembered; a job with too many of
them shows the stored table only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify
from sqlalchemy import Connection

from crosswind.analysis import ClusterView, InputError, cluster_view, estimate
from crosswind.db import DatabaseError, queries
from crosswind.db.queries import JobRow
from crosswind.web.arguments import arguments_or_400
from crosswind.web.cluster_figures import cluster_figures
from crosswind.web.database import connection
from crosswind.web.joblookup import job_or_404
from crosswind.web.memory import remembered_of_jobs
from crosswind.web.pages.job.arguments import ClusterArguments, blueprint

__all__ = ["MAX_SEGMENTS", "Clusters", "clusters", "read_clusters"]

MAX_SEGMENTS = 1_000_000  # that are judged for one answer, about two seconds
MAX_CELLS = 16 << 20  # segments times ranks that are unpacked for it
_NO_SEGMENTS = "The run has no segments: its ranks meet nowhere in step, so there is nothing to compare."
_PRUNED = "The segments of this job are older than the site keeps them; the table is what was found before."
_NOTHING_ALIKE = "No segment has enough others like it to be judged."
_DAMAGED = "The stored segments are damaged; the table is what was found before."


@dataclass(frozen=True)
class Clusters:
    """The judged clusters, longest first; or why there are none to draw."""

    views: tuple[ClusterView, ...]
    why_not: str = ""


@blueprint.get("/jobs/<int:key>/clusters.json")
def clusters(key: int) -> Response:
    """The figures, or (``figures`` empty) the words that explain why there are none."""
    wanted = arguments_or_400(ClusterArguments())
    conn = connection()
    job = job_or_404(conn, key)
    found = read_clusters(conn, job)
    document: dict[str, Any] = {"figures": {}, "notes": [found.why_not] if found.why_not else []}
    if found.views:
        chosen = min(wanted["cluster"], len(found.views) - 1)
        figures = cluster_figures(found.views, chosen, theme=wanted["theme"], size=wanted["size"])
        document |= {"figures": figures, "chosen": chosen, "clusters": [view.to_json() for view in found.views]}
    return jsonify(document)


def read_clusters(conn: Connection, job: JobRow) -> Clusters:
    """The clusters of a job's segments."""
    if not job.detail:
        return Clusters((), _PRUNED if job.estimate else _NO_SEGMENTS)
    try:
        cells = queries.count_segment_cells(conn, job.key)
        if cells > MAX_CELLS:
            return Clusters((), _too_many(f"{cells} times of ranks in segments"))
        content = (job.key, queries.get_digest(conn, job.key))
        return remembered_of_jobs(lambda: _judged(conn, job), "clusters", (content,))
    except (DatabaseError, InputError):
        return Clusters((), _DAMAGED)


def _judged(conn: Connection, job: JobRow) -> Clusters:
    """Raises DatabaseError and InputError for segments that are damaged."""
    table = queries.get_segments(conn, job.key)
    if table is None or not table.n_segments:
        return Clusters((), _NO_SEGMENTS)
    if table.n_segments > MAX_SEGMENTS:
        return Clusters((), _too_many(f"{table.n_segments} segments"))
    views = cluster_view(table, estimate(table))
    return Clusters(views, "" if views else _NOTHING_ALIKE)


def _too_many(what: str) -> str:
    return (
        f"The run has {what}, too many to be judged while you wait: the table is what was found when it was "
        "loaded. crosswind estimate PROFILE --html FILE draws all of them."
    )
