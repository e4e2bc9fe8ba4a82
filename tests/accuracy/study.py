"""The accuracy study: every scenario, method and injected share over seeds, as a table.

python -m accuracy.study [--seeds N] [--first-seed N] [--method M] [--csv FILE] [--markdown]
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from accuracy.scenarios import INJECTED, SCENARIOS, Scenario
from rich.console import Console
from rich.progress import track
from rich.table import Table

from crosswind.analysis import METHODS, accuracy, estimate

__all__ = ["Outcome", "Summary", "outcomes", "summarize"]

ROUNDING_PP = 0.005  # by which the truth may miss the interval


@dataclass(frozen=True)
class Outcome:
    """One run, true and estimated, in percent of its time. estimated_pct is None where there was no figure,
    interval_pct where there was none or the method has none.
    """

    scenario: str
    method: str
    seed: int
    injected_pct: float
    true_pct: float
    estimated_pct: float | None
    interval_pct: tuple[float, float] | None
    certain: bool

    @property
    def error_pp(self) -> float:
        """Estimated minus true, in percentage points; no figure counts as zero estimated."""
        return (self.estimated_pct or 0.0) - self.true_pct

    @property
    def accuracy(self) -> float:
        """The thesis's measure, section 5.2.3."""
        return float(accuracy(self.true_pct, self.estimated_pct or 0.0))

    @property
    def in_interval(self) -> bool:
        """Whether the truth lies in the interval, but for rounding."""
        low, high = self.interval_pct or (0.0, 0.0)
        return low - ROUNDING_PP <= self.true_pct <= high + ROUNDING_PP


@dataclass(frozen=True)
class Summary:
    """One scenario and method over all its runs; in_interval: None where the method has no intervals."""

    scenario: Scenario
    method: str
    least: float
    mean: float
    mean_pp: float
    quiet_pct: float
    most_pct: float
    in_interval: float | None
    certain: float
    wrong_and_certain: int

    @property
    def meets(self) -> bool:
        """Whether the scenario's demands hold; a run without interference must stay below 2 % wherever it is told."""
        if self.scenario.unseen_pct is not None:
            return self.most_pct <= self.scenario.unseen_pct
        within = self.scenario.mean_pp is None or self.mean_pp <= self.scenario.mean_pp
        quiet = self.scenario.warned or self.quiet_pct < 2
        warned = not self.scenario.warned or self.wrong_and_certain == 0
        return self.least >= self.scenario.least and within and quiet and warned


def outcomes(scenario: Scenario, method: str, seeds: Iterable[int]) -> Iterator[Outcome]:
    """All runs of a scenario by one method."""
    for seed in seeds:
        for injected in INJECTED:
            run = scenario.run(injected, seed)
            found = estimate(run.table, method)
            yield Outcome(
                scenario.name,
                method,
                seed,
                injected,
                run.true_pct,
                found.interference_pct,
                found.interval_pct,
                found.certain,
            )


def summarize(scenario: Scenario, method: str, runs: list[Outcome]) -> Summary:
    """The figures that demands are made of."""
    scores = np.array([r.accuracy for r in runs])
    errors = np.array([abs(r.error_pp) for r in runs])
    return Summary(
        scenario=scenario,
        method=method,
        least=float(scores.min()),
        mean=float(scores.mean()),
        mean_pp=float(errors.mean()),
        quiet_pct=max((r.estimated_pct or 0.0 for r in runs if r.injected_pct == 0), default=0.0),
        most_pct=max((r.estimated_pct or 0.0 for r in runs), default=0.0),
        in_interval=float(np.mean([r.in_interval for r in runs])) if any(r.interval_pct for r in runs) else None,
        certain=float(np.mean([r.certain for r in runs])),
        wrong_and_certain=sum(r.certain and abs(r.error_pp) > 3 for r in runs),
    )


def _table(summaries: list[Summary]) -> Table:
    table = Table(title="accuracy over all shares and seeds; demands in brackets")
    for name, justify in (("scenario", "left"), ("method", "left"), ("least", "right"), ("mean", "right"),
                          ("error, pp", "right"), ("quiet, %", "right"), ("in interval", "right"), ("certain", "right"),
                          ("wrong, certain", "right"), ("", "left")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for s in summaries:
        within = "-" if s.in_interval is None else f"{s.in_interval:.0%}"
        limit = "" if s.scenario.mean_pp is None else f" ({s.scenario.mean_pp:g})"
        table.add_row(
            s.scenario.name, s.method, f"{s.least:.2f} ({s.scenario.least:g})", f"{s.mean:.3f}",
            f"{s.mean_pp:.2f}{limit}", f"{s.quiet_pct:.2f}", within, f"{s.certain:.0%}", str(s.wrong_and_certain),
            "met" if s.meets else "missed",
        )  # fmt: skip
    return table


def markdown(summaries: list[Summary]) -> str:
    """The table of docs/estimator.md; summaries: of both methods."""
    by = {(s.scenario.name, s.method): s for s in summaries}
    lines = [
        "| scenario | demanded | `robust`: least, mean | error | called certain | in the interval "
        "| `thesis`: least, mean | error |",
        "| --- " * 8 + "|",
    ]
    for scenario in SCENARIOS:
        robust, thesis = by[scenario.name, "robust"], by[scenario.name, "thesis"]
        least = f"{robust.least:.2f}" if robust.meets else f"**{robust.least:.2f}**"
        lines.append(
            f"| {scenario.name} | {_demanded(scenario)} | {least}, {robust.mean:.3f} | {robust.mean_pp:.2f} pp "
            f"| {robust.certain:.0%} | {robust.in_interval or 0:.0%} "
            f"| {thesis.least:.2f}, {thesis.mean:.3f} | {thesis.mean_pp:.2f} pp |"
        )
    return "\n".join(lines)


def _demanded(scenario: Scenario) -> str:
    if scenario.unseen_pct is not None:
        return f"figure <= {scenario.unseen_pct:g} %"
    return f">= {scenario.least:g}" + (f", <= {scenario.mean_pp:g} pp" if scenario.mean_pp is not None else "")


def main(arguments: list[str]) -> int:
    """Command line; see the module's docstring. Exit status 1 when the default method misses a demand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=4003)
    parser.add_argument("--method", choices=sorted(METHODS), action="append")
    parser.add_argument("--csv", type=argparse.FileType("w"))
    parser.add_argument("--markdown", action="store_true", help="Print the table of docs/estimator.md instead.")
    options = parser.parse_args(arguments)
    if options.markdown and options.method:
        parser.error("--markdown needs both methods")
    methods = options.method or sorted(METHODS)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    runs: list[Outcome] = []
    summaries = []
    for scenario in track(SCENARIOS, "simulating", console=Console(stderr=True)):
        for method in methods:
            these = list(outcomes(scenario, method, seeds))
            runs += these
            summaries.append(summarize(scenario, method, these))
    if options.markdown:
        print(markdown(summaries))
    else:
        Console(width=160).print(_table(summaries))
    if options.csv:
        writer = csv.writer(options.csv)
        writer.writerow(Outcome.__dataclass_fields__)
        writer.writerows([getattr(run, name) for name in Outcome.__dataclass_fields__] for run in runs)
    return int(any(not s.meets for s in summaries if s.method == "robust"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
