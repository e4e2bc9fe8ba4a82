"""Tables, pictures and reports: what is in them, and that nothing in them is taken for more than text."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from matplotlib.axes import Axes
from PIL import Image

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment import tables
from crosswind.tools.experiment.pictures import draw
from crosswind.tools.experiment.report import NO_PICTURES, report_of, summary, write_report
from crosswind.tools.experiment.results import BusyResult, LookupResult, ShareResult, read_results
from support.experiments import PERIODIC, matrix, periodic

HOSTILE = "<script>alert(1)</script> | `x` ![y](javascript:z) $\\x$ \x1b[31m"


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.images, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.images += [dict(attrs)["src"]] if tag == "img" else []

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A periodic experiment with its report; the title is hostile."""
    made = periodic(tmp_path_factory.mktemp("report"), repetitions=3)
    made.close()
    toml = made.directory / "experiment.toml"
    title = HOSTILE.replace("\\", "\\\\").replace("\x1b", "\\u001b")
    toml.write_text(toml.read_text().replace("A continuous writer beside a periodic one", title))
    return made.directory, write_report(made.directory)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    made = matrix(tmp_path_factory.mktemp("matrix"), repetitions=3)
    made.close()
    return made.directory, write_report(made.directory)


def test_the_summary_says_it_in_a_few_lines(reported):
    directory, text = reported
    lines = text.splitlines()
    assert len(lines) <= 6
    assert lines[0].startswith("9 of 9 runs on this machine, ")
    assert re.search(r"writer beside noise: loses 2\d % \(.*\) of its time .* a slow-down of 3\d %; no", text)
    assert re.search(r"5\d? % lower while noise is active \(rank correlation -0\.\d+, p = 0\.\d+\)", text)
    assert lines[-1] == f"Report: {directory / 'report.html'}"


def test_the_page_needs_nothing_else_and_runs_nothing(reported):
    directory, _ = reported
    page = Page((directory / "report.html").read_text())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text
    assert len(page.images) == 1
    assert all(src.startswith("data:image/svg+xml;base64,") for src in page.images)
    svg = ElementTree.fromstring(base64.b64decode(page.images[0].partition(",")[2]))
    assert not [element for element in svg.iter() if element.tag.endswith("script")]


def test_the_markdown_takes_no_text_for_markup(reported):
    directory, _ = reported
    text = (directory / "report.md").read_text()
    head = text.splitlines()[0]
    assert "<script>" not in text
    assert "\\`x\\`" in head
    assert "!\\[y\\](javascript:z)" in head
    assert "](periodic-writer--noise.svg)" in text
    for row in text.splitlines():
        if row.startswith("| writer | noise | 3 | 1"):
            assert len(re.findall(r"(?<!\\)\|", row)) == 11


def test_pictures_are_small_and_the_same_each_time(reported, crossed):
    for directory, name in ((reported[0], "periodic-writer--noise"), (crossed[0], "matrix")):
        png, svg = directory / f"{name}.png", directory / f"{name}.svg"
        before = svg.read_bytes(), png.read_bytes()
        assert len(before[0]) < 100_000
        assert len(before[1]) < 150_000
        with Image.open(png) as image:
            assert image.width > 900
            assert len(image.convert("RGB").getcolors(1 << 20)) > 20
        write_report(directory)
        assert (svg.read_bytes(), png.read_bytes()) == before


def test_the_picture_has_the_phases_and_both_courses(reported):
    svg = (reported[0] / "periodic-writer--noise.svg").read_text()
    for words in ("noise active", "writer alone", "writer beside noise", "seconds since writer began"):
        assert words in svg
    assert svg.count("#e69f00") >= 5  # an active phase each


def test_a_matrix_has_a_table_a_chunk_size(crossed):
    directory, text = crossed
    results = read_results(directory / "results.json")
    first, second = tables.matrix_tables(results)
    assert first.title == "Degradation, chunks of 1 MiB"
    assert second.title == "Degradation, chunks of 16 MiB"
    assert first.header == ("probe", "beside seek", "beside append", "alone")
    assert [row[0] for row in first.rows] == ["seek", "append"]
    assert re.fullmatch(r"\d\d % \(\d\d to \d\d\), n = 3", first.rows[0][2])
    assert "seek.1M loses" in text
    assert len(text.splitlines()) < 10


def test_every_pair_has_its_row_and_says_what_is_not_there(crossed):
    results = read_results(crossed[0] / "results.json")
    table = tables.pairs_table(results)
    assert len(table.rows) == 8
    assert any("no segments" in note for note in table.notes)
    assert {len(row) for row in table.rows} == {len(table.header)}


def test_each_table_says_what_its_columns_hold(reported, crossed):
    for directory, _ in (reported, crossed):
        text = Page((directory / "report.html").read_text()).text
        assert "percent of the time alone; in brackets the 95 % interval, a bootstrap" in text
    results = read_results(reported[0] / "results.json")
    row = dict(zip(*(lambda table: (table.header, table.rows[0]))(tables.phases_table(results)), strict=True))
    assert row["runs"] == "3"
    machine = {"machine": "2-core <guest>"}
    programs = tables.programs_table(results.model_copy(update={"machine": machine}))
    assert programs.words == "Slices of 1s. The machine that started them: 2-core <guest>."
    assert programs.rows[0][1] == "1 on 1"
    assert row["while active"].endswith(" MB/s, 60 slices")
    assert "(n = 3)" in (reported[0] / "periodic-writer--noise.svg").read_text()
    assert "rate lost, % of alone" in (crossed[0] / "matrix.svg").read_text()


def test_notes_on_the_machine_are_no_markup(reported):
    results = read_results(reported[0] / "results.json").model_copy(
        update={"machine": {"machine": "m", "note": HOSTILE}}
    )
    report = report_of(results, ())
    assert "<script>" not in tables.as_markdown(report.tables[-1])
    page = Page(tables.as_html(report.tables[-1]))
    assert "script" not in page.tags
    assert "The machine that started them: m; <script>alert(1)</script> | `x`" in page.text
    assert "\x1b" not in page.text


def test_how_busy_others_kept_the_machine_is_said(reported):
    results = read_results(reported[0] / "results.json")
    assert "the processors" not in summary(results)[0], "nobody knows"
    busy = BusyResult(others=ShareResult(median=3.14, most=41.2), hypervisor=ShareResult(median=0, most=0.42))
    assert summary(results.model_copy(update={"busy": busy}))[0].endswith(
        ". Others used 3.1 % of the processors (median of the runs; most: 41 %), "
        "the hypervisor took 0.0 % (most: 0.4 %)."
    )


def test_a_picture_says_higher_of_a_rate_that_rises(reported, tmp_path):
    results = read_results(reported[0] / "results.json")
    (pair,) = results.pairs
    rises = pair.model_copy(update={"phases": pair.phases.model_copy(update={"depth_pct": -19.0})})
    draw(results.model_copy(update={"pairs": [rises]}), tmp_path, ends=("svg",))
    assert "19 % higher while active, " in (tmp_path / "periodic-writer--noise.svg").read_text()


def test_all_of_an_interval_is_in_the_picture(crossed, tmp_path, monkeypatch):
    results = read_results(crossed[0] / "results.json")
    change = results.pairs[0].change.model_copy(update={"lost_interval_pct": (-60.0, 50.0)})
    wide = results.pairs[0].model_copy(update={"change": change})
    limits, set_ylim = [], Axes.set_ylim

    def noted(axes, *ends, **words):
        limits.append(ends)
        return set_ylim(axes, *ends, **words)

    monkeypatch.setattr(Axes, "set_ylim", noted)
    draw(results.model_copy(update={"pairs": [wide, *results.pairs[1:]], "kind": "matrix"}), tmp_path, ends=("svg",))
    assert min(ends[0] for ends in limits if len(ends) == 2) <= -60


def test_a_directory_without_runs(tmp_path):
    (tmp_path / "experiment.toml").write_text(PERIODIC.format(repetitions=2))
    text = write_report(tmp_path)
    assert text.startswith("0 of 4 runs")
    assert "4 runs are missing" in text
    assert "4 runs are missing" in (tmp_path / "report.md").read_text()
    assert not list(tmp_path.glob("*.png"))


def test_being_first_and_being_more_than_chance_are_told_apart():
    few = LookupResult(ranks=[1, 1, 2, None], named=1, runs=4)
    assert tables.lookup_words(few) == "first in 2 of 4, more than chance in 1"


def test_rates_without_a_unit_have_their_prefix_before_the_second():
    assert (tables.quantity(2220.0, "1/s"), tables.quantity(4.7e7, "B/s")) == ("2.22 k/s", "47 MB/s")


def test_failed_runs_are_told(tmp_path):
    made = periodic(tmp_path, repetitions=1)
    from support.experiments import Work

    made.run(3, Work("writer", [1.0] * 5), status="failed", why="<b>exit code 3</b>")
    made.close()
    assert "Run writer--alone--3 failed: <b>exit code 3</b>." in write_report(tmp_path)
    assert "&lt;b&gt;exit" in (tmp_path / "report.html").read_text()
    assert "<b>exit" not in (tmp_path / "report.md").read_text()


def test_no_directory_of_results(tmp_path):
    with pytest.raises((CommandError, FileNotFoundError)):
        write_report(tmp_path)


def test_without_matplotlib_there_is_a_report_and_a_hint(tmp_path, monkeypatch):
    import sys

    made = periodic(tmp_path, repetitions=1)
    made.close()
    monkeypatch.setitem(sys.modules, "crosswind.tools.experiment.pictures", None)
    assert NO_PICTURES in write_report(tmp_path)
    assert NO_PICTURES in Page((tmp_path / "report.html").read_text()).text


def test_summary_counts_what_it_leaves_out(crossed):
    results = read_results(crossed[0] / "results.json")
    assert "6 more pairs are in the report." in summary(results, most=2)


@pytest.mark.parametrize(
    ("value", "text"),
    [(43.31, "43 %"), (9.96, "10 %"), (3.14, "3.1 %"), (-0.01, "0.0 %"), (None, "-"), (-40.2, "-40 %")],
)
def test_percent(value, text):
    assert tables.percent(value) == text


def test_percent_with_its_interval():
    assert tables.percent(43.3, (38.2, 47.9)) == "43 % (38 to 48)"
