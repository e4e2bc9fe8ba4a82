"""figure.json: the stacked plots as plotly.js takes them, of the whole run or of the part that the reader zoomed to."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify

from crosswind.db.queries import JobRow
from crosswind.web.arguments import arguments_or_400
from crosswind.web.database import connection
from crosswind.web.figures import Axis, stacked_figure
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import FigureArguments, blueprint, window_of
from crosswind.web.pages.job.stack import Stack, read_node_stack, read_stack

__all__ = ["figure", "stack_of"]


@blueprint.get("/jobs/<int:key>/figure.json")
def figure(key: int) -> Response:
    """The figure, or (``plots`` empty) the words that explain why there is none."""
    wanted = arguments_or_400(FigureArguments())
    job = job_or_404(connection(), key)
    stack = stack_of(job, wanted)
    whole = [job.first_slice * job.slice_ns / 1e6, (job.first_slice + job.n_slices) * job.slice_ns / 1e6]
    document: dict[str, Any] = {"plots": [], "notes": stack.notes, "whole": whole, "state": job.state}
    if stack.plots:
        document |= stacked_figure(
            stack.plots,
            Axis(job.first_slice, job.n_slices, job.slice_ns),
            stack.loss.per_slice_s,
            theme=wanted["theme"],
            size=wanted["size"],
            window=window_of(job, wanted),
        )
    return jsonify(document)


def stack_of(job: JobRow, wanted: dict[str, Any]) -> Stack:
    """The plots that the arguments name."""
    if wanted["stack"] == "nodes":
        return read_node_stack(connection(), job)
    return read_stack(
        connection(),
        job,
        spread=wanted["view"] == "spread",
        every=wanted["plots"] == "all",
        process=wanted["process"],
    )
