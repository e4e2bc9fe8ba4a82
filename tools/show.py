"""`crosswind show`: what a profile holds, as text or JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from crosswind.tools.output import one_line, print_json, print_table, si, step

if TYPE_CHECKING:
    from crosswind.profile.model import Profile

__all__ = ["show_command"]

MAX_ROWS = 40  # of processes, functions: what a person reads
MORE_THAN_ONE = 1.1  # threads at work from which it is worth a line


@click.command("show")
@click.argument("profile", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@click.option("--slices", is_flag=True, help="Print the rates of the whole job, slice by slice.")
@click.option("--segments", is_flag=True, help="Print the segments as CSV, one line per segment and rank.")
@click.option("--text", is_flag=True, help="Print every record of the file as text. Takes spool files too.")
def show_command(profile: Path, as_json: bool, slices: bool, segments: bool, text: bool) -> None:
    """Show what a profile holds: the job, its processes, totals and functions.

    With --json and --slices or --segments, the document has these too.

    \b
    Example: crosswind show melt.xwp --json
    """
    if text:
        _refuse_together(as_json or slices or segments)
        _print_records(profile)
        return
    if segments and slices and not as_json:
        raise click.UsageError("--slices and --segments go together in --json only")
    content = _read(profile)
    if as_json:
        print_json(document(content, slices=slices, segments=segments))
    elif slices:
        _print_slices(content)
    elif segments:
        _print_segments(content)
    else:
        _print_summary(document(content))


def document(profile: Profile, *, slices: bool = False, segments: bool = False) -> dict[str, Any]:
    """The document of `show --json`, with what was asked for beside it.

    slices: `slices.rates` {series: {title, unit, values}}, null in gaps;
    `slices.time_s` {category: [process][slice]}. segments: `segment_table`, [rank][segment].
    """
    from crosswind.profile.summary import summarize

    result = summarize(profile)
    if slices:
        result["slices"] = {**result["slices"], "rates": _rates(profile), "time_s": _time_by_slice(profile)}
    if segments:
        result["segment_table"] = _segment_columns(profile)
    return result


def _refuse_together(others: bool) -> None:
    if others:
        raise click.UsageError("--text stands alone")


def _read(path: Path) -> Profile:
    from crosswind.profile.store import read_profile

    with step(f"reading {path}"):
        return read_profile(path)


def _print_records(path: Path) -> None:
    from crosswind.profile.dump import dump_text

    for line in dump_text(path):
        click.echo(one_line(line))


def _rates(profile: Profile) -> dict[str, dict[str, Any]]:
    from crosswind.analysis import available, job_series

    return {
        series.name: {
            "title": series.title,
            "unit": series.unit,
            "values": _with_nulls(job_series(series, profile.slices, profile.covered_ns, profile.slice_ns)),
        }
        for series in available(profile.slices)
    }


def _time_by_slice(profile: Profile) -> dict[str, list[list[float]]]:
    from crosswind.profile.timesplit import time_split

    return {name: (values / 1e9).tolist() for name, values in time_split(profile).items()}


def _with_nulls(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


def _segment_columns(profile: Profile) -> dict[str, Any] | None:
    table = profile.segments
    if table is None:
        return None
    return {
        "seg": table.index.tolist(),
        "rank": table.ranks.tolist(),
        "from_call_sites": table.from_call_sites.tolist(),
        "closed_by": [table.closed_by(segment) or None for segment in range(table.n_segments)],
        "columns": {
            name: values.tolist() if values.dtype.kind in "iu" else [_with_nulls(rank) for rank in values]
            for name, values in table.columns.items()
        },
    }


def _print_segments(profile: Profile) -> None:
    from crosswind.tools.export import export

    export(profile, "segments", "csv", None)


def _print_slices(profile: Profile) -> None:
    from crosswind.analysis import available, display_unit, job_series

    header = ["slice (UTC)", "processes"]
    columns = [
        [_clock(ns) for ns in profile.slice_starts_ns],
        [str(n) for n in np.count_nonzero(profile.covered_ns, axis=0)],
    ]
    for series in available(profile.slices):
        values = job_series(series, profile.slices, profile.covered_ns, profile.slice_ns)
        unit = display_unit(series.unit, values)
        header.append(f"{series.name} [{unit.label}]")
        columns.append(["-" if np.isnan(v) else f"{v * unit.factor:.3g}" for v in values])
    print_table(header, zip(*columns, strict=True))


def _print_summary(summary: dict[str, Any]) -> None:
    _print_job(summary)
    _print_processes(summary["processes"])
    _print_threads(summary["processes"])
    _print_time(summary["time_s"]["job"])
    _print_totals(summary["totals"])
    _print_functions(summary["functions"])
    _print_access(summary["access"])
    _print_lost(summary["lost"])


def _print_job(summary: dict[str, Any]) -> None:
    job, slices = summary["job"], summary["slices"]
    click.echo(click.style(f"job {one_line(job['id'])}  {one_line(job['command'])}", bold=True))
    start = datetime.fromtimestamp(job["start"], UTC)
    click.echo(f"  {start:%Y-%m-%d %H:%M:%S} UTC, {si(job['run_time_s'], 's')}, user {one_line(job['user'])}")
    click.echo(f"  {job['ranks']} ranks on {one_line(', '.join(job['hosts']))}")
    click.echo(f"  {slices['count']} slices of {slices['length_s']:g} s")
    segments = summary["segments"]
    if segments and segments["from_call_sites"]:
        where = one_line(", ".join(segments["call_sites"]))
        click.echo(f"  {segments['from_call_sites']} of {segments['records']} segments cut at recurring calls: {where}")


def _print_processes(processes: list[dict[str, Any]]) -> None:
    rows = [
        ("-" if p["rank"] is None else p["rank"], p["host"], p["pid"] or "-", p["exe"], p["count"], p["state"])
        for p in processes[:MAX_ROWS]
    ]
    total = sum(p["count"] for p in processes)
    print_table(("rank", "host", "pid", "program", "times", "ended"), rows, f"processes ({total})")
    if len(processes) > MAX_ROWS:
        click.echo(f"... and {len(processes) - MAX_ROWS} more rows: --json has all")


def _print_threads(processes: list[dict[str, Any]]) -> None:
    """How many threads were at work: of each process that lived for a while and used more than one, or was asked to."""
    rows, remarks = [], []
    for p in processes:
        at_work = p["threads"]
        if at_work is None or not (at_work["asked"] or (at_work["busiest"] or 0) > MORE_THAN_ONE):
            continue
        numbers = (at_work["effective"], at_work["average"], at_work["busiest"])
        texts = ("-" if n is None else f"{n:.2f}" for n in numbers)
        rows.append((_rank(p), p["exe"], *texts, p["omp_num_threads"] or "-"))
        if at_work["remark"]:
            remarks.append(f"{_rank(p)} {p['exe']}: {at_work['remark']}")
    if rows:
        header = ("rank", "program", "CPU/run time", "average slice", "busiest slice", "OMP_NUM_THREADS")
        print_table(header, rows[:MAX_ROWS], "threads at work")
    for remark in remarks[:MAX_ROWS]:
        click.echo(one_line(remark))


def _rank(process: dict[str, Any]) -> str:
    return "-" if process["rank"] is None else str(process["rank"])


def _print_time(seconds: dict[str, float]) -> None:
    from crosswind.profile.timesplit import CATEGORIES

    whole = sum(seconds.values())
    rows = [
        (CATEGORIES[name], si(value, "s"), f"{100 * value / whole:.1f} %")
        for name, value in seconds.items()
        if value > 0
    ]
    if rows:
        print_table(("time of all threads", "sum", "part"), rows, "where the time went")


def _print_totals(totals: dict[str, dict[str, float]]) -> None:
    from crosswind.profile.metrics import METRICS

    unit = {m.name: m.unit for m in METRICS}
    rows = [
        (name, *(_quantity(value[key], unit.get(name, "")) for key in ("sum", "min", "avg", "max")))
        for name, value in totals.items()
        if value["max"]
    ]
    print_table(
        ("metric", "sum", "min", "avg", "max"),
        rows,
        "totals; sum over all processes, the rest over ranks where there are any",
    )


def _quantity(value: float, unit: str) -> str:
    """A value of a metric: thousandths as the number that they are parts of."""
    if unit == "count/1000":
        return f"{value / 1000:.2f}"
    return si(value, "" if unit == "count" else unit)


def _print_functions(functions: dict[str, dict[str, float]]) -> None:
    longest = sorted(functions.items(), key=lambda item: -item[1]["time_s"])[:MAX_ROWS]
    rows = [
        (name, int(f["calls"]), si(f["bytes_out"], "B"), si(f["bytes_in"], "B"), si(f["time_s"], "s"))
        for name, f in longest
        if f["calls"]
    ]
    print_table(("function", "calls", "out", "in", "time"), rows, "functions, summed over processes")


def _print_access(access: dict[str, dict[str, Any]]) -> None:
    """How the files were used, and by whom; the requests that moved nothing are left out of the sizes."""
    from crosswind.profile.access import size_label

    rows = []
    for cls, found in access.items():
        files = found["files"]
        whose = "-"
        if files:
            own, shared = (sum(n for name, n in files.items() if name.startswith(w)) for w in ("own", "shared"))
            whose = f"{own} own, {shared} shared"
        for way, use in found.items():
            if way != "files":
                sizes = [(low, n) for low, n in use["sizes"] if low]
                common = max(sizes, key=lambda item: item[1])[0] if sizes else 0
                size = size_label(common.bit_length())
                rows.append((cls, way, use["requests"], size, use["pattern"] or "-", whose))
    print_table(
        ("class", "layer, way", "requests", "most frequent size", "pattern", "files"),
        rows,
        "I/O pattern",
    )


def _print_lost(lost: dict[str, Any]) -> None:
    rows = [(name, count, lost["reasons"].get(name, "")) for name, count in lost["counts"].items() if count]
    rows += [(file["path"], "-", file["reason"]) for file in lost["files"]]
    if rows:
        print_table(("lost", "how often", "what that means"), rows, "what is missing")


def _clock(ns: int) -> str:
    return f"{datetime.fromtimestamp(int(ns) / 1e9, UTC):%H:%M:%S}"
