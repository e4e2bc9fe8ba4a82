"""One look: what is loaded, what is put where, and that nothing is lost or doubled whatever happens in between."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from sqlalchemy import func, select, text

from crosswind.collector import SpoolError, collect_once, find_spools, load_profile_file
from crosswind.collector.claim import Claim
from crosswind.db import DatabaseError, Evaluation, queries, reading, schema
from crosswind.profile.errors import FormatError
from crosswind.profile.lifecycle import Machine
from crosswind.profile.store import write_profile
from support.profiles import make_lammps
from support.spools import CLEAN, FIRST_SLICE, RUNNING, SLICE_NS, START_NS, Short, SpoolBuilder

HOUR_AGO = time.time() - 3600


def names(directory):
    return sorted(p.name for p in directory.iterdir()) if directory.is_dir() else []


def cpu_seconds(engine, first=FIRST_SLICE):
    """Seconds of CPU time per job step by frames, and in the background of node01 in 50 slices."""
    with reading(engine) as conn:
        jobs, total = queries.list_jobs(conn, order="id", limit=1000)
        assert total == len(jobs)
        own = {
            f"{job.job_id}.{job.step}": int(queries.get_frames(conn, job.key)["cpu_time"].values.sum()) // 10**9
            for job in jobs
        }
        background = queries.get_background(conn, ["cpu@node01"], ["cpu_time"], first, 50, SLICE_NS)
    return own, int(background["cpu@node01", "cpu_time"].sum()) // 10**9


def test_finished_steps_are_loaded_and_put_away(engine, spool, write):
    write(pid=1)
    write(pid=2, n=5)
    write(pid=3, job_id="1002")
    report = collect_once([spool], engine)
    assert [(j.job_id, j.processes, j.slices, j.changed) for j in report.loaded] == [
        ("1001", 2, 5, True),
        ("1002", 1, 3, True),
    ]
    assert (report.running, report.refused, report.recovered) == ([], [], 0)
    assert cpu_seconds(engine) == ({"1001.0": 8, "1002.0": 3}, 11)
    assert find_spools(spool) == []
    assert len(names(spool / "done")) == 3
    assert names(spool / "claims") == []
    assert collect_once([spool], engine).loaded == []


def test_loaded_files_can_be_deleted(engine, spool, write):
    write()
    collect_once([spool], engine, delete=True)
    assert names(spool) == ["claims"]


def test_same_files_again_change_nothing(engine, spool, write):
    write()
    collect_once([spool], engine)
    before = cpu_seconds(engine)
    for path in (spool / "done").iterdir():
        path.rename(spool / path.name)
    report = collect_once([spool], engine)
    assert [j.changed for j in report.loaded] == [False]
    assert cpu_seconds(engine) == before


def test_step_over_the_directories_of_two_nodes_is_one_job(engine, tmp_path, write):
    for node in ("n1", "n2"):
        (tmp_path / node).mkdir()
        write(directory=tmp_path / node, host=node)
    report = collect_once([tmp_path / "n1", tmp_path / "n2", tmp_path / "n1"], engine)
    assert [(j.processes, j.slices) for j in report.loaded] == [(2, 3)]
    assert cpu_seconds(engine)[0] == {"1001.0": 6}


def test_estimate_is_stored_and_its_failure_is_a_note(engine, spool, write):
    def evaluate(profile):
        if profile.job.id == "1002":
            raise ValueError("too few segments")
        return Evaluation({"interference_pct": 4.0})

    write()
    write(job_id="1002")
    report = collect_once([spool], engine, evaluate=evaluate)
    assert report.notes == ["1002.0 has no estimate: too few segments"]
    with reading(engine) as conn:
        assert [j.estimate for j in queries.list_jobs(conn, order="id")[0]] == [{"interference_pct": 4.0}, None]


def test_progress_names_each_step(engine, spool, write):
    write()
    write(job_id="1002")
    calls = []
    collect_once([spool], engine, progress=lambda *call: calls.append(call))
    assert calls == [(0, 2, "1001.0"), (1, 2, "1002.0"), (2, 2, "")]


class TestRunning:
    """Steps of which a process still runs."""

    @pytest.fixture
    def write_own(self, write):
        """The file of a process of this machine: this very one runs, a pid that is free does not."""
        machine = Machine.this()
        if not machine.boot_id:
            pytest.skip("this machine has no boot id in /proc: whether a process runs cannot be told")
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])

        def make(alive, **fields):
            who = {"pid": os.getpid(), "start_ticks": started} if alive else {"pid": 1 << 22, "start_ticks": started}
            return write(**{"boot_id": machine.boot_id, "state": RUNNING, "end_ns": 0, **who, **fields})

        return make

    def test_is_left_alone(self, engine, spool, write, write_own):
        write(pid=2)
        write_own(alive=True)
        report = collect_once([spool], engine)
        assert (report.running, report.loaded) == (["1001.0"], [])
        assert len(find_spools(spool)) == 2

    def test_is_loaded_on_request_and_again_when_longer(self, engine, spool, write_own):
        first = time.time_ns() // SLICE_NS - 10
        for n in (3, 6):
            write_own(alive=True, n=n, first_slice=first)
            report = collect_once([spool], engine, include_running=True)
            assert [(j.slices >= n, j.changed) for j in report.loaded] == [(True, True)]
            assert cpu_seconds(engine, first) == ({"1001.0": n}, n)
            with reading(engine) as conn:
                assert queries.list_jobs(conn)[0][0].state == "running"
        assert len(find_spools(spool)) == 1

    def test_end_of_a_process_replaces_what_was_seen_of_it_running(self, engine, spool, write_own):
        first = time.time_ns() // SLICE_NS - 10
        path = write_own(alive=True, n=9, first_slice=first)
        collect_once([spool], engine, include_running=True)
        path.unlink()
        ended = {"state": CLEAN, "end_ns": (first + 4) * SLICE_NS - 1}
        write_own(alive=True, n=4, first_slice=first, **ended)
        collect_once([spool], engine)
        assert cpu_seconds(engine, first) == ({"1001.0": 4}, 4)
        with reading(engine) as conn:
            assert queries.list_jobs(conn)[0][0].state == "finished"

    def test_killed_process_of_this_machine_is_finished(self, engine, spool, write_own):
        write_own(alive=False)
        assert len(collect_once([spool], engine).loaded) == 1
        with reading(engine) as conn:
            assert queries.list_jobs(conn)[0][0].state == "killed"

    def test_process_of_another_machine_counts_as_dead_after_silence(self, engine, spool, write):
        path = write(state=RUNNING, end_ns=0)
        assert collect_once([spool], engine).running == ["1001.0"]
        os.utime(path, (HOUR_AGO, HOUR_AGO))
        assert [collect_once([spool], engine).loaded[0].changed for _ in range(2)] == [True, False]
        assert path.exists(), "it may only be stopped"
        os.utime(path, (HOUR_AGO - 8 * 86400,) * 2)
        assert len(collect_once([spool], engine).loaded) == 1
        assert not path.exists()

    def test_second_program_of_a_step_adds_to_the_first(self, engine, spool, write):
        write(pid=1)
        collect_once([spool], engine)
        write(pid=2, scale=2)
        collect_once([spool], engine)
        assert cpu_seconds(engine) == ({"1001.0": 9}, 9)


class TestShortProcesses:
    """The log in which the short processes of a step leave a record each."""

    @staticmethod
    def log(spool, name, n, job_id="1001"):
        builder = SpoolBuilder(job_id=job_id)
        shorts = [Short("sh", START_NS + i * 10**9, 5 * 10**8, {"cpu_time": 10**9}, {}) for i in range(n)]
        path = spool / name
        path.write_bytes(builder.build_short_log(shorts))
        return path

    def test_are_part_of_their_job(self, engine, spool, write):
        write()
        self.log(spool, "1001.0.u0.1.xwl", 4)
        report = collect_once([spool], engine)
        assert [(j.job_id, j.processes) for j in report.loaded] == [("1001", 2)]
        assert cpu_seconds(engine) == ({"1001.0": 7}, 7)
        assert len(names(spool / "done")) == 2
        with reading(engine) as conn:
            counts = {p.exe: p.count for p in queries.get_processes(conn, report.loaded[0].job_key)}
        assert counts == {"lmp": 1, "sh": 4}

    def test_later_state_of_a_log_replaces_the_earlier(self, engine, spool):
        for n in (2, 5, 3):
            self.log(spool, "1001.0.u0.1.xwl", n)
            collect_once([spool], engine)
        assert cpu_seconds(engine) == ({"1001.0": 5}, 5)

    def test_outside_any_job_are_put_away(self, engine, spool):
        self.log(spool, "nojob..u0.1.xwl", 4, job_id="")
        report = collect_once([spool], engine)
        assert (report.loaded, report.refused) == ([], [])
        assert names(spool / "done") == ["nojob..u0.1.xwl"]

    def test_log_that_grew_while_it_was_loaded_is_looked_at_again(self, engine, spool):
        path = self.log(spool, "1001.0.u0.1.xwl", 2)
        longer = self.log(spool, "longer", 3).read_bytes()

        def evaluate(_profile):
            (taken,) = (spool / "claims").glob("*/*.xwl")
            taken.write_bytes(longer)

        collect_once([spool], engine, evaluate=evaluate)
        assert cpu_seconds(engine) == ({"1001.0": 2}, 2)
        assert find_spools(spool) == [path]
        collect_once([spool], engine)
        assert cpu_seconds(engine) == ({"1001.0": 3}, 3)


class TestBadFiles:
    """One bad file never stops the rest."""

    def test_are_named_and_kept_apart(self, engine, spool, write, tmp_path):
        good = write()
        (spool / "a.0.1.1.xws").write_bytes(b"not a spool file at all" * 1000)
        cut = write(pid=7)
        os.truncate(cut, 3000)
        secret = tmp_path / "secret"
        secret.write_text("somebody's")
        (spool / "b.0.1.1.xws").symlink_to(secret)
        os.mkfifo(spool / "c.0.1.1.xws")
        (spool / "d.0.1.1.xws").mkdir()
        (spool / "notes.txt").write_text("no spool file")
        report = collect_once([spool], engine)
        assert [j.job_id for j in report.loaded] == ["1001"]
        refused = dict(report.refused)
        bad = ["a.0.1.1.xws", "b.0.1.1.xws", "c.0.1.1.xws", "d.0.1.1.xws", cut.name]
        assert sorted(Path(p).name for p in refused) == sorted(bad)
        assert {Path(p).parent for p in refused} == {spool}
        assert "symbolic link" in refused[str(spool / "b.0.1.1.xws")]
        assert all("\n" not in reason and "claims" not in reason for reason in refused.values())
        assert names(spool / "refused") == sorted(bad)
        assert names(spool / "done") == [good.name]
        assert names(spool) == ["claims", "done", "notes.txt", "refused"]
        assert secret.read_text() == "somebody's"
        assert collect_once([spool], engine).refused == []

    def test_that_was_never_finished_is_removed_when_it_is_old(self, engine, spool):
        old, young, other = spool / ".making.1.2", spool / ".making.3.4", spool / ".hidden"
        for path in (old, young, other):
            path.write_bytes(b"x")
        os.utime(old, (time.time() - 3600,) * 2)
        os.utime(other, (time.time() - 3600,) * 2)
        assert collect_once([spool], engine).refused == []
        assert [p.exists() for p in (old, young, other)] == [False, True, True]

    def test_that_claims_another_user_is_its_owners(self, engine, spool, write):
        write(uid=os.geteuid() + 1)
        (job,) = collect_once([spool], engine).loaded
        with engine.connect() as conn:
            assert queries.get_job(conn, job.job_key).uid == os.geteuid()

    def test_profile_that_no_job_can_have(self, engine, spool, write):
        late = (time.time_ns() // SLICE_NS + 10**6) * SLICE_NS
        write(slices=(), start_ns=late, end_ns=late + SLICE_NS)
        write(job_id="1002")
        report = collect_once([spool], engine)
        assert [j.job_id for j in report.loaded] == ["1002"]
        assert "in the future" in report.refused[0][1]
        assert len(names(spool / "refused")) == 1

    def test_files_just_being_made_are_left_alone(self, engine, spool):
        fresh, old = spool / "1.0.1.1.xws", spool / "1.0.2.1.xws"
        for path in (fresh, old):
            path.write_bytes(bytes(8192))
        os.utime(old, (HOUR_AGO, HOUR_AGO))
        report = collect_once([spool], engine)
        assert [Path(p).name for p, _ in report.refused] == [old.name]
        assert (fresh.exists(), find_spools(spool)) == (True, [])

    def test_planted_folder_is_not_used(self, engine, spool, write, tmp_path):
        write()
        (tmp_path / "trap").mkdir()
        (spool / "claims").symlink_to(tmp_path / "trap")
        with pytest.raises(SpoolError, match="not the collector's own folder"):
            collect_once([spool], engine)
        assert names(tmp_path / "trap") == []

    def test_files_of_others_that_may_not_be_taken(self, write):
        """An ordinary user's collector in a sticky directory: one line that says so, and nothing has moved."""
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")
        with TemporaryDirectory(dir="/tmp") as folder:
            spool = Path(folder)
            spool.chmod(0o1777)
            path = write(directory=spool)
            path.chmod(0o644)
            program = (
                "import os, sys\nfrom crosswind.collector import SpoolError, collect_once\nos.setuid(65534)\n"
                "try:\n    collect_once([sys.argv[1]], None)\nexcept SpoolError as error:\n    print(error)"
            )
            done = subprocess.run([sys.executable, "-c", program, spool], capture_output=True, text=True, check=True)
            assert "run the collector as root or as the owner of the files" in done.stdout
            assert find_spools(spool) == [path]

    def test_missing_directory(self, engine, tmp_path):
        with pytest.raises(SpoolError, match=r"cannot read the spool directory .*nowhere: No such file"):
            collect_once([tmp_path / "nowhere"], engine)


class TestCrashes:
    """The collector dies, the database fails: the files are there, the next look completes."""

    def test_database_failure_gives_the_files_back(self, engine, spool, write):
        write()
        with engine.begin() as conn:
            conn.execute(text("ALTER TABLE frame RENAME TO hidden"))
        with pytest.raises(DatabaseError, match="frame"):
            collect_once([spool], engine)
        with engine.begin() as conn:
            conn.execute(text("ALTER TABLE hidden RENAME TO frame"))
        assert len(find_spools(spool)) == 1
        assert len(collect_once([spool], engine).loaded) == 1
        assert cpu_seconds(engine) == ({"1001.0": 3}, 3)

    def test_claims_of_the_living_are_respected(self, engine, spool, write):
        path = write()
        with Claim.in_directory(spool) as claim:
            taken = claim.take(path)
            report = collect_once([spool], engine)
            assert (report.loaded, report.recovered) == ([], 0)
            assert taken.exists()
        assert collect_once([spool], engine).loaded != []

    def test_killed_at_any_moment_nothing_is_lost_or_doubled(self, engine, url, spool, write):
        """kill -9 a collector at moments spread over its work, start another, until all is loaded."""
        jobs = 40
        for i in range(jobs):
            write(job_id=f"{i:02}", pid=1)
            write(job_id=f"{i:02}", pid=2, scale=2)
        program = (
            "import sys; from crosswind.collector import collect_once; from crosswind.db import open_database\n"
            "engine = open_database(sys.argv[1]); print('ready', flush=True); collect_once([sys.argv[2]], engine)"
        )
        kills = 0
        for delay in np.linspace(0.02, 0.5, 12):
            with subprocess.Popen([sys.executable, "-c", program, url, spool], stdout=subprocess.PIPE) as child:
                assert child.stdout.readline() == b"ready\n"
                time.sleep(delay)
                child.kill()
                kills += child.wait() == -9
            own, background = cpu_seconds(engine)
            assert sum(own.values()) == background
            assert set(own.values()) <= {9}
        assert kills > 3
        report = collect_once([spool], engine)
        assert report.refused == []
        assert cpu_seconds(engine) == ({f"{i:02}.0": 9 for i in range(jobs)}, 9 * jobs)
        assert len(names(spool / "done")) == 2 * jobs
        assert names(spool / "claims") == []


def test_collectors_at_the_same_time_share_the_work(engine, spool, write):
    for i in range(30):
        write(job_id=f"{i:02}", pid=1)
        write(job_id=f"{i:02}", pid=2)
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: collect_once([spool], engine), range(4)))
    assert [r.refused for r in reports] == [[]] * 4
    collect_once([spool], engine)  # what one gave up because another had taken a part
    assert cpu_seconds(engine) == ({f"{i:02}.0": 6 for i in range(30)}, 180)
    with engine.connect() as conn:
        assert conn.execute(select(func.count()).select_from(schema.process)).scalar_one() == 60
    assert len(names(spool / "done")) == 60


def test_profile_files_are_loaded_too(engine, tmp_path):
    path = tmp_path / "lammps.xwp"
    write_profile(make_lammps(), path)
    first = load_profile_file(path, engine, evaluate=lambda profile: Evaluation({"interference_pct": 1.0}))
    again = load_profile_file(path, engine, evaluate=lambda profile: Evaluation({"interference_pct": 1.0}))
    assert (first.loaded, again.loaded, first.slices) == (True, False, 15)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"lammps\.xwp"):
        load_profile_file(path, engine)


def test_start_of_the_files_is_the_start_of_the_job(engine, spool, write):
    write(n=4)
    key = collect_once([spool], engine).loaded[0].job_key
    with reading(engine) as conn:
        job = queries.get_job(conn, key)
    assert (job.start_ns, job.end_ns) == (START_NS, START_NS + 4 * SLICE_NS - 1_000_000)
    assert (job.first_slice, job.n_slices) == (FIRST_SLICE, 4)
    assert (job.uid, job.hosts, job.command) == (os.geteuid(), ("node01",), "lmp")
