"""Single runs on this machine: what is recorded, what fails, what is discarded and made again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crosswind.db.connection import reading
from crosswind.db.node_queries import list_nodes
from crosswind.profile.store import read_profile
from crosswind.tools.errors import CommandError
from crosswind.tools.experiment import runner as runner_module
from crosswind.tools.experiment.loading import open_jobs
from crosswind.tools.experiment.local import LocalLauncher
from crosswind.tools.experiment.outside import DiskWatch
from crosswind.tools.experiment.progress import Progress
from crosswind.tools.experiment.records import (
    Outside,
    RunRecord,
    read_record,
    read_records,
    write_record,
    write_whole,
)

SH = '["sh", "-c", "{}"]'
BARE = 'mpi = ""'
ALONE = "signals = []"
MIB = 1 << 20


def progress() -> Progress:
    return Progress(3, 0, None)


def make(made) -> tuple[int, list[RunRecord]]:
    """How many runs lack, and the records."""
    return made.make(progress()), read_records(made.directory)


def test_a_probe_beside_a_signal(write, runner):
    made = runner(write(of_probe='measure = "rate"\nranks_per_node = 2'))
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    lacking, (record,) = make(made)
    assert lacking == 0, record.why
    probe, signal = record.of("probe"), record.of("signal")
    assert (record.key, record.status, record.try_number) == ("p--s--0", "done", 1)
    assert (probe.exit_code, probe.report["ended"], probe.report["ranks"], probe.stopped) == (0, "time", 2, False)
    assert (signal.exit_code, signal.report["ended"], signal.stopped) == (0, "stopped", True)
    assert probe.begin_ns - signal.begin_ns > 0.4e9
    assert signal.end_ns > probe.end_ns
    for program in (probe, signal):
        profile = read_profile(made.directory / "runs" / record.key / program.profile)
        assert profile.job.id == program.job_id == f"p--s--0-{program.role}"
        assert profile.slice_ns == 10**9
        assert program.begin_ns <= program.report["start_ns"] < program.report["end_ns"] <= program.end_ns
    written = read_profile(made.directory / "runs" / record.key / "signal.xwp")
    moved = sum(
        int(v.sum()) for name, v in written.totals.items() if name.startswith("posix_") and "write_bytes" in name
    )
    assert moved >= signal.report["total"] > 0
    assert record.conditions.others_pct >= 0
    assert not made.launcher.scratch.exists()
    assert [p.name for p in (made.directory / "runs").iterdir()] == ["p--s--0"]
    assert not list((made.directory / "runs" / "p--s--0").glob("*.spool"))


def test_time_steps_and_inputs(write, runner, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "deck").write_text("8.5 steps/s 9.5 steps/s")
    file = write(
        SH.format("cp {input} {scratch}/x; cat {scratch}/x; pwd > here; sleep 1"),
        SH.format("sleep 1.5"),
        of_probe=f"measure = 'steps'\npattern = '([0-9.]+) steps/s'\ninput = 'in/deck'\n{BARE}",
        of_signal=BARE,
        pairs='signals = ["s"]\nlead_s = 0.1\nmutual = true',
    )
    made = runner(file)
    (made.directory / "in").mkdir()
    (made.directory / "in" / "deck").write_bytes((tmp_path / "in" / "deck").read_bytes())
    lacking, records = make(made)
    assert lacking == 0, records
    both = next(r for r in records if r.signal)
    assert both.mutual
    assert both.of("probe").steps_per_s == 9.5
    assert both.of("signal").elapsed_s == pytest.approx(1.5, abs=0.7)
    assert not both.of("signal").stopped
    work = made.directory / "runs" / both.key / "probe"
    assert (work / "here").read_text().strip() == str(work)


@pytest.mark.parametrize(
    ("probe", "signal", "more", "why"),
    [
        ("exit 3", "sleep 60", "", "p ended with exit code 3: see probe.err"),
        ("kill -9 $$", "sleep 60", "", "p ended with exit code 137"),
        ("sleep 1", "exit 0", "", "s ended before p: let it run longer"),
        ("sleep 1", "exit 4", "", "s ended with exit code 4"),
        ("sleep 0.1", "sleep 60", 'measure = "rate"', "p printed no report"),
        ("echo 7", "sleep 60", "measure = 'steps'\npattern = '(\\d+) steps'", "p printed no number"),
        ("echo inf steps", "sleep 60", "measure = 'steps'\npattern = '(\\w+) steps'", "p printed no number"),
    ],
)
def test_what_is_no_result_is_recorded_as_failed(write, runner, probe, signal, more, why):
    made = runner(write(SH.format(probe), SH.format(signal), of_probe=f"{BARE}\n{more}", of_signal=BARE))
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    lacking, (record,) = make(made)
    assert lacking == 1
    assert record.status == "failed"
    assert record.why.startswith(why)


def test_a_run_beside_a_signal_that_did_nothing_is_no_result(write, runner):
    """As one that was asked to end before it had begun."""
    file = write(SH.format("sleep 1"), SH.format("sleep 60"), of_probe=BARE, of_signal=f'{BARE}\nmeasure = "rate"')
    made = runner(file)
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    lacking, (record,) = make(made)
    assert lacking == 1
    assert record.why.startswith("s printed no report of a load program, or did nothing: see signal.out")


def test_each_of_two_has_its_own_end(write, runner):
    """Whichever is waited for first."""
    file = write(
        SH.format("sleep 2"), SH.format("sleep 0.7"), of_probe=BARE, of_signal=BARE,
        pairs='signals = ["s"]\nlead_s = 0.1\nmutual = true',
    )  # fmt: skip
    made = runner(file)
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    lacking, (record,) = make(made)
    assert lacking == 0, record.why
    assert record.of("signal").elapsed_s == pytest.approx(0.9, abs=0.4)
    assert record.of("probe").elapsed_s == pytest.approx(2.2, abs=0.4)


@pytest.mark.parametrize(("signal", "words"), [("0.2", "0.0"), ("2.1", "0.")])
def test_programs_that_hardly_met_are_no_result(write, runner, signal, words):
    file = write(
        SH.format("sleep 3"), SH.format(f"sleep {signal}"), of_probe=BARE, of_signal=BARE,
        pairs='signals = ["s"]\nlead_s = 1.5\nmutual = true',
    )  # fmt: skip
    made = runner(file)
    made = runner_module.Runner(made.directory, made.experiment, [r for r in made.runs if r.cell.signal], made.launcher)
    lacking, (record,) = make(made)
    assert lacking == 1
    assert record.why.startswith(f"p and s were together for only {words}")


def test_a_program_that_does_not_end_is_ended(write, runner, monkeypatch):
    monkeypatch.setattr("crosswind.tools.experiment.description.Program.timeout_s", 0.5)
    monkeypatch.setattr("crosswind.tools.experiment.processes.PATIENCE_S", 0.5)
    made = runner(write(SH.format("trap '' TERM; sleep 77 & wait; sleep 77"), of_probe=BARE, pairs=ALONE))
    lacking, (record,) = make(made)
    assert lacking == 1
    assert record.why == "p: did not end within 0 s"
    assert running("sleep\x0077") == []


def test_failures_in_a_row_end_the_experiment_and_are_made_again(write, runner):
    file = write(SH.format("exit 3"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 0")
    file.write_text(file.read_text().replace("repetitions = 1", "repetitions = 5"))
    made = runner(file)
    runs = [runner_module.Run(made.runs[0].cell, i) for i in range(5)]
    made = runner_module.Runner(made.directory, made.experiment, runs, made.launcher)
    with pytest.raises(CommandError, match="3 runs failed one after another, the last: p ended with exit code 3"):
        make(made)
    assert [r.key for r in read_records(made.directory)] == ["p--alone--0", "p--alone--1", "p--alone--2"]
    assert len(made.due()) == 5


def test_tries_are_counted_on_wherever_a_runner_was_killed(write, runner):
    made = runner(write(SH.format("exit 3"), of_probe=BARE, pairs=ALONE))
    make(made)
    folder = made.directory / "runs" / "p--alone--0"
    folder.rename(folder.with_name("p--alone--0.try1"))  # killed between this and the making of a new folder
    make(made)
    make(made)
    assert [(r.try_number, r.status) for r in read_records(made.directory)] == [(n, "failed") for n in (1, 2, 3)]
    assert len(list((made.directory / "runs").iterdir())) == 3


@contextmanager
def writing_beside(directory: Path) -> Iterator[None]:
    """Somebody else writes and flushes all the time."""
    stop = threading.Event()

    def write() -> None:
        data = os.urandom(MIB) * 8
        with (directory / "beside").open("wb") as file:
            while not stop.is_set():
                file.seek(0)
                file.write(data)
                os.fsync(file.fileno())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_run_that_others_disturb_is_discarded_three_times(write, runner, tmp_path):
    if not DiskWatch(tmp_path).name:
        pytest.skip(f"{tmp_path} is on no disk of this machine: set TMPDIR to a directory that is")
    made = runner(write(pairs=ALONE, settings="outside_pct = 10"))
    with writing_beside(tmp_path):
        lacking, records = make(made)
    assert lacking == 1
    assert [r.status for r in records] == ["discarded"] * 3
    assert [r.try_number for r in records] == [1, 2, 3]
    assert all(r.outside.outside_pct > 50 and r.outside.server_bytes > 8 * MIB for r in records)
    assert records[-1].why.startswith("others made ")
    folders = {path.name for path in (made.directory / "runs").iterdir()}
    assert folders == {"p--alone--0", "p--alone--0.try1", "p--alone--0.try2"}
    assert not (made.directory / "jobs.db").exists()


def test_a_run_that_others_disturb_once_is_made_again(write, runner, monkeypatch, tmp_path):
    said = iter([50.0, 5.0])

    class Scripted:
        def __init__(self, directory: Path) -> None:
            assert directory == tmp_path / "scratch"

        def beside(self, profiles) -> Outside:
            assert [p.job.id for p in profiles] == ["p--alone--0-probe"]
            return Outside(server_bytes=1 << 40, own_bytes=0, outside_pct=next(said), source="disk x")

    monkeypatch.setattr(runner_module, "DiskWatch", Scripted)
    made = runner(write(SH.format("sleep 1"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 10"))
    lacking, records = make(made)
    assert lacking == 0
    assert [(r.status, r.try_number) for r in records] == [("discarded", 1), ("done", 2)]
    assert records[0].why == "others made 50 % of the traffic (disk x)"
    assert made.due() == []


@pytest.mark.parametrize(("written", "status"), [(0, "done"), (50 * MIB, "discarded")])
def test_servers_that_agents_watch_tell_what_others_did(
    write, runner, monkeypatch, tmp_path, node_file, written, status
):
    length = 10**9
    spool = tmp_path / "agents"
    spool.mkdir()
    node_file(spool / "s1.xwn", time.time_ns() // length - 5, 60, length, written)
    os.utime(spool / "s1.xwn", (time.time() + 60,) * 2)  # as if the agent had just written
    made = runner(write(SH.format("sleep 1"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 10"))
    monkeypatch.setattr(made.launcher, "_agents", [spool])
    monkeypatch.setattr(made.launcher, "server_resource", lambda: "fs:net")
    _, records = make(made)
    assert {record.status for record in records} == {status}
    assert {record.outside.source for record in records} == {"servers s1"}
    if status == "discarded":
        assert records[0].why == "others made 100 % of the traffic (servers s1)"
    else:
        engine = open_jobs(made.directory)
        with reading(engine) as conn:
            (node,) = list_nodes(conn, serves="fs:net")
        engine.dispose()
        assert (node.name, node.first_ns <= records[0].begin_ns) == ("s1", True)


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "record.json").write_text('{"key": "x"')
    with pytest.raises(CommandError, match=r"runs/x/record\.json: is damaged .*remove .*x and jobs.db: "):
        read_records(tmp_path)


def test_a_record_is_written_whole(tmp_path):
    record = RunRecord(key="k", probe="p", repetition=0, status="done", begin_ns=1, end_ns=2, programs=[])
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]
    assert read_record(tmp_path / "none") is None


def running(mark: str) -> list[int]:
    """Processes with this in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in text:
                found.append(int(entry.name))
    return found


def test_what_is_not_of_a_run_stays(write, runner, tmp_path):
    made = runner(write(SH.format("true"), of_probe=BARE, pairs=ALONE))
    runs, elsewhere = made.directory / "runs", tmp_path / "elsewhere"
    for folder in (runs / "notes", elsewhere, runs / "p--alone--0", runs / "p--alone--1.try2"):
        folder.mkdir()
        (folder / "precious").touch()
    (runs / "p--alone--2").symlink_to(elsewhere)
    (runs / "list.txt").touch()
    made.clean_up()
    assert {path.name for path in runs.iterdir()} == {"notes", "p--alone--2", "list.txt"}
    assert (runs / "notes" / "precious").exists()
    assert (elsewhere / "precious").exists()


def test_what_a_killed_runner_made_elsewhere_is_removed(write, runner, tmp_path):
    """With another --scratch."""
    made = runner(write(SH.format("touch {scratch}/x"), of_probe=BARE, pairs=ALONE))
    folder = made.directory / "runs" / "p--alone--0"
    (folder / "probe").mkdir(parents=True)
    before = LocalLauncher(tmp_path / "elsewhere")
    before.start(made.experiment.programs["p"], folder, "probe", "1s").process.wait()
    assert (tmp_path / "elsewhere" / "p--alone--0-probe" / "x").exists()
    made.clean_up()
    assert not (tmp_path / "elsewhere").exists()
    assert list(folder.parent.iterdir()) == []


def test_waiting_for_the_batch_system_excuses_nobody(write, runner, monkeypatch):
    """A run lasts as long as its programs do: what others moved meanwhile is much or little for that time."""

    class Scripted:
        def __init__(self, directory: Path) -> None:
            pass

        def beside(self, profiles) -> Outside:
            return Outside(server_bytes=6 * MIB, own_bytes=0, outside_pct=50, source="disk x")

    monkeypatch.setattr(runner_module, "DiskWatch", Scripted)
    monkeypatch.setattr(runner_module, "MAX_TRIES", 1)
    made = runner(write(SH.format("sleep 1"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 10"))
    start = made.launcher.start

    def start_late(*arguments):
        time.sleep(3)
        return start(*arguments)

    monkeypatch.setattr(made.launcher, "start", start_late)
    _, (record,) = make(made)
    assert (record.end_ns - record.begin_ns) / 1e9 > 3 > 2 > record.of("probe").elapsed_s
    assert record.status == "discarded"


def test_what_others_move_while_agents_are_waited_for_does_not_count(write, runner, monkeypatch):
    looks = []
    monkeypatch.setattr(runner_module.DiskWatch, "beside", lambda self, profiles: looks.append("disk"))
    monkeypatch.setattr(runner_module, "seen_by_agents", lambda *_: looks.append("agents") or [])
    make(runner(write(SH.format("sleep 1"), of_probe=BARE, pairs=ALONE)))
    assert looks == ["disk", "agents"]


def test_a_run_in_which_the_machine_slept_is_made_again(write, runner, monkeypatch):
    slept = iter([0.0, 3600.0, 3600.0, 3600.0])
    monkeypatch.setattr(runner_module, "_slept_s", lambda: next(slept))
    made = runner(write(SH.format("true"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 0"))
    lacking, records = make(made)
    assert lacking == 0
    assert [(r.status, r.why) for r in records] == [("discarded", "the machine was asleep for 3600 s"), ("done", "")]


def test_it_is_said_where_nobody_knows_what_others_moved(write, runner, monkeypatch, capsys):
    monkeypatch.setattr(runner_module.DiskWatch, "beside", lambda self, profiles: None)
    made = runner(write(SH.format("sleep 1"), of_probe=BARE, pairs=ALONE, settings="outside_pct = 10"))
    lacking, _ = make(made)
    assert lacking == 0
    assert "done, what others moved is not known, in" in capsys.readouterr().err


def test_a_link_in_the_place_of_an_unfinished_file_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".report.md.new").symlink_to(tmp_path / "precious")
    write_whole(tmp_path / "report.md", "text")
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "report.md").read_text() == "text"
