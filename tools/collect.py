"""`crosswind collect`: finished spool files and profiles into the database."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from crosswind.tools.collect_daemon import DaemonOptions, daemon_options, run_daemon
from crosswind.tools.database import db_option
from crosswind.tools.evaluation import evaluate, evaluate_again, summarize
from crosswind.tools.names import cluster_option
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
@cluster_option("The cluster that all of this belongs to, where a database has several.")
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
    "--lost-after",
    type=click.FloatRange(min=0),
    default=3600.0,
    show_default=True,
    help="Seconds without a sign of life after which a running job is ended as lost; 0: never.",
)
@daemon_options
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
    cluster: str,
    delete: bool,
    slurm_events: Path | None,
    slurm_queue: float | None,
    topology: Path | None,
    lost_after: float,
    estimate_again: bool,
    as_json: bool,
    **daemon: Unpack[DaemonOptions],
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
        store_topology_file(engine, topology, cluster)
    if estimate_again:
        _estimate_again(engine)
    refused = _load_files(engine, profiles, cluster, as_json)
    if spools and not once:
        run_daemon(
            engine, spools, daemon, cluster=cluster, delete=delete, lost_after_s=lost_after,
            slurm_events=slurm_events, slurm_queue_s=slurm_queue,
        )  # fmt: skip
        return
    if spools:
        refused += _look(engine, spools, as_json, cluster=cluster, delete=delete, lost_after_s=lost_after)
    refused += _ask_slurm(engine, slurm_events, cluster, ask_queue=slurm_queue is not None)
    ctx.exit(1 if refused else 0)


def _ask_slurm(engine: Engine, events: Path | None, cluster: str, *, ask_queue: bool) -> int:
    """What Slurm said of jobs; how much of it could not be read."""
    from crosswind.collector.batch_system import (
        UnreadableReport,
        apply_events,
        ask_sinfo,
        ask_squeue,
        note_nodes,
        repair_from_queue,
    )

    refused: list[tuple[str, str]] = []
    if events is not None:
        refused += apply_events(engine, events, cluster=cluster).refused
    for name, ask, take_in in (("squeue", ask_squeue, repair_from_queue), ("sinfo", ask_sinfo, note_nodes)):
        try:
            refused += take_in(engine, *ask(), cluster=cluster).refused if ask_queue else []
        except UnreadableReport as error:
            refused.append((name, str(error)))
    for name, reason in refused:
        click.echo(one_line(f"crosswind collect: {name}: {reason}"), err=True)
    return len(refused)


def _estimate_again(engine: Engine) -> None:
    with step("crosswind collect: estimating"):
        for failure in evaluate_again(engine):
            click.echo(one_line(f"crosswind collect: {failure}"), err=True)


def _look(engine: Engine, spools: tuple[Path, ...], as_json: bool, **options: Any) -> int:  # noqa: ANN401
    """One look at the spool directories; how many files were refused. options: of collect_once."""
    from crosswind.collector import collect_once

    with step(f"crosswind collect: looking at {', '.join(map(str, spools))}"):
        report = collect_once(spools, engine, evaluate=evaluate, summarize=summarize, **options)
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


def _load_files(engine: Engine, paths: tuple[Path, ...], cluster: str, as_json: bool) -> int:
    """Load profile files; how many could not be read. One bad file does not keep the others out."""
    from crosswind.collector import load_profile_file
    from crosswind.db.errors import RefusedProfile
    from crosswind.profile.errors import FormatError

    refused = 0
    for path in paths:
        try:
            with step(f"loading {path}"):
                result = load_profile_file(path, engine, evaluate=evaluate, summarize=summarize, cluster=cluster)
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
