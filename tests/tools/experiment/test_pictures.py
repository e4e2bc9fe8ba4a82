"""Pictures of a matrix whose signals come and go: many small courses in one."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from crosswind.tools.experiment.pictures import draw
from crosswind.tools.experiment.report import write_report
from crosswind.tools.experiment.results import RESULTS, Results, read_results
from support.experiments import periodic


def crossed(directory: Path) -> Results:
    """A periodic experiment as if it were a matrix of one probe and two signals."""
    made = periodic(directory, repetitions=3)
    made.close()
    write_report(made.directory)
    results = read_results(made.directory / RESULTS)
    (pair,) = [each for each in results.pairs if each.course]
    other = pair.model_copy(update={"signal": "calm", "phases": None, "course": None, "alone_course": None})
    noise = results.program(pair.signal)
    programs = [*results.programs, noise.model_copy(update={"name": "calm"})]
    return results.model_copy(update={"kind": "matrix", "pairs": [pair, other], "programs": programs})


def test_a_matrix_has_all_its_courses_in_one_picture(tmp_path, monkeypatch):
    shaded, lines = [], []
    span, stairs = Axes.axvspan, Axes.stairs
    monkeypatch.setattr(Axes, "axvspan", lambda axes, *a, **k: shaded.append((axes, a)) or span(axes, *a, **k))
    monkeypatch.setattr(Axes, "stairs", lambda axes, *a, **k: lines.append((axes, a)) or stairs(axes, *a, **k))
    results = crossed(tmp_path / "made")
    shaded.clear()
    lines.clear()
    drawn = [name for name, _ in draw(results, tmp_path, ends=("svg",))]
    course = results.pairs[0].course
    assert drawn == ["matrix", "courses"]
    assert [ends for _, ends in shaded] == course.phases_s
    assert len({id(axes) for axes, _ in lines}) == 1, "the pair without a course has an empty place"
    assert len(lines) == 2, "alone and together"
    (axes,) = {axes for axes, _ in lines}
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] >= max(np.nanmax(rate) for _, (rate, *_) in lines), "all of both is to be seen"
    text = (tmp_path / "courses.svg").read_text()
    assert "beside noise" in text
    assert "beside calm" in text


def test_what_is_shown_of_one_pair_has_no_axis_with_what_is_shown_of_another(tmp_path, monkeypatch):
    """Beside one signal a program may spend its time in other calls than beside another."""
    lines = []
    stairs = Axes.stairs
    monkeypatch.setattr(Axes, "stairs", lambda axes, *a, **k: lines.append(axes) or stairs(axes, *a, **k))
    results = crossed(tmp_path / "made")
    pair, other = results.pairs
    waits = pair.phases.model_copy(update={"what": "MPI calls", "unit": "1/s"})
    other = other.model_copy(update={"phases": waits, "course": pair.course, "alone_course": pair.alone_course})
    lines.clear()
    drawn = [name for name, _ in draw(results.model_copy(update={"pairs": [pair, other]}), tmp_path, ends=("svg",))]
    assert drawn == ["matrix", "courses"]
    first, second = dict.fromkeys(lines)
    assert not first.get_shared_y_axes().joined(first, second)
    text = (tmp_path / "courses.svg").read_text()
    assert pair.phases.what in text
    assert "MPI calls" in text
    assert text.count("beside calm") == 1, "the signals stand above the first row"


def test_a_matrix_without_phases_has_no_courses(tmp_path):
    results = crossed(tmp_path / "made")
    pairs = [pair.model_copy(update={"phases": None}) for pair in results.pairs]
    drawn = [name for name, _ in draw(results.model_copy(update={"pairs": pairs}), tmp_path, ends=("svg",))]
    assert drawn == ["matrix"]
