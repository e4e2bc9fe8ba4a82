"""docs/experiments.md says what its results say, and has a place for each experiment."""

import re
import shutil
from pathlib import Path

import pytest

from crosswind.tools.experiment.description import read_experiment
from crosswind.tools.experiment.evaluation import evaluate
from crosswind.tools.experiment.plan import plan
from crosswind.tools.experiment.report import report_of
from experiments.page import DATA, PAGE, marks_of, pictures_of, section_text, stored, write_sections
from support.experiments import periodic
from support.marked import Marks
from support.preload import ROOT

FILES = sorted((ROOT / "experiments").glob("*.toml"))


def test_the_page_says_what_the_results_say(tmp_path):
    """What is stored makes the page that is there, text and pictures."""
    for folder in (DATA, PAGE.parent / "img" / "experiments"):
        if (ROOT / folder).exists():
            shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / PAGE).parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / PAGE, tmp_path / PAGE)
    results = stored(ROOT)
    write_sections(results, tmp_path)
    assert (tmp_path / PAGE).read_text() == (ROOT / PAGE).read_text(), "make experiments-docs"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_can_be_read_and_has_its_place(path, tmp_path):
    for name in re.findall(
        r'^input = "(.*)"', path.read_text(), re.MULTILINE
    ):  # one of them only `make experiments` makes
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    experiment = read_experiment(Path(shutil.copy(path, tmp_path)))
    assert experiment.experiment.name == path.stem
    assert experiment.experiment.title
    assert plan(experiment, 1)
    marks_of(experiment.experiment.name).part((ROOT / PAGE).read_text())


def test_there_are_experiments():
    assert {"fig-2.7", "fig-3.5", "fig-3.11", "node"} <= {path.stem for path in FILES}


@pytest.mark.parametrize("name", ["fig-2.7", "fig-3.5"])
def test_five_repetitions_where_the_spread_is_told(name):
    assert read_experiment(ROOT / "experiments" / f"{name}.toml").experiment.repetitions >= 5


def test_an_experiment_keeps_its_hands_off_pictures_of_another(tmp_path):
    """`node` and `node-pairs`: one name begins the other."""
    images = tmp_path / PAGE.parent / "img" / "experiments"
    for folder in (images, tmp_path / DATA):
        folder.mkdir(parents=True)
    (tmp_path / DATA / "node-pairs.json").touch()
    for name in ("node-matrix.svg", "node-pairs-matrix.svg", "fig-2.7-slowdown.svg"):
        (images / name).touch()
    assert [path.name for path in pictures_of("node", tmp_path)] == ["node-matrix.svg"]
    assert [path.name for path in pictures_of("node-pairs", tmp_path)] == ["node-pairs-matrix.svg"]


def test_results_become_a_part_of_the_page_with_pictures(tmp_path):
    made = periodic(tmp_path / "results", repetitions=2)
    made.close()
    results = evaluate(made.directory).model_copy(update={"name": "fig-2.7"})
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / PAGE, tmp_path / PAGE)
    write_sections([results], tmp_path)
    part = marks_of("fig-2.7").part((tmp_path / PAGE).read_text())
    assert "| writer | noise | 2 |" in part
    assert "](img/experiments/fig-2.7-periodic-writer--noise.svg)" in part
    assert (tmp_path / "docs/img/experiments/fig-2.7-periodic-writer--noise.svg").exists()
    assert stored(tmp_path) == [results]
    assert section_text(report_of(results, ()), results) in part.replace(
        "![Rate of writer over time; shaded while noise was active; the run of median length of 2]"
        "(img/experiments/fig-2.7-periodic-writer--noise.svg)\n\n",
        "",
    )


def test_a_note_on_the_machine_is_told_first(tmp_path):
    made = periodic(tmp_path, repetitions=1)
    made.close()
    results = evaluate(made.directory).model_copy(update={"machine": {"machine": "2-core", "note": "400 Mbit/s |"}})
    assert section_text(report_of(results, ()), results).startswith(
        "\nMeasured on a 2-core; 400 Mbit/s \\|. 3 of 3 runs"
    )


def test_an_experiment_without_a_place_writes_nothing(tmp_path):
    made = periodic(tmp_path / "results", repetitions=1)
    made.close()
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text("# Nothing\n")
    with pytest.raises(ValueError, match="no line"):
        write_sections([evaluate(made.directory)], tmp_path)
    assert not (tmp_path / DATA).exists()


def test_marks():
    marks = Marks("<!-- a -->", "<!-- b -->")
    page = "x\n<!-- a -->\nold\n<!-- b -->\ny\n"
    assert marks.part(page) == "old\n"
    assert marks.with_part(page, "\\1 new\n") == "x\n<!-- a -->\n\\1 new\n<!-- b -->\ny\n"
    assert marks.part("<!-- a -->\n<!-- b -->\n") == ""
    with pytest.raises(ValueError, match="no line"):
        marks.part("x")
