"""The experiment file, and the runs that it makes: what is refused, and in which order they come."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from crosswind.tools.errors import CommandError
from crosswind.tools.experiment.description import fill_in, read_experiment
from crosswind.tools.experiment.launcher import job_name
from crosswind.tools.experiment.plan import plan

GOOD = """
[experiment]
name = "small"
[programs.a]
command = ["true"]
[programs.b]
command = ["{load}/load-cpu", "--dir", "{scratch}"]
measure = "rate"
[programs.c]
command = ["true"]
[[pairs]]
probes = ["a", "b"]
signals = ["b", "c"]
"""


def read(tmp_path: Path, text: str):
    path = tmp_path / "small.toml"
    path.write_text(text)
    return read_experiment(path)


def test_what_is_left_out_has_defaults(tmp_path):
    found = read(tmp_path, GOOD)
    assert (found.experiment.on, found.experiment.repetitions, found.experiment.outside_pct) == ("local", 5, 10)
    assert found.experiment.outside_cpu_pct == 0
    assert found.programs["b"].name == "b"
    assert found.programs["b"].timeout_s == 5 * 60 + 60
    assert not found.pairs[0].mutual


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "small"', 'name = "../small"', "experiment.name"),
        ('name = "small"', 'name = "small"\nslice = "1x"', "experiment.slice: '1x'"),
        ('name = "small"', 'name = "small"\nslice = "1x"\nrepetitions = 0', "experiment.repetitions"),
        ('name = "small"', 'name = "small"\nrepetition = 3', "experiment.repetition"),
        ('name = "small"', "name = 3", "experiment.name"),
        ('name = "small"', 'name = "small"\noutside_cpu_pct = 101', "experiment.outside_cpu_pct"),
        ("[programs.a]", '[programs."a/b"]', "programs.a/b"),
        ("[programs.a]", "[programs.alone]", "alone"),
        ("[programs.a]", "[programs.a--b]", "a--b"),
        ("[programs.a]", "[programs.a-name-of-more-than-20]", "a-name-of-more-than-20"),
        ('["true"]', "[]", "programs.a.command"),
        ('["true"]', '["true"]\nseconds = inf', "programs.a.seconds"),
        ("{scratch}", "{scrach}", "programs.b: command: {scrach} is none of {load}, {run}, {scratch}"),
        ("{scratch}", "{input}", "{input}"),
        ('measure = "rate"', 'measure = "steps"', "programs.b: measure"),
        ('measure = "rate"', 'measure = "steps"\npattern = "("', "programs.b: pattern"),
        ('measure = "rate"', 'measure = "steps"\npattern = "x"', "one group"),
        ('measure = "rate"', 'mpi = ""\nranks_per_node = 2', "several ranks"),
        ('measure = "rate"', 'nodelist = ["n1", "n2"]', "2 names for 1 nodes"),
        ('measure = "rate"', 'input = "../secret"', "programs.b"),
        ('measure = "rate"', 'input = "none"', "programs.b.input: no file"),
        ('signals = ["b", "c"]', 'signals = ["d"]', "pairs, table 1: there is no [programs.d]"),
        ('probes = ["a", "b"]', "probes = []", "pairs.0.probes"),
        ("[[pairs]]", "[[pairs", "at line"),
        ("[experiment]", "", "experiment"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_that_names_file_table_and_key(tmp_path, old, new, said):
    assert old in GOOD
    with pytest.raises(CommandError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    message = error.value.format_message()
    assert message.startswith(f"{tmp_path / 'small.toml'}: ")
    assert said in message
    assert "\n" not in message


def test_what_is_no_text_or_too_large_is_refused(tmp_path):
    for data in (b"\xff\xfe", b"#" * (2 << 20)):
        (tmp_path / "x.toml").write_bytes(data)
        with pytest.raises(CommandError, match=r"x\.toml"):
            read_experiment(tmp_path / "x.toml")


def test_placeholders_and_braces():
    assert fill_in("{run}/{{x}} ${{y}} {", {"run": "/r"}) == "/r/{x} ${y} {"
    with pytest.raises(ValueError, match="brace"):
        fill_in("{print}", {"run": "/r"})


def test_each_repetition_is_complete_and_in_an_order_of_its_own(tmp_path):
    runs = plan(read(tmp_path, GOOD), 8)
    pairs = {("a", "b"), ("a", "c"), ("b", "b"), ("b", "c")}
    wanted = {("a", None), ("b", None)} | pairs  # c is nobody's probe
    orders = []
    for number, (repetition, members) in enumerate(groupby(runs, lambda run: run.repetition)):
        order = [(run.cell.probe, run.cell.signal) for run in members]
        assert repetition == number
        assert len(order) == len(wanted)
        assert set(order) == wanted
        orders.append(tuple(order))
    assert len(orders) == 8
    assert len(set(orders)) > 1
    assert len({run.key for run in runs}) == len(runs)


def test_the_order_is_the_seed_s_and_does_not_change_with_more_repetitions(tmp_path):
    few, many = plan(read(tmp_path, GOOD), 3), plan(read(tmp_path, GOOD), 5)
    other = plan(read(tmp_path, GOOD.replace('"small"', '"small"\nseed = 2')), 3)
    assert many[: len(few)] == few
    assert other != few
    assert {run.key for run in other} == {run.key for run in few}


def test_mutual_pairs_come_once(tmp_path):
    text = GOOD.replace(
        'probes = ["a", "b"]\nsignals = ["b", "c"]', 'mutual = true\nprobes = ["a", "b"]\nsignals = ["a", "b"]'
    )
    runs = plan(read(tmp_path, text), 1)
    assert sorted((r.cell.probe, r.cell.signal) for r in runs if r.cell.signal) == [("a", "a"), ("a", "b"), ("b", "b")]


def test_a_pair_that_is_there_twice_is_an_error(tmp_path):
    with pytest.raises(CommandError, match="a beside b is there twice"):
        plan(read(tmp_path, GOOD + '[[pairs]]\nprobes = ["a"]\nsignals = ["b"]\n'), 1)


def test_the_longest_names_are_good_job_ids(tmp_path):
    text = GOOD.replace("programs.b]", f"programs.{'b' * 20}]").replace('"b"', f'"{"b" * 20}"')
    longest = max(len(job_name(Path(run.key), "signal")) for run in plan(read(tmp_path, text), 1000)[-7:])
    assert longest <= 63
