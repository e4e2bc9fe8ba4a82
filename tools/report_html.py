"""A report as one HTML file that needs nothing else: the answer, the figures beside it, pictures, warnings."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from crosswind.analysis import Comparison, Estimate
from crosswind.analysis.arrays import median_over_rows
from crosswind.analysis.features import segment_features
from crosswind.profile.segments import SegmentTable
from crosswind.tools import report_figures as figures
from crosswind.tools.output import one_line
from crosswind.tools.report_text import kinds_text

__all__ = ["comparison_report", "estimate_report"]

Section = tuple[str, str, go.Figure | None]  # heading, text as HTML, picture

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2.5rem } p { max-width: 75ch }
.warning { border-left: 4px solid #d9a441; padding-left: .8rem }
"""


def estimate_report(path: Path, title: str, table: SegmentTable, estimate: Estimate, kinds: dict[str, float]) -> None:
    """Write the report of one run (pictures after figures 5.9 to 5.14 of the thesis). Raises OSError."""
    features = segment_features(table)
    work = features.work
    begin_s = _begins_s(table, estimate)
    sections: list[Section] = [("", _paragraphs([estimate.sentence(), *_figures(estimate, kinds)]), None)]
    sections += [("", f'<p class="warning">{html.escape(text)}</p>', None) for text in estimate.warnings]
    sections.append(("", _paragraphs(estimate.notes), None))
    if estimate.segments:
        name = {"flops": "floating-point operations", "cpu_us": "CPU time, us"}.get(features.work_kind, "instructions")
        sections += [
            ("The run", "", figures.timeline(estimate, begin_s, work, name)),
            ("All segments", "", figures.histograms(estimate.duration_us, work, name)),
            ("Clusters of like segments", _paragraphs([_BOXES]), figures.clusters(estimate)),
        ]
    if estimate.hit_segments:
        picture, members, threshold_us = figures.worst_cluster(estimate, begin_s)
        theirs = None if work is None else work[members]
        sections += [
            ("The cluster that lost most", "", picture),
            ("", "", figures.histograms(estimate.duration_us[members], theirs, name, threshold_us)),
        ]
    _write(path, f"Interference: {title}", sections)


def comparison_report(path: Path, names: Sequence[str], found: Comparison) -> None:
    """Write the report of several runs (after figure 5.15 of the thesis). Raises OSError."""
    shown = [html.escape(one_line(name)) for name in names]
    lines = [
        f"{name}: {'lost by itself: ' + estimate.sentence()} Slower throughout: {found.steady_pct[i]:.1f} %, "
        f"of which chance explains up to {found.chance_pct[i]:.1f} %."
        for i, (name, estimate) in enumerate(zip(names, found.estimates, strict=True))
    ]
    picture = figures.comparison(found, shown)
    answer = _paragraphs([found.sentence(names), *lines])
    _write(path, "Runs compared", [("", answer, None), ("Clusters", _paragraphs([_LEVELS]), picture)])


_LEVELS = "Above what like segments take undisturbed, below the median of all of them: far apart where many were hit."
_BOXES = "Boxes span the middle half of a cluster, whiskers its middle 98 %."


def _figures(estimate: Estimate, kinds: dict[str, float]) -> list[str]:
    """The figures beside the estimate, as sentences."""
    if estimate.interference_pct is None:
        return []
    lines = [f"Class {estimate.interference_class}, probability of a disturbed run {estimate.probability:.2f}."]
    if estimate.interval_pct is not None:
        low, high = estimate.interval_pct
        lines.append(
            f"The loss lies between {low:.1f} and {high:.1f} %, if the segments taken for undisturbed were so."
        )
    lost = kinds_text(kinds)
    lines += [f"Lost in: {lost}."] if lost else []
    lines.append(f"{estimate.uncovered_pct:.1f} % of the time lies in segments without their like.")
    return lines


def _begins_s(table: SegmentTable, estimate: Estimate) -> np.ndarray:
    """When each segment began, seconds after the first, [segment]; by adding durations where no times were kept."""
    if "t_start_us" in table.columns and table.n_segments:
        begins = median_over_rows(table.columns["t_start_us"])
        return (begins - np.nanmin(begins)) / 1e6
    return np.concatenate([[0.0], np.cumsum(estimate.duration_us)[:-1]])[: table.n_segments] / 1e6


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(one_line(text))}</p>" for text in texts)


def _write(path: Path, title: str, sections: Sequence[Section]) -> None:
    """One file with plotly.js in it: it opens anywhere, years from now, without a network."""
    body = []
    for heading, text, figure in sections:
        body.append(f"<section>{f'<h2>{html.escape(heading)}</h2>' if heading else ''}{text}")
        if figure is not None:
            body.append(figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False}))
        body.append("</section>")
    safe = html.escape(one_line(title))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{safe}</title>'
    script = f"<script>{get_plotlyjs()}</script>"
    page = f"<!DOCTYPE html><html lang='en'><head>{head}<style>{_STYLE}</style>{script}</head>"
    path.write_text(f"{page}<body><h1>{safe}</h1>{''.join(body)}</body></html>\n", encoding="utf-8")
