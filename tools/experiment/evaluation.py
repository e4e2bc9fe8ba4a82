"""From the runs of an experiment to its results: what each pair costs, what Crosswind says of it, when it happened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from crosswind.analysis.errors import InputError
from crosswind.analysis.experiment import Change, spread
from crosswind.tools.experiment.courses import courses_of, phases_of
from crosswind.tools.experiment.description import Experiment, Program, read_experiment
from crosswind.tools.experiment.judged import Judge
from crosswind.tools.experiment.measures import PairName, alone, beside, change_of, pairs_of, unit_of, values_alone
from crosswind.tools.experiment.plan import plan
from crosswind.tools.experiment.records import RunRecord, read_records
from crosswind.tools.experiment.results import (
    RESULTS,
    BusyResult,
    ChangeResult,
    PairResult,
    ProgramResult,
    Results,
    ShareResult,
    SpreadResult,
    write_results,
)

__all__ = ["evaluate"]

DESCRIPTION, PLAN, MACHINE = "experiment.toml", "plan.json", "machine.json"


def evaluate(directory: Path) -> Results:
    """The results of what is there of an experiment so far, also written to results.json.

    CommandError: no experiment, or one that cannot be read; OSError.
    """
    experiment = read_experiment(directory / DESCRIPTION)
    records = read_records(directory)
    judge, names = Judge(directory), pairs_of(experiment)
    results = Results(
        **_frame(directory, experiment, records),
        programs=[_program(experiment.programs[n], records, judge) for n in _in_pairs(names, experiment)],
        pairs=[_pair(directory, experiment, pair, records, judge) for pair in names],
    )
    write_results(directory / RESULTS, results)
    return results


def _frame(directory: Path, experiment: Experiment, records: Sequence[RunRecord]) -> dict[str, Any]:
    """All that is of no single program or pair."""
    told = _document(directory / PLAN)
    settings = experiment.experiment
    planned = told.get("repetitions")
    repetitions = planned if isinstance(planned, int) else settings.repetitions
    kept = [record for record in records if record.status == "done"]
    done = {record.key for record in kept}
    on = told.get("on")
    return {
        "name": settings.name,
        "title": settings.title,
        "kind": settings.kind,
        "on": on if on in ("local", "slurm") else settings.on,
        "repetitions": repetitions,
        "slice": settings.slice,
        "begin_ns": min((record.begin_ns for record in records), default=None),
        "end_ns": max((record.end_ns for record in records), default=None),
        "machine": _document(directory / MACHINE),
        "done": len(done),
        "missing": [run.key for run in plan(experiment, repetitions) if run.key not in done],
        "discarded": sum(record.status == "discarded" for record in records),
        "failed": [
            (record.key, record.why) for record in records if record.status == "failed" and record.key not in done
        ],
        "unwatched": sum(record.outside is None for record in kept) if settings.outside_pct else 0,
        "busy": _busy(kept),
    }


def _busy(kept: Sequence[RunRecord]) -> BusyResult | None:
    seen = [record.conditions for record in kept if record.conditions]
    if not seen:
        return None
    return BusyResult(others=_share([c.others_pct for c in seen]), hypervisor=_share([c.steal_pct for c in seen]))


def _share(pct: Sequence[float]) -> ShareResult:
    return ShareResult(median=median(pct), most=max(pct))


def _in_pairs(pairs: Sequence[PairName], experiment: Experiment) -> list[str]:
    """The programs that are in a pair or stand in a table of pairs, in the file's order."""
    used = {name for pair in pairs for name in (pair.probe, pair.signal)}
    used |= {name for table in experiment.pairs for name in (*table.probes, *table.signals)}
    return [name for name in experiment.programs if name in used]


def _program(program: Program, records: Sequence[RunRecord], judge: Judge) -> ProgramResult:
    runs = alone(records, program.name)
    values = values_alone(program, runs, balanced=False)
    return ProgramResult(
        name=program.name,
        command=program.command,
        measure=program.measure,
        unit=unit_of(program.measure, [record for _, record in runs]),
        ranks=program.ranks,
        nodes=program.nodes,
        alone=SpreadResult.model_validate(spread(values)) if values else None,
        estimate=judge.estimate([record for _, record in runs]),
    )


def _pair(
    directory: Path, experiment: Experiment, pair: PairName, records: Sequence[RunRecord], judge: Judge
) -> PairResult:
    program, seed = experiment.programs[pair.probe], experiment.experiment.seed
    by_itself, together = alone(records, pair.probe), beside(records, pair)
    change, why, balanced = None, "", False
    try:
        found, values, balanced = change_of(program, by_itself, together, seed)
        change = _change(found, values, program.measure == "time")
    except InputError as error:
        why = str(error)
    phases = phases_of(directory, together, seed)
    course, alone_course = courses_of(directory, together, by_itself) if phases else (None, None)
    return PairResult(
        **vars(pair),
        runs=len(together),
        change=change,
        why=why,
        balanced=balanced,
        estimate=judge.estimate([each.probe for each in together]),
        lookup=judge.lookup(together),
        phases=phases,
        course=course,
        alone_course=alone_course,
    )


def _change(found: Change, values: Sequence[float], of_times: bool) -> ChangeResult:
    together, isolated = np.array(values), found.isolated.median
    kept = isolated / together if of_times else together / isolated
    each = [round(float(pct), 3) for pct in 100 * (1 - kept)]
    return ChangeResult.model_validate(
        {**vars(found), "isolated": vars(found.isolated), "together": vars(found.together), "each_pct": each}
    )


def _document(path: Path) -> dict[str, Any]:
    """A JSON document that the runner wrote; empty where there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
