"""Which plots a job's page shows, and in which order. Pure: arrays in, plots for `figures` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis import SERIES, Reduction, Series
from crosswind.analysis.timeline import others, rates
from crosswind.profile.metrics import METRICS
from crosswind.web.figures import Line, Plot
from crosswind.web.jobdata import Background, SeriesBands
from crosswind.web.resource_words import kind_words

__all__ = [
    "MAIN_KINDS", "PANEL_TITLES", "background_plots", "how_counted", "job_plots", "lost_plot", "quiet_resources",
    "resource_lines", "series_shown", "withheld_resources",
]  # fmt: skip

_BRIEFS = {metric.name: metric.brief for metric in METRICS}

# Panels in page order. The first ones are shown at once, the others when the reader asks for all plots.
PANEL_TITLES = {
    "time": "Share of wall time in communication and I/O",
    "io_net": "I/O on network file systems",
    "io_disk": "I/O on local disk",
    "mpi_bytes": "MPI traffic",
    "cpu": "Processors",
    "threads": "Threads at work",
    "mpiio": "MPI-IO",
    "io_mem": "I/O on memory and pseudo file systems",
    "io_pipe": "Pipes",
    "io_sock": "Sockets",
    "metadata": "Metadata calls",
    "mpi_calls": "MPI calls",
    "counters": "Processor counters",
    "memory": "Resident memory",
    "memory_faults": "Page faults with I/O",
}
_MAIN_PANELS = ("time", "io_net", "io_disk", "mpi_bytes", "cpu")

# What to show of a resource at once: the panels whose load other jobs share.
_KIND_PANELS = {
    "fs:net": ("io_net",),
    "fs:disk": ("io_disk",),
    "net": ("mpi_bytes", "io_sock"),
    "net:switch": ("mpi_bytes", "io_sock"),
    "partition": ("io_net", "mpi_bytes"),
    "mem": ("memory",),
    "cpu": ("cpu",),
}
MAIN_KINDS = ("fs:net", "fs:disk", "net", "net:switch", "cpu")

_LEGENDS = {
    "mpi_share": "MPI",
    "p2p_share": "point-to-point",
    "coll_share": "collectives",
    "mpiio_share": "MPI-IO",
    "posix_io_share": "file I/O",
    "stdio_io_share": "stdio",
    "cpu": "in use",
    "run_delay": "waited for",
    "threads_busy": "shared the work",
    "p2p_bytes": "point-to-point, sent",
    "coll_bytes": "collectives",
    "p2p_calls": "point-to-point",
    "coll_calls": "collectives",
    "mpiio_read": "read",
    "mpiio_write": "write",
    **{f"{op}_{place}": op for place in ("net", "disk", "mem", "pipe", "sock") for op in ("read", "write")},
    **{
        f"stdio_{op}_{place}": f"{op}, stdio"
        for place in ("net", "disk", "mem", "pipe", "sock")
        for op in ("read", "write")
    },
}

_LEAST = {"B/s": 1 << 20}  # what an axis of the background reaches at least: a trickle is no load
_LOST_AXIS = 0.1  # of a slice: what the axis of lost time reaches at least
_LOST = (
    ("lost", "what segments lasted beyond the threshold of their cluster of like segments, spread evenly over each"),
)
_SHARE = ("shares", "time in the calls over the wall time of the ranks (or processes); band: smallest to largest")
_TOTAL = ("rates", "summed over the processes, per second in which the job was there")
_SPREAD = (
    "spread",
    "line: median over the ranks; band: smallest and largest rank; per second or share of its wall time",
)
_OTHERS = (
    "others",
    "the sum over all profiled jobs of the system less this job; jobs that were not profiled are missing",
)
_HIDDEN = ("withheld", "grey: too few other jobs ran for their sum to be shown without telling what one of them did")


def series_shown(every: bool) -> tuple[str, ...]:
    """The names of the series that a page shows: those of all panels, or of the main ones."""
    return tuple(series.name for series in SERIES if every or series.panel in _MAIN_PANELS)


def job_plots(
    found: Mapping[str, SeriesBands],
    *,
    spread: bool = False,
    every: bool = False,
    one: Mapping[str, NDArray[np.float64]] | None = None,
    one_title: str = "",
) -> list[Plot]:
    """The job's own plots: sums over its processes, or (spread) the smallest, median and largest of its ranks.

    found: by the name of a series, as `read_series` gives it. Series that are shares of wall time have the spread over
    ranks as a band in either case. every: all panels, not only the main ones. one: the same series of one process,
    [slice], drawn over the bands under the name one_title; it goes with spread.
    """
    alive = [series for series in SERIES if series.name in found]
    plots = []
    for panel in (name for name in PANEL_TITLES if every or name in _MAIN_PANELS):
        members = [series for series in alive if series.panel == panel]
        for unit in dict.fromkeys(_unit(series, spread) for series in members):
            same = [series for series in members if _unit(series, spread) == unit]
            lines = [_job_line(series, found[series.name], spread, i == 0) for i, series in enumerate(same)]
            lines += [
                Line(f"{series.name}/one", f"{one_title}: {_legend(series)}", one[series.name], "one")
                for series in same
                if one and series.name in one
            ]
            title = PANEL_TITLES[panel] + (", per process" if spread else "")
            summed = _SPREAD if spread else _SHARE if same[0].reduction is Reduction.SHARE else _TOTAL
            plots.append(Plot(panel, title, unit, tuple(lines), "job", (summed, *how_counted(same))))
    return plots


def background_plots(backgrounds: Iterable[Background], slice_ns: int, *, every: bool = False) -> list[Plot]:
    """What all other jobs did on the resources that this job used; resources on which nobody else was are left out."""
    plots = []
    for background in backgrounds:
        busy = _busy_lines(background, slice_ns, every)
        for panel in dict.fromkeys(series.panel for series, _, _ in busy):
            rows = sorted((row for row in busy if row[0].panel == panel), key=lambda row: -np.nanmax(row[1], initial=0))
            lines = [Line(series.name, _legend(series), others, "others") for series, others, _ in rows]
            lead, _, own = rows[0]
            own_title = "this job" if len(rows) == 1 else f"this job: {_legend(lead)}"
            lines.append(Line(f"{lead.name}/own", own_title, own, "own"))
            title = f"All other jobs: {_place(background)}"
            if len(_KIND_PANELS[background.kind]) > 1:
                title += f" – {PANEL_TITLES[panel]}"
            how = (_OTHERS, *_withheld(background), *how_counted([series for series, _, _ in rows]))
            plots.append(
                Plot(
                    f"{background.kind}/{panel}",
                    title,
                    lead.unit,
                    tuple(lines),
                    "background",
                    how,
                    _LEAST.get(lead.unit, 0.0),
                    background.withheld,
                )
            )
    return plots


def quiet_resources(backgrounds: Iterable[Background], slice_ns: int, *, every: bool = False) -> list[str]:
    """The resources on which no other job did anything while this job ran, in words."""
    return [
        _place(background) for background in _not_drawn(backgrounds, slice_ns, every) if not background.withheld.any()
    ]


def withheld_resources(backgrounds: Iterable[Background], slice_ns: int, *, every: bool = False) -> list[str]:
    """The resources of which nothing is drawn because it is withheld, in words."""
    return [_place(background) for background in _not_drawn(backgrounds, slice_ns, every) if background.withheld.any()]


def _not_drawn(backgrounds: Iterable[Background], slice_ns: int, every: bool) -> list[Background]:
    return [
        background
        for background in backgrounds
        if (every or background.kind in MAIN_KINDS) and not _busy_lines(background, slice_ns, every)
    ]


def resource_lines(
    background: Background, slice_ns: int
) -> list[tuple[Series, NDArray[np.float64], NDArray[np.float64]]]:
    """Per series of a resource what all other jobs did and what this job did: both [slice], in the series' unit; of
    the others NaN where that is withheld.
    """
    lines = []
    for series in _members(background):
        own = _sum(series, background.own)
        beside = _per_second(others(_sum(series, background.total), own), series, slice_ns)
        shown = np.where(background.withheld, np.nan, beside)
        lines.append((series, shown, _per_second(own, series, slice_ns)))
    return lines


def lost_plot(lost_s: NDArray[np.float64] | None, slice_ns: int) -> list[Plot]:
    """The seconds lost in each slice; no plot where nothing was lost or nothing can be told. lost_s: [slice]."""
    if lost_s is None or not np.any(lost_s > 0):
        return []
    line = Line("lost", "lost", lost_s, "lost")
    title = "Time lost to interference in each slice"
    return [Plot("lost", title, "s", (line,), "job", _LOST, at_least=slice_ns / 1e9 * _LOST_AXIS)]


def _unit(series: Series, spread: bool) -> str:
    """Times per process are shares of its wall time, times of a whole job are processors."""
    return "share" if spread and series.metric_unit == "ns" else series.unit


def _job_line(series: Series, bands: SeriesBands, spread: bool, first: bool) -> Line:
    """One line; its band is the spread over the workers, where there is any and the axis is theirs too."""
    banded = spread or (first and series.reduction is Reduction.SHARE)
    values = bands.median if spread else bands.total
    if not banded or not np.any(bands.high > bands.low):
        return Line(series.name, _legend(series), values)
    return Line(series.name, _legend(series), values, "job", bands.low, bands.high)


def _busy_lines(
    background: Background, slice_ns: int, every: bool
) -> list[tuple[Series, NDArray[np.float64], NDArray[np.float64]]]:
    """Those of `resource_lines` that a page shows at once and in which another job is seen to have done anything."""
    shown = _KIND_PANELS[background.kind] if every or background.kind in MAIN_KINDS else ()
    return [row for row in resource_lines(background, slice_ns) if row[0].panel in shown and np.any(row[1] > 0)]


def _legend(series: Series) -> str:
    """A name that needs no more than the title of the plot beside it."""
    return _LEGENDS.get(series.name, series.title)


def _members(background: Background) -> list[Series]:
    """The series that the metrics of a resource make whole, where any job did anything."""
    return [
        series
        for series in SERIES
        if background.total.keys() >= set(series.metrics) and np.any(_sum(series, background.total))
    ]


def _sum(series: Series, values: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sum of the metrics of a series, [slice]; those that are not there count as zero."""
    return np.sum([values[name] for name in series.metrics], axis=0)


def _withheld(background: Background) -> tuple[tuple[str, str], ...]:
    return (_HIDDEN,) if background.withheld.any() else ()


def _per_second(values: NDArray[np.int64], series: Series, slice_ns: int) -> NDArray[np.float64]:
    whole = np.full((1, values.size), slice_ns, dtype=np.int64)
    return rates(values[np.newaxis], whole, series.metric_unit, series.kind)[0]


def _place(background: Background) -> str:
    return kind_words(background.kind, [place for name in background.names if (place := name.partition("@")[2])])


def how_counted(members: Sequence[Series]) -> tuple[tuple[str, str], ...]:
    """Each metric behind the lines, with what the metric table says of it."""
    return tuple((name, _BRIEFS[name]) for name in dict.fromkeys(m for series in members for m in series.metrics))
