"""`crosswind compare`: several runs of one program beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from crosswind.analysis import Comparison, compare
from crosswind.analysis.result import NO_SEGMENTS
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
    names = _names(paths)
    if html is not None:
        from crosswind.tools.report_html import comparison_report

        comparison_report(html, names, found)
    if as_json:
        document = found.to_json(names, CLUSTERS_LISTED)
        document["runs"] = [{"file": str(path), **told} for path, told in zip(paths, document["runs"], strict=True)]
        print_json(document)
    else:
        _print(found, names)


def _segments(path: Path) -> SegmentTable:
    """The segments of a file of either kind. Raises FormatError, OSError; CommandError: the profile has none."""
    segments = segments_of(read_run(path))
    if segments is None:
        raise CommandError(f"{path}: {NO_SEGMENTS}")
    return segments


def _names(paths: Sequence[Path]) -> list[str]:
    """What the runs are called: the files' names, or their paths where names are not enough to tell them apart."""
    names = [path.name for path in paths]
    return [one_line(name) for name in (names if len(set(names)) == len(names) else map(str, paths))]


def _print(found: Comparison, names: Sequence[str]) -> None:
    click.secho(found.sentence(names), bold=True)
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
    shown = found.told_clusters(CLUSTERS_SHOWN)
    if shown.size:
        for title, values_us in (("Undisturbed", found.level_us), ("Median", found.median_us)):
            cells = [(_cluster_name(found, c), *map(_milliseconds, values_us[:, c])) for c in shown]
            print_table(("cluster", *names), cells, f"{title} duration of like segments, ms")


def _cluster_name(found: Comparison, cluster: int) -> str:
    return f"{cluster + 1}{'' if found.same_work[cluster] else ' (different work)'}"


def _milliseconds(value_us: float) -> str:
    return "-" if np.isnan(value_us) else f"{value_us / 1e3:.3f}"
