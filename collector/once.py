"""One look at the spool directories: what is finished is merged, loaded and put away, nothing lost, nothing twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector.agent.load import collect_nodes
from crosswind.collector.claim import Claims, recover
from crosswind.collector.estimates import NO_ESTIMATE, Evaluate, checked_evaluation, evaluate_whole
from crosswind.collector.follow import COPY_QUIET_S, Life, life_by_silence
from crosswind.collector.lost import LOST_AFTER_S, end_lost, note_followed
from crosswind.collector.report import CollectReport
from crosswind.collector.spool import find_spools, is_copy, remove_unfinished
from crosswind.collector.step_loader import File, StepLoader, name_of
from crosswind.db import LoadResult, load_profile
from crosswind.db.summaries import Summarize
from crosswind.profile.layout import State
from crosswind.profile.lifecycle import Machine
from crosswind.profile.short import ShortLog
from crosswind.profile.steps import group_by_step, read_spools
from crosswind.profile.store import read_profile

__all__ = ["Progress", "collect_once", "load_profile_file"]

Progress = Callable[[int, int, str], None]  # steps done, steps there are, the one that is next


def collect_once(
    spool_dirs: Iterable[str | os.PathLike[str]],
    engine: Engine,
    *,
    evaluate: Evaluate | None = None,
    summarize: Summarize | None = None,
    progress: Progress | None = None,
    include_running: bool = False,
    delete: bool = False,
    cluster: str = "",
    lost_after_s: float = LOST_AFTER_S,
) -> CollectReport:
    """Load the job steps of which no process runs any more, then move their files to done/ (delete: remove them).

    evaluate: what finds a profile's interference. summarize: what makes the series of its slices. include_running: also
    load what running steps have so far; their files stay. lost_after_s: see end_lost. A file that can't be read is
    moved to refused/ and reported, the rest is loaded. Raises SpoolError, DatabaseError; files that were being loaded
    are back in the spool then.
    """
    spools = list(dict.fromkeys(Path(d).resolve() for d in spool_dirs))
    machine = Machine.this()
    recovered = sum(recover(spool) for spool in spools)
    files, dropped = read_spools([path for spool in spools for path in find_spools(spool)])
    for spool in spools:
        remove_unfinished(spool)
    steps = group_by_step(files)
    followed = []
    with Claims(spools) as claims:
        look = StepLoader(engine, claims, evaluate=evaluate, summarize=summarize, cluster=cluster, delete=delete)
        look.report.recovered = recovered
        for path, reason in dropped:
            look.refuse(Path(path), reason)
        for homeless in {file.path for file in files} - {file.path for members in steps.values() for file in members}:
            look.put_away(Path(homeless))
        for number, (key, members) in enumerate(steps.items()):
            if progress:
                progress(number, len(steps), name_of(key))
            lives = {file.path: _life(file, machine) for file in members}
            running, silent = ([path for path in lives if lives[path] is life] for life in (Life.RUNS, Life.SILENT))
            followed += [key] if running else []
            if not running and not silent:
                look.load_finished([Path(file.path) for file in members])
            elif include_running or not running:
                look.load_running(members, running, silent)
            else:
                look.report.running.append(name_of(key))
    nodes = collect_nodes(spools, engine, cluster=cluster)
    look.report.node_slices = nodes.slices
    look.report.refused += nodes.refused
    note_followed(engine, followed, after_s=lost_after_s, cluster=cluster)
    for job in end_lost(engine, after_s=lost_after_s, cluster=cluster, evaluate=evaluate):
        look.report.notes.append(f"{job.job_id}.{job.step} of {job.user} is lost: nothing was heard of it any more")
    if progress:
        progress(len(steps), len(steps), "")
    return look.report


def load_profile_file(
    path: str | os.PathLike[str],
    engine: Engine,
    *,
    evaluate: Evaluate | None = None,
    summarize: Summarize | None = None,
    cluster: str = "",
) -> LoadResult:
    """Load a profile file (.xwp), without an estimate where `evaluate` fails.

    Whoever calls vouches for the file: the job's user is the one that it names.

    Raises FormatError, RefusedProfile, OSError, DatabaseError.
    """
    profile = read_profile(path)
    try:
        evaluation = checked_evaluation(profile, evaluate)
    except NO_ESTIMATE:
        evaluation = None
    result = load_profile(engine, profile, evaluation=evaluation, summarize=summarize, cluster=cluster)
    if result.is_joined and evaluate:
        with suppress(*NO_ESTIMATE):
            evaluate_whole(engine, result.job_key, evaluate)
    return result


def _life(file: File, machine: Machine) -> Life:
    """Whether a process may still write to its file: /proc tells on its own machine; elsewhere a sign of life does."""
    if isinstance(file, ShortLog) or file.state != State.RUNNING or machine.has_rebooted(file):
        return Life.GONE
    now_ns = time.time_ns()
    if machine.is_of(file) and not is_copy(file.path):
        return Life.RUNS if machine.seems_to_run(file, now_ns) else Life.GONE
    silent_s = (now_ns - max(file.mtime_ns, int(file.slices.end_ns.max(initial=0)))) / 1e9
    if is_copy(file.path):
        return Life.RUNS if silent_s < COPY_QUIET_S else Life.GONE
    return life_by_silence(silent_s, file.slice_ns)
