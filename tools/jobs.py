"""`crosswind jobs`: the jobs of a site, those to look at first in front."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import click

from crosswind.analysis.screening import Finding, Usage, Waste, findings, score, waste
from crosswind.db import open_database, reading
from crosswind.db.screening import ScreenedJob, jobs_since
from crosswind.tools.database import db_option
from crosswind.tools.output import print_json, print_table, step

__all__ = ["jobs_command"]

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Ago(click.ParamType):
    """A stretch of time back from now: 90m, 24h, 7d, 2w. Becomes seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        """Seconds, or wrong usage."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([mhdw])", str(value))
        if not match:
            self.fail("write 90m, 24h, 7d or 2w", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True)
class Listed:
    """A job with what screening says of it. elapsed_s: until now while it runs; None: nobody saw it end."""

    job: ScreenedJob
    elapsed_s: float | None
    waste: Waste | None
    findings: list[Finding]


# What the list can be sorted by: a value, the largest first; jobs without one come last.
SORTS: dict[str, Callable[[Listed], float | None]] = {
    "interference": lambda one: one.job.interference_pct,
    "waste": lambda one: one.waste.idle_core_h if one.waste and one.job.steps else None,
    "pattern": lambda one: score(one.findings) or None,
    "io": lambda one: float(one.job.bytes_moved) if one.job.steps else None,
    "elapsed": lambda one: one.elapsed_s,
    "start": lambda one: float(one.job.start_ns),
}


@click.command("jobs")
@db_option(required=True)
@click.option("--sort", type=click.Choice(list(SORTS)), default="start", show_default=True, help="Largest first.")
@click.option(
    "--since", type=Ago(), default="7d", show_default=True, help="Jobs that began so long ago: 90m, 24h, 7d, 2w."
)
@click.option("--user", help="Of this user only.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def jobs_command(db: str, sort: str, since: int, user: str | None, limit: int, as_json: bool) -> None:
    """List the jobs of a site, those to look at first in front: by interference, waste or suspicious I/O pattern.

    Jobs that the batch system reported and that have no profile are in it, too.

    \b
    Example: crosswind jobs --db sqlite:///crosswind.db --sort pattern --since 24h
    """
    now_ns = time.time_ns()
    engine = open_database(db, create=False)
    with step("screening jobs"), reading(engine) as conn:
        jobs = [_screen(job, now_ns) for job in jobs_since(conn, now_ns - since * 10**9, user=user)]
    engine.dispose()
    value = SORTS[sort]
    shown = sorted(jobs, key=lambda one: (value(one) is None, -(value(one) or 0)))[:limit]
    profiled = sum(bool(one.job.steps) for one in jobs)
    if as_json:
        print_json({"jobs": [_document(one) for one in shown], "total": len(jobs), "profiled": profiled})
        return
    print_table(
        ("job", "user", "name", "state", "nodes", "start (UTC)", "elapsed", "interference", "idle", "pattern"),
        [_row(one) for one in shown],
    )
    click.echo(f"\n{len(shown)} of {len(jobs)} jobs, {profiled} with a profile")


def _screen(job: ScreenedJob, now_ns: int) -> Listed:
    end_ns = now_ns if job.runs else job.end_ns
    if end_ns is None:
        return Listed(job, None, None, [])
    elapsed_s = max(0, end_ns - job.start_ns) / 1e9
    usage = Usage(
        elapsed_s, job.cpus, job.cpu_ns / 1e9, job.requests, job.bytes_moved, job.opens, job.metadata_calls
    )  # fmt: skip
    return Listed(job, elapsed_s, waste(usage) if job.steps else None, findings(usage) if job.steps else [])


def _document(one: Listed) -> dict[str, Any]:
    return {
        **asdict(one.job),
        "elapsed_s": one.elapsed_s,
        "waste": asdict(one.waste) if one.waste else None,
        "patterns": [asdict(found) for found in one.findings],
        "pattern_score": score(one.findings),
    }


def _row(one: Listed) -> tuple[object, ...]:
    job = one.job
    started = datetime.fromtimestamp(job.start_ns / 1e9, UTC)
    pct = "" if job.interference_pct is None else f"{job.interference_pct:.1f} %"
    idle = "" if one.waste is None else f"{one.waste.idle_core_h:.1f} core h ({one.waste.idle_share:.0%})"
    elapsed = "" if one.elapsed_s is None else _span(one.elapsed_s)
    patterns = ", ".join(f"{found.name} ({found.value:.0f}/s)" for found in one.findings)
    name = f"{job.job_id} (run {job.run + 1})" if job.run else job.job_id
    return (
        name, job.user[:20], job.name[:24], job.state if job.steps else f"{job.state}, no profile", job.hosts,
        started.strftime("%m-%d %H:%M"), elapsed, pct, idle, patterns,
    )  # fmt: skip


def _span(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.0f} s"
