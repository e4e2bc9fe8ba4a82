"""An estimate as text for a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from crosswind.analysis import Estimate
from crosswind.analysis.result import seconds_text
from crosswind.profile.segments import SegmentTable
from crosswind.tools.output import print_table

__all__ = ["kinds_text", "print_estimate"]

_CLUSTERS_SHOWN = 8
_LEAST_SHARE = 0.01  # of the loss: a kind that is less is not worth a word


def print_estimate(
    estimate: Estimate, kinds: Mapping[str, float] | None = None, table: SegmentTable | None = None
) -> None:
    """Print the sentence, the figures beside it, the longest clusters, then warnings and notes.

    kinds: seconds lost by kind, as `lost_by_kind` gives them. table: the segments, which may say what ended them.
    """
    click.secho(estimate.sentence(), bold=True)
    if estimate.interference_pct is not None:
        for line in _figures(estimate):
            click.echo(f"  {line}")
        if lost := kinds_text(kinds or {}):
            click.echo(f"  lost in: {lost}")
        _print_clusters(estimate, table)
    remarks = [("Warning", text) for text in estimate.warnings] + [("Note", text) for text in estimate.notes]
    if remarks:
        click.echo()
    for kind, text in remarks:
        click.echo(f"{click.style(kind, fg='yellow' if kind == 'Warning' else None)}: {text}")


def _figures(estimate: Estimate) -> Iterator[str]:
    """Class, and the figures that stand beside the estimate and are never added to it."""
    yield f"class: {estimate.interference_class}, probability of a disturbed run {estimate.probability:.2f}"
    beside = {
        "CPU time beyond the usual": estimate.cpu_pct,
        "waiting for a processor": estimate.run_delay_pct,
        "in segments without their like, not judged": estimate.uncovered_pct,
    }
    for name, value in beside.items():
        if value is not None:
            yield f"{name}: {value:.1f} %"


def kinds_text(kinds: Mapping[str, float]) -> str:
    """What the time was lost in, largest part first, such as `I/O 2.1 s, collectives 90 ms`; empty if none was."""
    least = _LEAST_SHARE * sum(kinds.values())
    lost = sorted(((seconds, kind) for kind, seconds in kinds.items() if seconds > least), reverse=True)
    return ", ".join(f"{kind} {seconds_text(seconds)}" for seconds, kind in lost)


def _print_clusters(estimate: Estimate, table: SegmentTable | None) -> None:
    """The judged clusters with the most time."""
    rows = estimate.clusters.rows(_CLUSTERS_SHOWN)
    judged = int(estimate.clusters.covered.sum())
    title = "Clusters of like segments" + (f" (the longest {len(rows)} of {judged})" if judged > len(rows) else "")
    header = ["first segment", "segments", "time s", "median ms", "MAD ms", "threshold ms", "hit", "lost s"]
    cells = [[*_cells(row)] for row in rows]
    if table is not None and table.places:
        header.append("ended by")
        for row, texts in zip(rows, cells, strict=True):
            texts.append(table.closed_by(row["first_segment"]))
    print_table(header, cells, title)


def _cells(row: dict[str, float]) -> tuple[object, ...]:
    """One cluster as the cells of the table."""
    milliseconds = (f"{row[name] / 1e3:.3f}" for name in ("median_us", "mad_us", "threshold_us"))
    return (
        row["first_segment"],
        row["size"],
        f"{row['time_s']:.2f}",
        *milliseconds,
        row["hit"],
        f"{row['lost_s']:.3f}",
    )
