"""`crosswind collect`: finished spool files and profiles into the database."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crosswind.tools.collect_daemon import run_daemon
from crosswind.tools.database import db_option
from crosswind.tools.evaluation import evaluate, evaluate_again, summarize
from crosswind.tools.output import one_line, step
from crosswind.tools.topology import store_topology_file

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["collect_command"]


@click.command("collect")
@click.argument("profiles", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--spool",
    "spools",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of spool files; may be given several times.",
)
@db_option(required=True)
@click.option("--once", is_flag=True, help="Collect what is finished and end.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds between looks."
)
@click.option("--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics in Prometheus form on this port.")
@click.option("--metrics-address", default="127.0.0.1", show_default=True, help="Address to serve the metrics on.")
@click.option(
    "--memory", type=click.FloatRange(min=0), default=4.0, show_default=True, help="GiB it may ask for; 0: any amount."
)
@click.option("--delete", is_flag=True, help="Remove loaded spool files instead of moving them to done/.")
@click.option(
    "--slurm-events",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory into which batch/slurm/job_event.sh writes.",
)
@click.option("--slurm-queue", type=click.FloatRange(min=1), help="Ask squeue every so many seconds, too.")
@click.option(
    "--topology",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Slurm's topology.conf: which switch each node is plugged into.",
)
@click.option(
    "--estimate-again",
    is_flag=True,
    help="First make the estimates of all jobs in the database anew, and the summaries that are missing.",
)
@click.option("--json", "as_json", is_flag=True, help="With --once: print what was done as JSON.")
@click.pass_context
def collect_command(
    ctx: click.Context,
    profiles: tuple[Path, ...],
    spools: tuple[Path, ...],
    db: str,
    once: bool,
    interval: float,
    metrics_port: int | None,
    metrics_address: str,
    memory: float,
    delete: bool,
    slurm_events: Path | None,
    slurm_queue: float | None,
    topology: Path | None,
    estimate_again: bool,
    as_json: bool,
) -> None:
    """Load spool files and PROFILES (.xwp) into a database, with their estimates.

    Loading again what is there already changes nothing. Files that cannot be read are moved to refused/. With --once
    it loads the jobs that are over and ends, with exit code 1 if a file was refused. Without it runs until SIGTERM or
    SIGINT: running jobs are kept up to date while they run; it logs key=value lines on stderr.

    \b
    Example: crosswind collect --spool /dev/shm/crosswind --db sqlite:///crosswind.db --once
    """
    from crosswind.db.connection import open_database

    if not (profiles or spools or estimate_again or slurm_events or slurm_queue or topology):
        raise click.UsageError("nothing to collect: name a directory with --spool, or .xwp files")
    if as_json and spools and not once:
        raise click.UsageError("--json goes with --once: the daemon logs key=value lines on stderr")
    engine = open_database(db)
    if topology is not None:
        store_topology_file(engine, topology)
    if estimate_again:
        _estimate_again(engine)
    refused = _load_files(engine, profiles, as_json)
    if spools and not once:
        metrics = None if metrics_port is None else (metrics_address, metrics_port)
        run_daemon(
            engine, spools, interval_s=interval, delete=delete, metrics=metrics, memory_gib=memory,
            slurm_events=slurm_events, slurm_queue_s=slurm_queue,
        )  # fmt: skip
        return
    refused += _look(engine, spools, delete, as_json) if spools else 0
    refused += _ask_slurm(engine, slurm_events, ask_queue=slurm_queue is not None)
    ctx.exit(1 if refused else 0)


def _ask_slurm(engine: Engine, events: Path | None, *, ask_queue: bool) -> int:
    """What Slurm said of jobs; how much of it could not be read."""
    from crosswind.collector.batch_system import UnreadableReport, apply_events, ask_squeue, repair_from_queue

    refused: list[tuple[str, str]] = []
    if events is not None:
        refused += apply_events(engine, events).refused
    if ask_queue:
        try:
            refused += repair_from_queue(engine, *ask_squeue()).refused
        except UnreadableReport as error:
            refused.append(("squeue", str(error)))
    for name, reason in refused:
        click.echo(one_line(f"crosswind collect: {name}: {reason}"), err=True)
    return len(refused)


def _estimate_again(engine: Engine) -> None:
    with step("crosswind collect: estimating"):
        for failure in evaluate_again(engine):
            click.echo(one_line(f"crosswind collect: {failure}"), err=True)


def _look(engine: Engine, spools: tuple[Path, ...], delete: bool, as_json: bool) -> int:
    """One look at the spool directories; how many files were refused."""
    from crosswind.collector import collect_once

    with step(f"crosswind collect: looking at {', '.join(map(str, spools))}"):
        report = collect_once(spools, engine, evaluate=evaluate, summarize=summarize, delete=delete)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(report)))
    else:
        for job in report.loaded:
            name = f"{job.job_id}.{job.step}" if job.step else job.job_id
            state = "loaded" if job.changed else "was there already"
            click.echo(one_line(f"job {name} of {job.user}: {state}: {job.processes} processes, {job.slices} slices"))
        if report.running:
            click.echo(one_line(f"still running: {', '.join(report.running)}"))
    for path, reason in report.refused:
        click.echo(one_line(f"crosswind collect: {path}: {reason}: moved to refused/"), err=True)
    for note in report.notes:
        click.echo(one_line(f"crosswind collect: {note}"), err=True)
    return len(report.refused)


def _load_files(engine: Engine, paths: tuple[Path, ...], as_json: bool) -> int:
    """Load profile files; how many could not be read. One bad file does not keep the others out."""
    from crosswind.collector import load_profile_file
    from crosswind.db.errors import RefusedProfile
    from crosswind.profile.errors import FormatError

    refused = 0
    for path in paths:
        try:
            with step(f"loading {path}"):
                result = load_profile_file(path, engine, evaluate=evaluate, summarize=summarize)
        except (FormatError, RefusedProfile) as error:
            refused += 1
            click.echo(f"crosswind collect: {one_line(error)}", err=True)
            continue
        if as_json:
            click.echo(json.dumps({"file": str(path), **dataclasses.asdict(result)}))
        else:
            state = f"loaded as job {result.job_key}" if result.loaded else f"job {result.job_key} has it already"
            click.echo(one_line(f"{path}: {state}: {result.slices} slices"))
    return refused
