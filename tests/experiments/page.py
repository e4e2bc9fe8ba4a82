"""The measured parts of docs/experiments.md, one per experiment, from the results of its runs; and its pictures.

The results are kept in docs/data/experiments, so that the page can be made again, and checked, without the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crosswind.tools.experiment.machine import machine_words
from crosswind.tools.experiment.pictures import draw
from crosswind.tools.experiment.report import Report, report_of
from crosswind.tools.experiment.results import Results, read_results, write_results
from crosswind.tools.experiment.tables import Table, as_markdown, plain_markdown
from support.marked import Marks

__all__ = ["DATA", "PAGE", "marks_of", "pictures_of", "section_text", "stored", "write_sections"]

PAGE = Path("docs/experiments.md")
DATA = Path("docs/data/experiments")
IMAGES = Path("img/experiments")
SHOWN = ("Programs",)  # tables that the experiment files tell already


def write_sections(results: Sequence[Results], root: Path) -> None:
    """Keep the results, draw their pictures, and put the text of each between its marks.

    ValueError: the page has no marks for one of them; nothing is written then.
    """
    page = root / PAGE
    text = page.read_text()
    for each in results:
        marks_of(each.name).part(text)
    (page.parent / IMAGES).mkdir(parents=True, exist_ok=True)
    (root / DATA).mkdir(parents=True, exist_ok=True)
    for each in results:
        write_results(root / DATA / f"{each.name}.json", each)
        for old in pictures_of(each.name, root):
            old.unlink()
        pictures = draw(each, page.parent / IMAGES, prefix=f"{each.name}-", ends=("svg",))
        text = marks_of(each.name).with_part(text, section_text(report_of(each, pictures), each))
    page.write_text(text)


def pictures_of(name: str, root: Path) -> list[Path]:
    """An experiment's own pictures, without those of another whose name begins with its name."""
    longer = [path.stem for path in (root / DATA).glob(f"{name}-*.json")]
    found = sorted((root / PAGE.parent / IMAGES).glob(f"{name}-*"))
    return [path for path in found if not any(path.name.startswith(f"{other}-") for other in longer)]


def marks_of(name: str) -> Marks:
    """Around the measured part of an experiment."""
    return Marks(f"<!-- begin: {name}, made by `make experiments-docs` -->", f"<!-- end: {name} -->")


def stored(root: Path) -> list[Results]:
    """The results that the page was made of."""
    return [read_results(path) for path in sorted((root / DATA).glob("*.json"))]


def section_text(report: Report, results: Results) -> str:
    """The text, from the results alone."""
    parts = [f"{_machine(results)}{' '.join(map(plain_markdown, report.paragraphs))}\n"]
    parts += [f"{plain_markdown(text)}\n" for text in report.warnings]
    parts += [f"![{plain_markdown(words)}]({IMAGES / name}.svg)\n" for name, words in report.pictures]
    parts += [_titled(table) for table in report.tables if table.title not in SHOWN]
    return "\n" + "\n".join(parts) + "\n"


def _titled(table: Table) -> str:
    return f"{plain_markdown(table.title)}:\n\n{as_markdown(replace(table, words=''))}"  # the page has them once


def _machine(results: Results) -> str:
    machine = machine_words(results.machine)
    return f"Measured on a {plain_markdown(machine)}. " if machine else ""
