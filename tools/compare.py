"""`crosswind compare`: several runs of one program beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from crosswind.analysis import Comparison, compare
from crosswind.analysis.result import NO_SEGMENTS, percent_text
from crosswind.profile.segments import SegmentTable
from crosswind.tools.errors import CommandError
from crosswind.tools.output import one_line, print_json, print_table, step
from crosswind.tools.segment_file import read_run, segments_of

__all__ = ["compare_command"]

CLUSTERS_SHOWN = 8
CLUSTERS_LISTED = 100


@click.command("compare")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report with pictures, too.")
def compare_command(paths: tuple[Path, ...], as_json: bool, html: Path | None) -> None:
    """Compare runs of one program: what each lost by itself, and by how much all of it was slower.

    PATHS are profiles (.xwp) or CSV files of segments. A slow-down that lasts a whole run cannot be seen in that run
    alone; between runs the usual durations of like segments show it.

    \b
    Example: crosswind compare monday.xwp tuesday.xwp wednesday.xwp
    """
    if len(paths) < 2:
        raise click.UsageError("a comparison needs two runs or more")
    with step("comparing"):
        found = compare([_segments(path) for path in paths])
    if html is not None:
        from crosswind.tools.report_html import comparison_report

        comparison_report(html, _names(paths), _sentence(found, paths), found)
    if as_json:
        print_json(_document(found, paths))
    else:
        _print(found, paths)


def _segments(path: Path) -> SegmentTable:
    """The segments of a file of either kind. Raises FormatError, OSError; CommandError: the profile has none."""
    segments = segments_of(read_run(path))
    if segments is None:
        raise CommandError(f"{path}: {NO_SEGMENTS}")
    return segments


def _names(paths: Sequence[Path]) -> list[str]:
    """What the runs are called: the files' names, or their paths where names are not enough to tell them apart."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _document(found: Comparison, paths: tuple[Path, ...]) -> dict[str, Any]:
    runs = [
        {
            "file": str(path),
            "total_s": estimate.total_s,
            "interference_pct": estimate.interference_pct,
            "certain": estimate.certain,
            "steady_pct": float(found.steady_pct[i]),
            "chance_pct": float(found.chance_pct[i]),
            "slower": bool(found.is_slower[i]),
            "shared_pct": float(found.shared_pct[i]),
        }
        for i, (path, estimate) in enumerate(zip(paths, found.estimates, strict=True))
    ]
    clusters = [
        {
            "size": found.size[:, c].tolist(),
            "level_us": [None if np.isnan(v) else float(v) for v in found.level_us[:, c]],
            "median_us": [None if np.isnan(v) else float(v) for v in found.median_us[:, c]],
            "same_work": bool(found.same_work[c]),
        }
        for c in range(min(found.n_clusters, CLUSTERS_LISTED))
    ]
    return {
        "sentence": _sentence(found, paths),
        "differ_pct": found.differ_pct,
        "runs": runs,
        "clusters": clusters,
    }


def _sentence(found: Comparison, paths: tuple[Path, ...]) -> str:
    """The answer in one sentence."""
    if not np.any(found.shared_pct > 0):
        return "The runs have no segments in common that could be compared: are they of the same program and input?"
    if found.is_slower.any():
        answer = _slowest(found, paths)
    else:
        answer = (
            "No run was slower throughout by more than chance explains, which is up to "
            f"{found.chance_pct.max():.1f} % of a run"
        )
    if found.differ_pct is not None:
        answer += f"; the runs differ among themselves by up to {found.differ_pct:.0f} %"
        answer += ": chance or interference cannot be told apart"
    if not all(estimate.certain for estimate in found.estimates):
        answer += "; less certain, `crosswind estimate` has warnings about the runs"
    return f"{answer}."


def _slowest(found: Comparison, paths: tuple[Path, ...]) -> str:
    """Which run was slowest throughout, and by how much, without a full stop."""
    slowest = int(np.argmax(np.where(found.is_slower, found.steady_pct, 0.0)))
    name, lost = one_line(_names(paths)[slowest]), percent_text(found.steady_pct[slowest])
    chance = f"{found.chance_pct[slowest]:.1f} % may be chance"
    return f"{name} was slower throughout: {lost} of its time, of which {chance}, against the quickest run"


def _print(found: Comparison, paths: tuple[Path, ...]) -> None:
    click.secho(_sentence(found, paths), bold=True)
    names = _names(paths)
    header = ("run", "time s", "lost by itself %", "slower throughout %", "chance explains %", "compared %")
    rows = [
        (
            name,
            f"{estimate.total_s:.1f}",
            "-" if estimate.interference_pct is None else f"{estimate.interference_pct:.1f}",
            f"{found.steady_pct[i]:.1f}{' *' if found.is_slower[i] else ''}",
            f"{found.chance_pct[i]:.1f}",
            f"{found.shared_pct[i]:.0f}",
        )
        for i, (name, estimate) in enumerate(zip(names, found.estimates, strict=True))
    ]
    print_table(header, rows, "Runs")
    shown = np.flatnonzero(np.any(np.isfinite(found.level_us), axis=0))[:CLUSTERS_SHOWN]
    levels = [
        (
            f"{c + 1}{'' if found.same_work[c] else ' (different work)'}",
            *("-" if np.isnan(v) else f"{v / 1e3:.3f}" for v in found.level_us[:, c]),
        )
        for c in shown
    ]
    if levels:
        print_table(("cluster", *names), levels, "Undisturbed duration of like segments, ms")
