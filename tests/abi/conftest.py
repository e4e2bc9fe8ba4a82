"""The table that `make test-abi` ends with: every MPI against every language and part, from the tests' results."""

from __future__ import annotations

from collections import defaultdict

from _pytest.terminal import TerminalReporter

Table = dict[str, dict[str, set[tuple[int, bool]]]]  # line -> column -> ranks, and whether that was right


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    tables: dict[str, Table] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                if name == "cell" and report.when == "call":
                    table, line, column, ranks = value
                    tables[table][line][column].add((ranks, outcome == "passed"))
    for title, table in tables.items():
        terminalreporter.write_sep("-", title)
        for text in _markdown(table):
            terminalreporter.write_line(text)


def _markdown(table: Table) -> list[str]:
    columns = list(dict.fromkeys(column for cells in table.values() for column in cells))
    rows = [["", *columns], ["---"] * (len(columns) + 1)]
    rows += [[line, *(_cell(cells.get(column, set())) for column in columns)] for line, cells in table.items()]
    return [f"| {' | '.join(row)} |" for row in rows]


def _cell(results: set[tuple[int, bool]]) -> str:
    """`2, 3`: all was right with 2 and with 3 ranks. `2, NOT 3`. Nothing if it was not run."""
    wrong = {ranks for ranks, right in results if not right}
    return ", ".join(f"NOT {ranks}" if ranks in wrong else str(ranks) for ranks in sorted({r for r, _ in results}))
