#!/usr/bin/env python3
"""What Crosswind costs: a table, and JSON lines for machines. docs/performance.md explains the columns."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import click
from benchmarks import ALL
from measure import BenchError, Result
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from variants import BARE, CROSSWIND, FORWARD, TICKS, UNTIMED, Setup

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = (FORWARD, TICKS, CROSSWIND, UNTIMED)


@click.command(help=__doc__)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="JSON lines [build/bench/results.jsonl]")
@click.option("--quick", is_flag=True, help="a fifth of the rounds: an impression, not a result")
@click.option("--only", multiple=True, type=click.Choice(list(ALL)), help="this benchmark only; may be repeated")
@click.option("--read", "read_path", type=click.Path(path_type=Path, exists=True), help="only show the goals of a run")
@click.option("--markdown", is_flag=True, help="with --read: the table of docs/performance.md")
@click.option("--build", type=click.Path(path_type=Path), help="build folder [build, or CROSSWIND_BUILD]")
def main(
    json_path: Path | None,
    quick: bool,
    only: tuple[str, ...],
    read_path: Path | None,
    markdown: bool,
    build: Path | None,
) -> None:
    """Run the benchmarks, print the table, write the JSON lines."""
    if read_path:
        (show_markdown if markdown else show_goals)(read_path)
        return
    build = (build or Path(os.environ.get("CROSSWIND_BUILD", ROOT / "build"))).resolve()
    machine = describe_machine()
    results: list[Result] = []
    try:
        with progress_bars() as progress:
            setup = Setup(build, 0.2 if quick else 1.0, progress_starter(progress))
            for name in only or ALL:
                results += ALL[name](setup)
    except BenchError as error:
        click.echo(f"benchmark: {error}", err=True)
        sys.exit(1)
    finally:
        if results:
            show(results, machine)
            write_json(results, machine, json_path or build / "bench" / "results.jsonl")


def progress_bars() -> Progress:
    """Progress on standard error, one line a benchmark."""
    columns = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))


def progress_starter(progress: Progress) -> Callable[[str, int], Callable[[], None]]:
    """What a benchmark calls to announce itself; it gets a function to call after each step."""

    def start(name: str, total: int) -> Callable[[], None]:
        task = progress.add_task(name, total=total)
        return lambda: progress.advance(task)

    return start


def describe_machine() -> dict[str, str | int | float]:
    """What the numbers belong to."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "processors": os.cpu_count() or 0,
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "load": round(os.getloadavg()[0], 2),
    }


def show(results: list[Result], machine: dict[str, str | int | float]) -> None:
    """The table."""
    table = Table(title="added over the bare program: median and 95 % interval", title_justify="left")
    table.add_column("benchmark")
    table.add_column("bare", justify="right")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("goal", justify="right")
    for result in results:
        table.add_row(*table_row(result))
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(", ".join(f"{key} {value}" for key, value in machine.items()))
    console.print(table)
    for note in dict.fromkeys(result.note for result in results if result.note):
        names = ", ".join(result.name for result in results if result.note == note)
        console.print(f"{names}: {note}", highlight=False)


def table_row(result: Result) -> list[str]:
    """One line of the table."""
    unit = "%" if result.percent else result.unit
    bare = f"{float(_median(result, BARE)):.{result.digits}f} {result.unit}"
    added = [f"{result.added(name).text(result.digits)} {unit}" if name in result.samples else "" for name in COLUMNS]
    return [result.name, bare, *added, goal_text(result, unit)]


def goal_text(result: Result, unit: str) -> str:
    """The goals, what they came to, and whether they are met: a line each."""
    lines = []
    for outcome in result.outcomes():
        goal = outcome.goal
        over = f" over {goal.reference}" if goal.reference not in ("", BARE) else ""
        who = "" if goal.variant == CROSSWIND else f"{goal.variant}: "
        value = outcome.value.text(result.digits)
        lines.append(f"{who}{outcome.verdict}: {value} <= {goal.limit:g} {unit}{over}")
    return "\n".join(lines)


def show_goals(path: Path) -> None:
    """The goals of an earlier run, from its JSON lines: one line each, and how many are met."""
    verdicts: dict[str, int] = {}
    for line in path.read_text().splitlines():
        result = json.loads(line)
        for goal in result["goals"]:
            verdicts[goal["verdict"]] = verdicts.get(goal["verdict"], 0) + 1
            over = f" over {goal['reference']}" if goal["reference"] else ""
            value = f"{goal['median']:.2f} [{goal['low']:.2f}, {goal['high']:.2f}] <= {goal['limit']:g}"
            what = f"{goal['variant']}{over}"
            click.echo(f"{goal['verdict']:8}{result['benchmark']:36} {value} {result['added_unit']}, {what}")
    click.echo(", ".join(f"{verdict} {n}" for verdict, n in sorted(verdicts.items())))


def show_markdown(path: Path) -> None:
    """The table of an earlier run as docs/performance.md has it."""
    click.echo("| benchmark | bare | " + " | ".join(COLUMNS) + " | goals |\n|" + " --- |" * (len(COLUMNS) + 3))
    for line in path.read_text().splitlines():
        result = json.loads(line)
        digits = 2 if result["median"][BARE] < 10 else 1
        cells = [f"{result['median'][BARE]:.{digits}f} {result['unit']}"]
        for name in COLUMNS:
            added = result["added"].get(name)
            half = (added["high"] - added["low"]) / 2 if added else 0
            cells.append(f"{added['median']:.{digits}f} ± {half:.{digits}f}" if added else "")
        goals = [f"{g['verdict']}: {g['median']:.{digits}f} of {g['limit']:g}" for g in result["goals"]]
        click.echo(f"| {result['benchmark']} | " + " | ".join(cells) + f" | {'; '.join(goals)} |")


def write_json(results: list[Result], machine: dict[str, str | int | float], path: Path) -> None:
    """One JSON object a line and benchmark."""
    lines = [json.dumps(as_json(result, machine)) + "\n" for result in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    click.echo(f"JSON lines: {path}", err=True)


def as_json(result: Result, machine: dict[str, str | int | float]) -> dict[str, object]:
    """A result as JSON: medians per variant, what each adds, the goal."""
    return {
        "benchmark": result.name,
        "unit": result.unit,
        "added_unit": "%" if result.percent else result.unit,
        "rounds": len(next(iter(result.samples.values()))),
        "median": {name: _median(result, name) for name in result.samples},
        "added": {name: vars(result.added(name)) for name in result.samples if name != result.reference},
        "goals": [vars(o.goal) | vars(o.value) | {"verdict": o.verdict} for o in result.outcomes()],
        "note": result.note,
        "machine": machine,
    }


def _median(result: Result, variant: str) -> float:
    samples = sorted(result.samples[variant])
    return float(samples[len(samples) // 2])


if __name__ == "__main__":
    main()
