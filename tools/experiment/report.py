"""The report of an experiment: report.md, report.html as one file that needs nothing else, a summary for terminals.

Names of programs, titles and what runs said of themselves are made harmless, in Markdown and in HTML.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from crosswind.tools.experiment.evaluation import evaluate
from crosswind.tools.experiment.records import write_whole
from crosswind.tools.experiment.results import BusyResult, LookupResult, PairResult, Results
from crosswind.tools.experiment.tables import (
    Table,
    as_html,
    as_markdown,
    lookup_words,
    lower,
    matrix_tables,
    number,
    p_value,
    pairs_table,
    percent,
    phases_table,
    plain_markdown,
    programs_table,
)
from crosswind.tools.output import one_line

if TYPE_CHECKING:
    from crosswind.tools.experiment.pictures import Picture

__all__ = ["Report", "report_of", "summary", "write_report"]

MARKDOWN, HTML = "report.md", "report.html"
NO_PICTURES = "There are no pictures: matplotlib is missing (pip install 'crosswind[experiment]')."
MAX_LISTED = 20
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2.5rem } p { max-width: 75ch }
figure { margin: 1.5rem 0 } img { max-width: 100%; height: auto } .wide { overflow-x: auto } td { white-space: nowrap }
table { border-collapse: collapse; font-size: .9rem } th, td { padding: .25rem .8rem .25rem 0; text-align: right }
th { border-bottom: 1px solid #aaa; vertical-align: bottom } td { border-bottom: 1px solid #e3e7ea }
th:first-child, td:first-child { text-align: left } .warning { border-left: 4px solid #d9a441; padding-left: .8rem }
"""


@dataclass(frozen=True)
class Report:
    """What a report says, before it is Markdown or HTML. warnings: what is missing."""

    title: str
    paragraphs: tuple[str, ...]
    warnings: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]


def write_report(directory: Path) -> str:
    """Evaluate what there is of the experiment, write results, pictures and reports; the summary, some lines of text.

    CommandError: no experiment, or one that cannot be read; OSError.
    """
    results = evaluate(directory)
    pictures, notes = _draw(results, directory)
    report = report_of(results, pictures, notes)
    write_whole(directory / MARKDOWN, _markdown(report))
    write_whole(directory / HTML, _html(report, directory))
    return "\n".join([*map(one_line, summary(results)), *notes, f"Report: {directory / HTML}"])


def report_of(results: Results, pictures: Sequence[Picture], notes: Sequence[str] = ()) -> Report:
    """The report of these results."""
    matrices = matrix_tables(results) if results.kind == "matrix" else []
    phases = phases_table(results)
    tables = [*matrices, pairs_table(results), *([phases] if phases else []), programs_table(results)]
    warnings = [*_missing(results), *notes]
    title = f"{results.name}: {results.title}" if results.title else results.name
    return Report(title, tuple(summary(results, most=0)), tuple(warnings), tuple(tables), tuple(pictures))


def summary(results: Results, most: int = MAX_LISTED) -> list[str]:
    """The answer in a few sentences: what was run, what each pair costs, whether dents fall into active phases, who was
    named. most: pairs that are told one by one; 0: none of them, because tables tell them.
    """
    of_pairs = _probe_lines if results.kind == "matrix" else _all_pair_lines
    told = list(of_pairs(results.pairs[:most]))
    left = [f"{len(results.pairs) - most} more pairs are in the report."] if 0 < most < len(results.pairs) else []
    return [_made(results), *told, *left, *(_missing(results) if most else [])]


def _made(results: Results) -> str:
    where = "through Slurm" if results.on == "slurm" else "on this machine"
    when = "" if results.begin_ns is None or results.end_ns is None else f", {_span(results.begin_ns, results.end_ns)}"
    discarded = f", {results.discarded} discarded and made again" if results.discarded else ""
    planned = results.done + len(results.missing)
    unwatched = f" What others moved beside {results.unwatched} of them is not known." if results.unwatched else ""
    made = f"{results.done} of {planned} runs {where}{when}: {results.repetitions} repetitions{discarded}."
    return f"{made}{unwatched}{_busy(results.busy)}"


def _busy(busy: BusyResult | None) -> str:
    if busy is None:
        return ""
    others, hypervisor = busy.others, busy.hypervisor
    return (
        f" Others used {percent(others.median)} of the processors (median of the runs; most: {percent(others.most)}), "
        f"the hypervisor took {percent(hypervisor.median)} (most: {percent(hypervisor.most)})."
    )


def _span(begin_ns: int, end_ns: int) -> str:
    begin = datetime.fromtimestamp(begin_ns // 1_000_000_000, UTC)
    return f"{begin:%Y-%m-%d %H:%M} UTC, {max(round((end_ns - begin_ns) / 60e9), 1)} min"


def _probe_lines(pairs: Sequence[PairResult]) -> Iterator[str]:
    """A line per probe of a matrix, and one of all lookups."""
    for probe in dict.fromkeys(pair.probe for pair in pairs):
        own = [pair for pair in pairs if pair.probe == probe]
        losses = [f"{percent(pair.change.lost_pct)} beside {pair.signal}" for pair in own if pair.change]
        yield f"{probe} loses {', '.join(losses)}." if losses else f"{probe}: {own[0].why}."
    told = [pair.lookup for pair in pairs if pair.lookup.runs and not pair.lookup.why]
    if told:
        ranks = [rank for each in told for rank in each.ranks]
        together = LookupResult(ranks=ranks, named=sum(each.named for each in told), runs=len(ranks))
        yield f"The lookup lists the other program {lookup_words(together)}."


def _all_pair_lines(pairs: Sequence[PairResult]) -> Iterator[str]:
    for pair in pairs:
        yield from _pair_lines(pair)


def _pair_lines(pair: PairResult) -> Iterator[str]:
    who = f"{pair.probe} beside {pair.signal}"
    if pair.change is None:
        yield f"{who}: {pair.why}."
        return
    change = pair.change
    yield (
        f"{who}: loses {percent(change.lost_pct, change.lost_interval_pct)} of its time against running alone, "
        f"a slow-down of {percent(change.slow_down_pct)}; {_estimated(pair)}."
    )
    if pair.phases:
        phases = pair.phases
        yield (
            f"{who}: its rate is {lower(phases.depth_pct)} while {pair.signal} is active "
            f"(rank correlation {number(phases.rho, 2)}, p = {p_value(phases.p)})."
        )
    if pair.lookup.runs and not pair.lookup.why:
        yield f"{who}: the lookup lists {pair.signal} {lookup_words(pair.lookup)}."


def _estimated(pair: PairResult) -> str:
    if pair.estimate.pct:
        return f"estimated from each run by itself: {percent(median(pair.estimate.pct))}"
    return f"no estimate ({pair.estimate.why.rstrip('.')})"


def _missing(results: Results) -> list[str]:
    """What there is not: runs that were not made, runs that failed, pairs without a figure."""
    lines = []
    if results.missing:
        shown = ", ".join(results.missing[:MAX_LISTED]) + (", ..." if len(results.missing) > MAX_LISTED else "")
        lacking = "1 run is" if len(results.missing) == 1 else f"{len(results.missing)} runs are"
        lines.append(f"{lacking} missing: {shown}. The same command makes up for that.")
    lines += [f"Run {key} failed: {why or 'no reason is known'}." for key, why in results.failed[:MAX_LISTED]]
    if len(results.failed) > MAX_LISTED:
        lines.append(f"{len(results.failed) - MAX_LISTED} more runs failed.")
    return lines


def _draw(results: Results, directory: Path) -> tuple[list[Picture], list[str]]:
    """The pictures, and why there are none."""
    try:
        from crosswind.tools.experiment.pictures import draw
    except ImportError:
        return [], [NO_PICTURES]
    return draw(results, directory), []


def _markdown(report: Report) -> str:
    parts = [f"# {plain_markdown(report.title)}", *map(plain_markdown, report.paragraphs)]
    parts += [f"**{plain_markdown(text)}**" for text in report.warnings]
    parts += [f"![{plain_markdown(words)}]({name}.svg)" for name, words in report.pictures]
    parts += [f"## {plain_markdown(table.title)}\n\n{as_markdown(table).rstrip()}" for table in report.tables]
    return "\n\n".join(parts) + "\n"


def _html(report: Report, directory: Path) -> str:
    title = html.escape(one_line(report.title))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = [f"<h1>{title}</h1>", *(f"<p>{html.escape(one_line(text))}</p>" for text in report.paragraphs)]
    body += [f'<p class="warning">{html.escape(one_line(text))}</p>' for text in report.warnings]
    body += [_image(directory / f"{name}.svg", words) for name, words in report.pictures]
    body += [as_html(table) for table in report.tables]
    page = f"<!DOCTYPE html><html lang='en'><head>{head}<style>{_STYLE}</style></head>"
    return f"{page}<body>{''.join(body)}</body></html>\n"


def _image(path: Path, words: str) -> str:
    """The picture itself, as an image: nothing in it can run, and the file needs no other."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<figure><img alt="{html.escape(one_line(words))}" src="data:image/svg+xml;base64,{data}"></figure>'
