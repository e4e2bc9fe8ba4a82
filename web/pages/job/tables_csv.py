"""heat.csv and clusters.csv: the numbers behind the heat map and the figures of the segments, in base units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flask import Response, abort

from crosswind.analysis import ClusterView
from crosswind.web.arguments import arguments_or_400
from crosswind.web.csv_answer import csv_answer
from crosswind.web.database import connection
from crosswind.web.joblookup import job_or_404
from crosswind.web.pages.job.arguments import ClusterTableArguments, blueprint
from crosswind.web.pages.job.clusters import read_clusters
from crosswind.web.pages.job.heat import Asked, Grid, read_grid, what_is_asked
from crosswind.web.text import slice_begin

__all__ = ["MAX_VALUES", "clusters_csv", "heat_csv"]

MAX_COLUMNS = 16_000  # processes or nodes; what spreadsheets take
MAX_VALUES = 2_000_000  # of a file, some 20 MB

_Rows = Iterator[Sequence[object]]
_Numbered = Sequence[tuple[int, ClusterView]]


@blueprint.get("/jobs/<int:key>/heat.csv")
def heat_csv(key: int) -> Response:
    """A row a slice, a column for each process or node of the part that is shown; empty where there is a gap.

    Of a file that would be too large a row is of several slices and a column of several processes, as its cell shows.
    """
    conn = connection()
    asked = what_is_asked(conn, key)
    if asked.series is None:
        abort(404, description=asked.why_not)
    n_rows = asked.wanted.get("n_rows", asked.job.n_processes)
    columns = max(1, min(n_rows, asked.job.n_processes, MAX_COLUMNS))
    grid = read_grid(conn, asked, asked.series, columns, MAX_VALUES // columns)
    return csv_answer(f"job-{key}-{asked.series.name.replace('_', '-')}", _heat_rows(asked, grid))


def _heat_rows(asked: Asked, grid: Grid) -> _Rows:
    more = f" and {grid.height - 1} more" if grid.height > 1 else ""
    labels = grid.labels[grid.shown][:: grid.height]
    yield ["slice", "slices", "begin_utc", *(f"{label}{more} [{grid.unit}]" for label in labels)]
    first, n = asked.job.first_slice + asked.window.start, asked.window.stop - asked.window.start
    for column in range(grid.z.shape[1]):
        at = column * grid.width
        begin = slice_begin((first + at) * asked.job.slice_ns)
        yield [first + at, min(grid.width, n - at), begin, *grid.z[:, column].tolist()]


@blueprint.get("/jobs/<int:key>/clusters.csv")
def clusters_csv(key: int) -> Response:
    """One of the figures: the boxes of all clusters, their hit segments, or the histogram of one; of a job that has
    none, as clusters.json explains, only the head.
    """
    wanted = arguments_or_400(ClusterTableArguments())
    conn = connection()
    clusters = list(enumerate(read_clusters(conn, job_or_404(conn, key)).views, 1))
    chosen = min(wanted["cluster"], max(len(clusters) - 1, 0))
    tables = {"boxes": _boxes(clusters), "timeline": _hits(clusters), "histogram": _bars(clusters[chosen : chosen + 1])}
    return csv_answer(f"job-{key}-segments-{wanted['part']}", tables[wanted["part"]])


def _boxes(clusters: _Numbered) -> _Rows:
    box = ("low_us", "q1_us", "median_us", "q3_us", "high_us", "threshold_us")
    yield ["cluster", "segments", "time_s", "lost_s", *box, "ended_by"]
    for number, view in clusters:
        yield [number, view.segments, view.time_s, view.lost_s, *(getattr(view, name) for name in box), view.closed_by]


def _hits(clusters: _Numbered) -> _Rows:
    yield ["cluster", "segment", "begin_utc_ms", "duration_us", "lost_us"]
    for number, view in clusters:
        hits = view.hits
        begins = [None] * hits.segment.size if hits.begin_us is None else [round(us / 1e3) for us in hits.begin_us]
        rows = zip(hits.segment.tolist(), begins, hits.duration_us.tolist(), hits.lost_us.tolist(), strict=True)
        yield from ([number, *row] for row in rows)


def _bars(clusters: _Numbered) -> _Rows:
    yield ["cluster", "from_us", "to_us", "not_hit", "hit", "threshold_us"]
    for number, view in clusters:
        bars, edges = view.histogram, view.histogram.edges_us.tolist()
        for row in zip(edges[:-1], edges[1:], bars.quiet.tolist(), bars.hit.tolist(), strict=True):
            yield [number, *row, view.threshold_us]
