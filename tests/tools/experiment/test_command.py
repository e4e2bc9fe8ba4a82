"""`crosswind experiment` as a user has it: whole experiments, killed and gone on with, interrupted, refused."""

from __future__ import annotations

import html
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from crosswind.db.connection import open_database, reading
from crosswind.db.queries import find_jobs
from crosswind.tools.cli import main
from crosswind.tools.experiment.records import read_records
from support.preload import LIBRARY

SECRET = "this-is-no-ones-business"
EXTRA = {"MY_TOKEN": SECRET, "CROSSWIND_DISABLE": "1"}  # neither gets into what is kept, nor keeps programs unprofiled
KEYS = {"p--alone--0", "s--alone--0", "p--s--0"}
SHORT_SIGNAL = '["{load}/load-cpu", "--seconds", "1.5"]'
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "experiment-small"


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str], load: Path) -> Iterator[Start]:
    """Start `crosswind experiment ARGS...`, in an empty directory and with a secret in its environment."""
    started: list[subprocess.Popen[str]] = []

    def start_command(*arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "crosswind.tools", "experiment", *map(str, arguments)]
        started.append(
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env={**environment, **EXTRA},
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return started[-1]

    yield start_command
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def run(tmp_path: Path, load: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """The same in this process and to its end: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"CROSSWIND_LIBRARY": str(LIBRARY), **EXTRA}.items():
        monkeypatch.setenv(name, value)

    def run_command(*arguments: str | Path) -> tuple[int, str, str]:
        done = CliRunner().invoke(main, ["experiment", *map(str, arguments)], catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return run_command


def wait_for(what: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def processes_below(directory: Path) -> list[str]:
    """Command lines of the processes that work below the directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            inside = os.readlink(entry / "cwd").startswith(f"{directory}/")
            line = (entry / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if inside and line:
            found.append(line)
    return found


def loaded(results: Path) -> dict[str, int]:
    """How often each job of the records is in the database."""
    engine = open_database(f"sqlite:///{results / 'jobs.db'}", create=False)
    ids = [program.job_id for record in read_records(results) for program in record.programs]
    with reading(engine) as conn:
        counts = {job_id: len(find_jobs(conn, job_id)) for job_id in ids}
    engine.dispose()
    return counts


def test_a_whole_experiment(write, run, results):
    file = write(signal=SHORT_SIGNAL, pairs='signals = ["s"]\nlead_s = 0.1\nmutual = true')
    code, out, err = run("run", file)
    assert code == 0, err
    assert "3 of 3: " in err
    assert "left" in err
    assert "report.html" in out
    records = read_records(results)
    assert {record.key for record in records} == KEYS
    assert all(record.status == "done" for record in records)
    plan = json.loads((results / "plan.json").read_text())
    assert plan["order"] == [record.key for record in records]
    assert loaded(results) == {f"{key}-probe": 1 for key in KEYS} | {"p--s--0-signal": 1}
    assert (results / "report.html").exists()
    assert (results / "experiment.toml").read_bytes() == file.read_bytes()
    machine = (results / "machine.json").read_text()
    assert "Linux" in json.loads(machine)["machine"]
    assert not any(SECRET in path.read_text(errors="ignore") for path in results.rglob("*") if path.is_file())
    assert not (results / "scratch").exists()

    code, _, err = run("run", file)  # nothing is left to do
    assert (code, err) == (0, "")
    assert read_records(results) == records

    text = file.read_text()
    file.write_text(text.replace('"--seconds", "1"', '"--seconds", "2"'))
    code, _, err = run("run", file)
    assert code == 1
    assert err.startswith(f"crosswind experiment: {results}: holds results of another experiment.toml")
    assert "programs.p.command differs" in err
    assert "-o" in err
    file.write_text(text)
    code, _, err = run("run", file, "--on", "slurm")
    assert code == 1
    assert "begun with --on local" in err


def test_a_dry_run_says_the_order_and_the_time_and_does_nothing(write, run, results):
    file = write(settings="outside_pct = 0\nseed = 3", pairs='signals = ["s"]\nlead_s = 2')
    file.write_text(file.read_text().replace("seconds = 1\n", "seconds = 100\n"))
    code, out, err = run("run", file, "--dry-run", "--repetitions", "2")
    assert code == 0, err
    assert "4 runs in 7 min; 0 are made already" in out
    lines = [line for line in out.splitlines() if line.startswith(("p alone", "s alone", "p beside s"))]
    assert len(lines) == 4, "a signal that nobody judges is not run alone"
    assert [line.split()[-2] for line in lines] == ["1"] * 2 + ["2"] * 2
    assert [line.split()[-1] for line in lines if line.startswith("p beside")] == ["102", "102"]
    assert "{load}/load-cpu --seconds 1" in out
    assert "{load}/load-pattern --pattern write-seek" in out, "a signal is run, too"
    assert not results.exists()


def test_killed_at_any_moment_it_goes_on_and_ends_whole(write, start, run, results):
    file = write(signal=SHORT_SIGNAL, pairs='signals = ["s"]\nlead_s = 0.1\nmutual = true')
    made: dict[str, int] = {}

    def in_a_run() -> bool:
        return any((results / "runs").glob("*/probe.spool"))

    def just_recorded() -> bool:  # and not loaded yet
        return len(list((results / "runs").glob("*/record.json"))) > len(made)

    for moment in (in_a_run, just_recorded, in_a_run, just_recorded):
        process = start("run", file)
        wait_for(lambda moment=moment, process=process: moment() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.kill()
        process.wait()
        records = {record.key: record.begin_ns for record in read_records(results)}
        assert made.items() <= records.items()  # what is made stays as it is
        made = records
    assert len(made) == 2
    code, _, err = run("run", file)
    assert code == 0, err
    records = {record.key: record.begin_ns for record in read_records(results)}
    assert records.keys() == KEYS
    assert made.items() <= records.items()
    assert set(loaded(results).values()) == {1}
    assert {path.name for path in (results / "runs").iterdir()} == KEYS
    assert processes_below(results) == []


def test_what_a_killed_runner_left_running_is_ended_by_the_next(write, start, results):
    stubborn = """["sh", "-c", "trap '' TERM; sleep 99 & wait; sleep 99"]"""
    file = write(stubborn, of_probe='mpi = ""', pairs="signals = []")
    process = start("run", file)
    wait_for(lambda: any("sleep" in line for line in processes_below(results)))
    spool = Path(next((results / "runs").glob("*/probe.spool")).read_text())
    process.kill()
    process.wait()
    assert processes_below(results), "it bears what it gets when its runner dies, or this tests nothing"
    assert spool.is_dir()
    again = start("run", file)
    wait_for(lambda: not spool.exists())
    assert len([line for line in processes_below(results) if "trap" in line]) <= 1
    again.terminate()
    _, err = again.communicate(timeout=60)
    assert again.returncode == 1
    assert err == "crosswind experiment: SIGTERM: 0 of 1 runs are made: the same command goes on\n"
    assert processes_below(results) == []
    assert list((results / "runs").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_interrupted_it_leaves_nothing_half_made_and_nothing_running(write, start, results, number):
    process = start("run", write(pairs='signals = ["s"]\nlead_s = 30', settings="outside_pct = 0\nseed = 1"))
    wait_for(lambda: bool(processes_below(results)))
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    made = len(read_records(results))
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(f"crosswind experiment: {number.name}: {made} of 2 runs are made: the same")
    assert processes_below(results) == []
    assert len(list((results / "runs").iterdir())) == made
    assert not (results / "scratch").exists()


def test_two_at_once_are_refused(write, start, run, results):
    file = write('["sleep", "60"]', of_probe='mpi = ""', pairs="signals = []")
    start("run", file)
    wait_for(lambda: bool(processes_below(results)))
    code, _, err = run("run", file)
    assert (code, err) == (
        1,
        f"crosswind experiment: {results}: another runner is at work there: wait until it has ended\n",
    )


def test_what_is_not_there_is_said(write, run, results, tmp_path):
    code, _, err = run("run", write('["no-such-program"]', of_probe='mpi = ""'))
    assert (code, err) == (
        1,
        "crosswind experiment: no-such-program: is not there or no program, and p needs it: install it\n",
    )
    code, _, err = run("run", write(signal='["no-such-signal"]', of_signal='mpi = ""'))
    assert code == 1
    assert "no-such-signal: is not there or no program, and s needs it" in err
    code, _, err = run("run", write('["{load}/load-none"]'))
    assert code == 1
    assert "load-none.openmpi: not built" in err
    assert not results.exists()
    assert run("run", tmp_path / "none.toml")[0] == 2
    assert run("run", write(), "--scratch", tmp_path / "none")[0] == 2
    code, _, err = run("report", tmp_path)
    assert (code, err) == (
        1,
        f"crosswind experiment: {tmp_path}: is no results directory: it has no experiment.toml\n",
    )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    code, _, err = run("run", write(), "-o", tmp_path / "full")
    assert code == 1
    assert "is no results directory and not empty" in err


def test_a_run_that_failed_is_exit_code_1_and_is_made_again(write, run, results, tmp_path):
    file = write('["sh", "-c", "test -e ../../../../good"]', of_probe='mpi = ""', pairs="signals = []")
    code, _, err = run("run", file)
    assert code == 1
    assert "1 of 1 runs lack: the same command tries again" in err
    (tmp_path / "good").touch()
    code, _, err = run("run", file)
    assert code == 0, err
    assert {(r.status, r.try_number) for r in read_records(results)} == {("failed", 1), ("done", 2)}
    assert {path.name for path in (results / "runs").iterdir()} == {"p--alone--0", "p--alone--0.try1"}


def test_one_that_was_killed_before_it_had_made_its_directory_begins_again(write, run, results, tmp_path):
    (tmp_path / "deck").write_text("whole")
    of_probe = 'mpi = ""\ninput = "deck"\nmeasure = "steps"\npattern = "(1)"'
    file = write('["sh", "-c", "cmp {input} ../../../../deck && echo 1"]', of_probe=of_probe, pairs="signals = []")
    (results / "runs").mkdir(parents=True)
    (results / "deck").write_text("wh")
    (results / ".plan.json.new").write_text("{")
    code, _, err = run("run", file)
    assert code == 1, "nobody says that this is ours"
    assert "is no results directory and not empty" in err
    (results / ".lock").touch()
    code, _, err = run("run", file)
    assert code == 0, err


def test_another_machine_than_before_is_told_and_written_down(write, run, results):
    file = write('["true"]', of_probe='mpi = ""', pairs="signals = []")
    assert run("run", file)[0] == 0
    path = results / "machine.json"
    first = json.loads(path.read_text())
    path.write_text(json.dumps({**first, "node": "elsewhere"}))
    code, _, err = run("run", file)
    assert code == 0
    assert err.startswith("crosswind experiment: the machine has changed since (node, see machine.json): ")
    kept = json.loads(path.read_text())
    assert kept["node"] == "elsewhere"
    assert kept["later"] == [{"date": kept["later"][0]["date"], "node": first["node"]}]
    assert run("run", file)[2] == "", "once is enough"
    path.write_text("[")
    code, _, err = run("run", file)
    assert (code, err) == (1, f"crosswind experiment: {path}: is damaged: remove it, and it is written again\n")


def test_a_note_is_kept_told_when_it_changes_and_reported(write, run, results):
    file, path = write('["true"]', of_probe='mpi = ""', pairs="signals = []"), results / "machine.json"
    note = "links: 400 Mbit/s <b>to</b> the | server"
    assert run("run", file, "--note", note)[0] == 0
    first = json.loads(path.read_text())
    assert first["note"] == note
    assert "links: 400 Mbit/s &lt;b&gt;to&lt;/b&gt; the \\| server.\n" in (results / "report.md").read_text()
    assert run("run", file)[2] == "", "who says nothing leaves the old one"
    assert json.loads(path.read_text()) == first
    (results / "said").write_text("links: 100 Mbit/s\n")
    code, _, err = run("run", file, "--note", f"@{results / 'said'}")
    assert code == 0
    assert err.startswith("crosswind experiment: the machine has changed since (note, see machine.json): ")
    assert [change["note"] for change in json.loads(path.read_text())["later"]] == ["links: 100 Mbit/s"]
    assert "the | server; later: links: 100 Mbit/s.</p>" in html.unescape((results / "report.html").read_text())
    assert run("run", file)[2] == ""
    code, _, err = run("run", file, "--note", "two\nlines")
    assert code == 2
    assert "--note: has to be one line of text" in err
