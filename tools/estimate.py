"""`crosswind estimate`: how much of one run's time was lost to interference."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.analysis import DEFAULT_METHOD, METHODS, Estimate, estimate, estimate_profile, lost_by_kind
from crosswind.profile.segments import SegmentTable
from crosswind.tools.errors import CommandError
from crosswind.tools.evaluation import document_of
from crosswind.tools.output import print_json, step
from crosswind.tools.report_text import print_estimate
from crosswind.tools.segment_file import read_run

__all__ = ["estimate_command"]


@click.command("estimate")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option(
    "--method",
    type=click.Choice(sorted(METHODS)),
    default=DEFAULT_METHOD,
    show_default=True,
    help="The estimator; docs/estimator.md describes each.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report with pictures, too.")
def estimate_command(path: Path, as_json: bool, method: str, html: Path | None) -> None:
    """Estimate how much of a run's time was lost to interference, from this one run.

    PATH is a profile (.xwp), or a CSV file of segments with one row per segment and rank.

    \b
    Example: crosswind estimate melt.xwp --html melt.html
    """
    with step("estimating"):
        result, table = _estimate_file(path, method)
        kinds = lost_by_kind(table, result) if table is not None else {}
    if html is not None:
        _write_report(html, path, table, result, kinds)
    if as_json:
        print_json({**document_of(result, table), "lost_by_kind_s": kinds})
    else:
        print_estimate(result, kinds, table)


def _estimate_file(path: Path, method: str) -> tuple[Estimate, SegmentTable | None]:
    """The estimate of a file of either kind, and its segments. Raises FormatError, InputError, OSError."""
    run = read_run(path)
    if isinstance(run, SegmentTable):
        return estimate(run, method), run
    return estimate_profile(run, method), run.segments


def _write_report(
    html: Path, path: Path, table: SegmentTable | None, result: Estimate, kinds: dict[str, float]
) -> None:
    """The report of a run that has segments; CommandError: it has none."""
    if table is None:
        raise CommandError(f"{path}: has no segments, there is nothing to draw")
    from crosswind.tools.report_html import estimate_report

    with step("drawing"):
        estimate_report(html, path.name, table, result, kinds)
