"""The measured part of the section on real programs in docs/estimator.md: text made of the results, and the figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from accuracy.real.figures import draw_accuracy, draw_estimates
from accuracy.real.programs import PROGRAMS
from accuracy.real.results import Results
from accuracy.real.study import AGAIN, RUN_DELAY_LIMIT_PCT, is_disturbed
from accuracy.real.summary import (
    TARGET_LEAST,
    TARGET_MEDIAN,
    TARGET_PP,
    Level,
    Record,
    Score,
    Verdict,
    counted,
    levels,
    scores,
    verdicts,
)  # fmt: skip

from support.marked import Marks

__all__ = ["DATA", "PAGE", "measured_part", "section_text", "write_section"]

PAGE = Path("docs/estimator.md")
DATA = Path("docs/data/accuracy-real.jsonl")
ESTIMATES_FIGURE = Path("img/accuracy-real-estimates.svg")
ACCURACY_FIGURE = Path("img/accuracy-real-by-share.svg")
MARKS = Marks("<!-- begin: made by `make accuracy-docs` -->", "<!-- end: made by `make accuracy-docs` -->")


def write_section(results: Results, root: Path) -> None:
    """Write the figures, keep the results beside the page, and put the text between the page's marks.

    ValueError: there are no results, or the page has no marks.
    """
    study = counted(results.runs, "study")
    if not study:
        raise ValueError(f"{results.path}: has no runs: make them with `make accuracy-real`")
    page = root / PAGE
    text = page.read_text()
    measured_part(text)
    if results.path != root / DATA:
        results.write_to(root / DATA)
    draw_estimates(study, page.parent / ESTIMATES_FIGURE)
    draw_accuracy(study, page.parent / ACCURACY_FIGURE)
    page.write_text(MARKS.with_part(text, section_text(results)))


def measured_part(page: str) -> str:
    """What stands between the page's marks. ValueError: it has none."""
    return MARKS.part(page)


def section_text(results: Results) -> str:
    """The text, from the results alone."""
    study = counted(results.runs, "study")
    verdict = counted(results.runs, "verdict")
    parts = [
        _preamble(results, study),
        _score_table(scores(study)),
        f"![Estimated over true percentage]({ESTIMATES_FIGURE})\n",
        f"![Accuracy by share]({ACCURACY_FIGURE})\n",
        _level_table(levels(study)),
        *([_verdict_text(verdicts(verdict), verdict)] if verdict else []),
    ]
    return "\n" + "\n".join(parts) + "\n"


def _preamble(results: Results, study: Sequence[Record]) -> str:
    again = sum(key.endswith(AGAIN) for key in results.runs)
    disturbed = sum(map(is_disturbed, study))
    lengths = sorted(r["total_s"] for r in study)
    return (
        f"Measured on a {results.machine}, {study[0]['ranks']} ranks; processor counters: {_counters(study)}. "
        f"{len(study)} runs of {lengths[0]:.0f} to {lengths[-1]:.0f} s. {again} were repeated because the ranks "
        f"waited for processors for more than {RUN_DELAY_LIMIT_PCT:g} % of the time; {disturbed} did so again and do "
        "not count in the first table.\n"
    )


def _counters(study: Sequence[Record]) -> str:
    return "; ".join(sorted({r["counters"] for r in study})) or "none"


def _score_table(rows: Sequence[Score]) -> str:
    demand = f"median >= {TARGET_MEDIAN:g}, least >= {TARGET_LEAST:g}, error <= {TARGET_PP:g} pp"
    head = (
        "program",
        "method",
        "runs",
        "least accuracy",
        "median",
        "mean error",
        "in the interval",
        "wrong, called certain",
        demand,
    )
    return _table(head, map(_score_cells, rows))


def _score_cells(s: Score) -> list[str]:
    found = ["-"] * 6
    if s.runs:
        within = "-" if math.isnan(s.within) else f"{s.within:.0%}"
        verdict = "met" if s.meets else "**missed**"
        found = [f"{s.least:.2f}", f"{s.median:.3f}", f"{s.mean_pp:.2f} pp", within, str(s.wrong_and_certain), verdict]
    return [PROGRAMS[s.program].title, f"`{s.method}`", f"{s.runs} of {s.made}", *found]


def _level_table(rows: Sequence[Level]) -> str:
    methods = list(rows[0].estimated)
    return _table(
        ("program", "interference", "aimed at", "added", *(f"`{m}`" for m in methods), "not judged", "disturbed"),
        (
            (PROGRAMS[x.program].title, x.kind, f"{x.injected_pct:g} %", _spread(x.true),
             *(_spread(x.estimated[m]) for m in methods), _spread(x.uncovered), f"{x.disturbed} of {len(x.true)}")
            for x in rows
        ),
    )  # fmt: skip


def _verdict_text(rows: Sequence[Verdict], records: Sequence[Record]) -> str:
    title = PROGRAMS[records[0]["program"]].title
    share = max(r["injected_pct"] for r in records)
    lines = [
        f"- `{v.method}`: low {v.low_of_quiet} of {v.quiet} times without, high {v.high_of_held_up} of {v.held_up} "
        f"times with. {'Met' if v.meets else '**Missed**'}."
        for v in rows
    ]
    disturbed = sum(map(is_disturbed, records))
    return (
        f"{title} without interference has to be called low, and with {share:g} % high, nine times of ten "
        f"({disturbed} of the {len(records)} runs were disturbed by something else):\n\n" + "\n".join(lines) + "\n"
    )


def _spread(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "no figure"
    low, high = f"{min(known):.1f}", f"{max(known):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
