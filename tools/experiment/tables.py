"""The tables of an experiment, as rows of text, and how they look in Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from crosswind.tools.experiment.machine import machine_words
from crosswind.tools.experiment.results import EstimateResult, LookupResult, PairResult, Results, SpreadResult
from crosswind.tools.output import one_line, si

__all__ = [
    "Table",
    "as_html",
    "as_markdown",
    "group_title",
    "groups",
    "lookup_words",
    "lower",
    "matrix_tables",
    "pairs_table",
    "percent",
    "phases_table",
    "plain_markdown",
    "programs_table",
    "quantity",
    "short_names",
]

NOTHING = "-"
MAX_NAMED = 8
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|])")
_SIZE = re.compile(r"(\d+)([kMG])")
_INTERVAL = "in brackets the 95 % interval, a bootstrap of the ratio of the medians (none of fewer than three runs)"
PAIRS_WORDS = (
    "Alone, together: medians of the runs. Slow-down: how much longer the same work takes, percent of the time alone; "
    f"{_INTERVAL}. Of its time lost: the same as a share of the time together; a slow-down of 100 % is a loss of 50 %. "
    "Estimated: the share of its time lost, from each run by itself, without knowing the run alone: median of the "
    "runs, least to most. Lookup: in how many runs it lists the other's job first, and in how many as more than chance."
)
MATRIX_WORDS = (
    "Percent of its rate alone that the probe (row) loses beside the signal (column), median against median; "
    f"{_INTERVAL}; n: runs together. Alone: the median."
)
PHASES_WORDS = (
    "Rates: means over all slices of all runs that lie wholly in silent, or in active phases of the signal. Rank "
    "correlation: of the rate in a slice with the signal's active share of it, mean of the runs. p: how often the same "
    "phases at other times of the runs do as well."
)


@dataclass(frozen=True)
class Table:
    """header and rows of text; the first column is a name. words: what the columns hold. notes: lines below it, why
    something is not there.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: str = ""
    notes: tuple[str, ...] = ()

    @property
    def below(self) -> list[str]:
        """All lines below it."""
        return [line for line in (self.words, *self.notes) if line]


def pairs_table(results: Results) -> Table:
    """Every pair: what was measured, and beside it what Crosswind estimated from each run by itself."""
    header = (
        "probe", "beside", "runs", "alone", "together", "slow-down", "of its time lost", "estimated together",
        "estimated alone", "lookup lists it",
    )  # fmt: skip
    rows = tuple(_pair_row(results, pair) for pair in results.pairs)
    title = "Measured against running alone, and estimated from each run by itself"
    return Table(title, header, rows, PAIRS_WORDS, _notes(results))


def matrix_tables(results: Results) -> list[Table]:
    """Per table of pairs: what each probe loses beside each signal, percent of its rate alone."""
    return [_matrix(results, group) for group in groups(results)]


def phases_table(results: Results) -> Table | None:
    """Whether dents fall into active phases; None where no signal had any."""
    told = [(pair, pair.phases) for pair in results.pairs if pair.phases]
    header = (
        "probe", "beside", "runs", "rate of", "while it was silent", "while active", "dent", "rank correlation", "p",
    )  # fmt: skip
    rows = tuple(
        (
            pair.probe, pair.signal, str(phases.runs), phases.what,
            f"{quantity(phases.outside, phases.unit)}, {phases.slices_outside} slices",
            f"{quantity(phases.inside, phases.unit)}, {phases.slices_inside} slices",
            percent(phases.depth_pct), number(phases.rho, 2), p_value(phases.p),
        )
        for pair, phases in told
    )  # fmt: skip
    return Table("Dents and active phases", header, rows, PHASES_WORDS) if rows else None


def programs_table(results: Results) -> Table:
    """The programs, how they were run, and their measure alone."""
    header = ("program", "ranks on nodes", "command", "measure", "alone: median", "middle half of the runs", "runs")
    rows = tuple(
        (
            program.name, f"{program.ranks} on {program.nodes}", " ".join(program.command), program.measure,
            *(_spread(program.alone, program.unit) if program.alone else (NOTHING, NOTHING, "0")),
        )
        for program in results.programs
    )  # fmt: skip
    machine = machine_words(results.machine)
    of = f" The machine that started them: {machine}." if machine else ""
    return Table("Programs", header, rows, f"Slices of {results.slice}.{of}")


def groups(results: Results) -> list[list[PairResult]]:
    """The pairs of each table of pairs, in order."""
    numbers = sorted({pair.group for pair in results.pairs})
    return [[pair for pair in results.pairs if pair.group == number] for number in numbers]


def group_title(results: Results, group: Sequence[PairResult]) -> str:
    """What the programs of a group have in common: the end of their names behind the last dot, and what it stands for
    if it is a chunk size; "" if they have nothing.
    """
    names = {name for pair in group for name in (pair.probe, pair.signal)}
    ends = {name.rpartition(".")[2] if "." in name else "" for name in names}
    end = ends.pop() if len(ends) == 1 else ""
    commands = [results.program(name).command for name in names]
    chunks = all(("--chunk", end) in pairwise(command) for command in commands)
    size = _SIZE.fullmatch(end)
    return f"chunks of {size[1]} {size[2]}iB" if size and chunks else end


def short_names(group: Sequence[PairResult]) -> dict[str, str]:
    """The names of a group's programs without what they have in common behind the last dot."""
    names = list(dict.fromkeys(name for pair in group for name in (pair.probe, pair.signal)))
    ends = {name.rpartition(".")[2] for name in names if "." in name}
    shared = len(ends) == 1 and all("." in name for name in names)
    return {name: name.rpartition(".")[0] if shared else name for name in names}


def as_markdown(table: Table) -> str:
    """A table of Markdown; text from files stands in it as it is."""
    lines = [table.header, ("---",) * len(table.header), *table.rows]
    escaped = (line if i == 1 else tuple(plain_markdown(cell) for cell in line) for i, line in enumerate(lines))
    notes = "".join(f"\n{plain_markdown(note)}\n" for note in table.below)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped) + notes


def as_html(table: Table) -> str:
    """A table of HTML with its title; text from files stands in it as it is."""
    head = "".join(f"<th>{_safe(cell)}</th>" for cell in table.header)
    rows = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return (
        f"<h2>{_safe(table.title)}</h2><div class='wide'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{''.join(f'<p>{_safe(line)}</p>' for line in table.below)}"
    )


def plain_markdown(text: str) -> str:
    """The text on one line, with nothing in it that Markdown or HTML would read."""
    return _MARKDOWN.sub(r"\\\1", one_line(text)).replace("\\<", "&lt;").replace("\\>", "&gt;")


def quantity(value: float | None, unit: str) -> str:
    """A value with three digits and an SI prefix."""
    return NOTHING if value is None else si(value, unit.removeprefix("1"))  # of 1/s: 2.22 k/s


def percent(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """Percent, with its interval: `43 % (38 to 47)`."""
    if value is None:
        return NOTHING
    between = "" if interval is None else f" ({whole(interval[0])} to {whole(interval[1])})"
    return f"{whole(value)} %{between}"


def lower(depth_pct: float | None) -> str:
    """How far a rate falls, or rises."""
    return f"{percent(depth_pct)} lower" if depth_pct is None or depth_pct >= 0 else f"{percent(-depth_pct)} higher"


def whole(value: float) -> str:
    """A percentage without digits it does not have: one behind the point below 10."""
    text = f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"
    return "0.0" if text == "-0.0" else text


def number(value: float | None, digits: int) -> str:
    """A number with so many digits behind the point."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def p_value(value: float | None) -> str:
    """Two digits."""
    return NOTHING if value is None else f"{value:.2g}"


def _pair_row(results: Results, pair: PairResult) -> tuple[str, ...]:
    program, change = results.program(pair.probe), pair.change
    measured = (NOTHING,) * 4
    if change is not None:
        measured = (
            _spread(change.isolated, program.unit)[0],
            _spread(change.together, program.unit)[0],
            percent(change.slow_down_pct, change.slow_down_interval_pct),
            percent(change.lost_pct, change.lost_interval_pct),
        )
    return (
        pair.probe, pair.signal, str(pair.runs), *measured, _estimate(pair.estimate), _estimate(program.estimate),
        lookup_words(pair.lookup),
    )  # fmt: skip


def _notes(results: Results) -> tuple[str, ...]:
    """Why there is no figure, each reason once, with all that it holds for."""
    told: dict[str, list[str]] = {}
    for pair in results.pairs:
        who = f"{pair.probe} beside {pair.signal}"
        for what, why in (("", pair.why), ("no estimate: ", pair.estimate.why), ("no lookup: ", pair.lookup.why)):
            if why:
                told.setdefault(what + why.rstrip("."), []).append(who)
    return tuple(f"{_all_of(who, len(results.pairs))}: {why}." for why, who in told.items())


def _all_of(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "All pairs"
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _spread(spread: SpreadResult, unit: str) -> tuple[str, str, str]:
    """Median, the middle half, how many."""
    low, high = quantity(spread.q1, unit), quantity(spread.q3, unit)
    return quantity(spread.median, unit), low if low == high else f"{low} to {high}", str(spread.n)


def _estimate(found: EstimateResult) -> str:
    """Median of the runs, and from which to which they go."""
    if not found.pct:
        return NOTHING
    low, high = whole(min(found.pct)), whole(max(found.pct))
    of = "" if len(found.pct) == found.runs else f", of {len(found.pct)} of {found.runs} runs"
    return f"{whole(median(found.pct))} %" + ("" if low == high else f" ({low} to {high})") + of


def lookup_words(found: LookupResult) -> str:
    """How often the other program came first, and how often as more than chance."""
    if not found.runs or found.why:
        return NOTHING
    return f"first in {found.first} of {found.runs}, more than chance in {found.named}"


def _matrix(results: Results, group: Sequence[PairResult]) -> Table:
    names = short_names(group)
    signals = list(dict.fromkeys(pair.signal for pair in group))
    cells = {(pair.probe, pair.signal): pair for pair in group}
    rows = tuple(
        (names[probe], *(_cell(cells.get((probe, signal))) for signal in signals), alone)
        for probe, alone in _alone(results, group)
    )
    header = ("probe", *(f"beside {names[signal]}" for signal in signals), "alone")
    title = ", ".join(filter(None, ["Degradation", group_title(results, group)]))
    return Table(title, header, rows, MATRIX_WORDS)


def _alone(results: Results, group: Sequence[PairResult]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(pair.probe for pair in group):
        program = results.program(name)
        yield name, quantity(program.alone.median, program.unit) if program.alone else NOTHING


def _cell(pair: PairResult | None) -> str:
    if pair is None or pair.change is None:
        return NOTHING
    return f"{percent(pair.change.lost_pct, pair.change.lost_interval_pct)}, n = {pair.change.together.n}"


def _safe(text: str) -> str:
    return html.escape(one_line(text))
