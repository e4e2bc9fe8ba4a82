"""Makes one run and keeps what it left in a folder: profile, injector's log, conditions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from accuracy.real.injection import Injection
from accuracy.real.programs import Program

from crosswind.tools.machine import Watch
from support.mpi_runs import AS_ROOT
from support.preload import BUILD, LIBRARY

__all__ = ["CONDITIONS", "LOG", "PROFILE", "RunFailed", "execute"]

PROFILE, LOG, CONDITIONS = "run.xwp", "log", "conditions.json"
CROSSWIND = (sys.executable, "-m", "crosswind.tools")
INJECTOR = BUILD / "libcrosswind-inject.so"
TIMEOUT_S = 600


class RunFailed(Exception):
    """A program that did not end well; the message has the end of what it said."""


def execute(program: Program, amount: int, ranks: int, injection: Injection | None, folder: Path) -> None:
    """Run a program under the profiler, and under the injector if there is an injection, in a folder made anew.

    Raises RunFailed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    profiled = [*CROSSWIND, "run", "-o", str(folder / PROFILE), "--", *program.launch(work, amount, ranks)]
    command = profiled if injection is None else _injected(injection, folder / LOG, profiled)
    watch, begin = Watch(), time.time()
    done = _run(command, work)
    seen = {"began": begin, "wall_s": time.time() - begin, **asdict(watch.conditions())}
    if done.returncode != 0 or not (folder / PROFILE).is_file():
        raise RunFailed(f"{program.name}: exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    (folder / CONDITIONS).write_text(json.dumps(seen))
    shutil.rmtree(work)


def _injected(injection: Injection, log: Path, command: list[str]) -> list[str]:
    return [*CROSSWIND, "inject", *injection.arguments(), "--log", str(log), "--", *command]


def _run(command: list[str], work: Path) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "LD_PRELOAD"))}
    mine = {
        **AS_ROOT,
        "LC_ALL": "C",
        "OMP_NUM_THREADS": "1",
        "CROSSWIND_LIBRARY": str(LIBRARY),
        "CROSSWIND_INJECT_LIBRARY": str(INJECTOR),
        "CROSSWIND_DIGEST": "off",
    }
    try:
        return subprocess.run(
            command,
            cwd=work,
            env={**clean, **mine},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"did not end within {TIMEOUT_S} s: {' '.join(command)}") from None
