"""The results directory: made once for an experiment, and gone on with only for the same one."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.description import Experiment, read_experiment
from crosswind.tools.experiment.plan import Run
from crosswind.tools.experiment.records import RUNS, unfinished_name, write_whole

__all__ = ["EXPERIMENT", "MACHINE", "PLAN", "check_same", "directory_mark", "locked", "prepare"]

EXPERIMENT, PLAN, MACHINE = "experiment.toml", "plan.json", "machine.json"
LOCK = ".lock"


def check_same(directory: Path, file: Path, experiment: Experiment, on: str) -> None:
    """CommandError: the directory holds something else than results of this experiment. Nothing there is fine."""
    kept = directory / EXPERIMENT
    if not kept.exists():
        if directory.exists() and not _is_just_begun(directory, experiment):
            raise CommandError(f"{directory}: is no results directory and not empty: name another with -o")
        return
    changed = _difference(read_experiment(kept), experiment) or _changed_input(directory, file, experiment)
    made_on = _read(directory / PLAN).get("on", on)
    if not changed and made_on != on:
        changed = f"it was begun with --on {made_on}"
    if changed:
        raise CommandError(
            f"{directory}: holds results of another {EXPERIMENT} ({changed}): name a new directory with -o, or remove "
            "this one to begin anew"
        )


def prepare(directory: Path, file: Path, runs: Sequence[Run], on: str, machine: dict[str, Any]) -> list[str]:
    """Make the directory, or go on with it: description, inputs, plan, machine. What of the machine has changed since
    runs were made last. CommandError: a file there is damaged.
    """
    experiment = read_experiment(file)
    is_new = not (directory / EXPERIMENT).exists()
    (directory / RUNS).mkdir(parents=True, exist_ok=True)
    for name in _inputs(experiment) if is_new else ():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.parent / name, directory / name)
    plan = {
        "name": experiment.experiment.name,
        "on": on,
        "seed": experiment.experiment.seed,
        "repetitions": 1 + max(run.repetition for run in runs),
        "order": [run.key for run in runs],
    }
    write_whole(directory / PLAN, json.dumps(plan, indent=2) + "\n")
    changed = _keep_machine(directory / MACHINE, machine)
    if is_new:  # last: from now on these are the results of this experiment
        write_whole(directory / EXPERIMENT, file.read_text())
    return changed


def directory_mark(directory: Path) -> str:
    """A name that only this results directory has, for what it needs elsewhere."""
    return f"crosswind-experiment-{hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:12]}"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """CommandError: another `crosswind experiment run` is at work there. The lock ends with its holder, however that
    ends.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"{directory}: another runner is at work there: wait until it has ended") from None
        yield


def _is_just_begun(directory: Path, experiment: Experiment) -> bool:
    """A runner was stopped before it had made the directory, or has not begun: nothing of anybody else is in it."""
    names = {path.name for path in directory.iterdir()}
    ours = {LOCK, RUNS, PLAN, MACHINE, *(Path(name).parts[0] for name in _inputs(experiment))}
    ours |= {unfinished_name(name) for name in (EXPERIMENT, PLAN, MACHINE)}
    made = (directory / RUNS).iterdir() if RUNS in names else ()
    return not names or (LOCK in names and names <= ours and not any(made))


def _inputs(experiment: Experiment) -> list[str]:
    return sorted({program.input for program in experiment.programs.values() if program.input})


def _keep_machine(path: Path, machine: dict[str, Any]) -> list[str]:
    """Write down the machine, or below `later` what of it has changed: which keys."""
    kept = _read(path) or machine
    known = dict(kept)
    for change in kept.get("later", []):
        known.update(change)
    changed = {key: value for key, value in machine.items() if key != "date" and known.get(key) != value}
    if changed:
        kept.setdefault("later", []).append({"date": machine.get("date", ""), **changed})
    if changed or not path.exists():
        write_whole(path, json.dumps(kept, indent=2) + "\n")
    return sorted(changed)


def _read(path: Path) -> dict[str, Any]:
    """A JSON document; empty: there is none. CommandError: it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CommandError(f"{path}: is damaged: remove it, and it is written again")
    return found


def _difference(kept: Experiment, given: Experiment) -> str:
    """The first key whose value differs, as in the file; "": none."""
    before, now = (_flat(found.model_dump(), "") for found in (kept, given))
    free = {"experiment.title", "experiment.repetitions", "experiment.on"}
    differ = sorted(key for key in (before.keys() | now.keys()) - free if before.get(key) != now.get(key))
    return f"{differ[0]} differs" if differ else ""


def _flat(table: dict[str, Any], above: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
    return found


def _changed_input(directory: Path, file: Path, experiment: Experiment) -> str:
    for program in experiment.programs.values():
        if program.input and (directory / program.input).read_bytes() != (file.parent / program.input).read_bytes():
            return f"{program.input} differs"
    return ""
