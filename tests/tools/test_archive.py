"""`crosswind export --what all`: every number by day, unchanged days left alone, the page's queries run for real."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from crosswind.db import BatchJob, Evaluation, load_profile, open_database, queries, reading
from crosswind.db.batch import store_batch_jobs
from crosswind.db.evaluation import LostTime, Stretches
from crosswind.db.events import Event, store_events
from crosswind.db.nodes import NodeSlices, load_node_slices, prune_node_frames
from crosswind.db.retention import prune_detail
from crosswind.profile.model import Column
from crosswind.tools import archive_tables
from crosswind.tools.archive import export_everything
from support.profiles import SLICE_NS, make_lammps, make_profile, make_writer

PAGE = (Path(__file__).parents[2] / "docs" / "analysis-at-scale.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DAY_NS = 86400 * 10**9
MIDNIGHT = 1_760_054_400 * 10**9 // SLICE_NS  # 2025-10-10 00:00 UTC
FAR = 1 << 62
NET = {"posix_net_write_bytes": 1e6, "posix_net_write_calls": 10, "cpu_time": 1e9, "rss": 1000}


BATCH = BatchJob(
    "1002", "COMPLETED", 1001, run=0, user="bob", account="chem", partition="batch", name="writer", hosts=("node01",),
    submit_ns=MIDNIGHT * SLICE_NS - 90 * 10**9, start_ns=MIDNIGHT * SLICE_NS - 30 * 10**9, cpus=4,
)  # fmt: skip


def node_slices(first, n):
    """Two of the processors busy, in n slices; one of them without a value."""
    column = Column(5000, "cpu_user", "ns", "counter")
    rows = {first + j: {("cpu_user", ""): 2 * SLICE_NS} for j in range(n) if j != 1}
    return NodeSlices("node01", "", SLICE_NS, {"cpu_user": column}, rows)


def lost_time(profile):
    empty = np.zeros(0, dtype=np.int64)
    per_slice = np.zeros(profile.n_slices, dtype=np.int64)
    per_slice[3] = 5 * 10**8
    return LostTime(profile.first_slice, per_slice, Stretches(*[empty] * 5), 0)


@pytest.fixture(scope="module")
def profiles():
    """Before, across and after a midnight; one on a network file system; one with a killed rank and short slices."""
    return [
        make_lammps(n_segments=20),
        make_writer(first_slice=MIDNIGHT - 7),
        make_profile(
            job_id="3", user="carol", first_slice=MIDNIGHT - 2, n_slices=9, rates=NET, functions={}, jitter=0.2
        ),
        make_profile(job_id="4", n_ranks=3, killed_rank=1, first_slice=2 * MIDNIGHT + 99, slice_ns=SLICE_NS // 2),
    ]


@pytest.fixture
def engine(profiles, tmp_path):
    opened = open_database(f"sqlite:///{tmp_path}/c.db")
    for profile in profiles:
        found = Evaluation({"interference_pct": 2.5, "class": "low"}, lost_time(profile))
        load_profile(opened, profile, evaluation=found)
    store_events(opened, [Event("", "reboot", "node01", MIDNIGHT * SLICE_NS + 5, None, "agent", "power")])
    store_batch_jobs(opened, [BATCH])
    load_node_slices(opened, node_slices(MIDNIGHT - 3, 5))
    yield opened
    opened.dispose()


@pytest.fixture
def archive(engine, tmp_path):
    list(export_everything(engine, tmp_path / "out"))
    return tmp_path / "out"


def table(folder, name):
    return ds.dataset(folder / name, format="parquet", partitioning="hive").to_table().to_pandas()


def test_every_value_of_every_slice_is_there(engine, archive, profiles, monkeypatch):
    check_slices(archive, engine, profiles)


def test_days_of_jobs_that_are_too_large_for_memory(engine, tmp_path, profiles, monkeypatch):
    monkeypatch.setattr(archive_tables, "_IN_MEMORY", 300)
    monkeypatch.setattr(archive_tables, "ROWS", 4)
    list(export_everything(engine, tmp_path / "out"))
    check_slices(tmp_path / "out", engine, profiles)


def check_slices(folder, engine, profiles):
    found = table(folder, "slices")
    assert len(found) == sum(int((p.covered_ns > 0).sum()) for p in profiles)
    with reading(engine) as conn:
        keys = {job.job_id: job.key for job in queries.list_jobs(conn)[0]}
    for profile in profiles:
        rows = found[found.job_key == keys[profile.job.id]].sort_values(["start", "process"])
        slices, processes = np.nonzero(profile.covered_ns.T)
        at = (profile.first_slice + slices) * profile.slice_ns
        np.testing.assert_array_equal([t.value for t in rows.start], at)
        np.testing.assert_array_equal(rows.process, processes)
        np.testing.assert_array_equal(rows.covered_ns, profile.covered_ns[processes, slices])
        assert list(rows.host) == [profile.processes[i].host for i in processes]
        for name, values in profile.slices.items():
            np.testing.assert_array_equal(rows[name], values[processes, slices], err_msg=name)
        assert not rows["mpi_file_read_bytes"].any() if "mpi_file_read_bytes" in rows else True
        days = {datetime.fromtimestamp(t // 10**9, UTC).date().isoformat() for t in at.tolist()}
        assert {str(day)[:10] for day in rows.day} == days


def test_background_jobs_processes_lost_time_events(engine, archive, profiles):
    background = table(archive, "background")
    with reading(engine) as conn:
        whole = queries.get_background(conn, ["net", "fs:net", "cpu@node01"], None, MIDNIGHT - 30_000, 60_000, SLICE_NS)
    for (resource, metric), values in whole.items():
        rows = background[(background.resource == resource) & (background.metric == metric)]
        assert rows["value"].sum() == values.sum(), (resource, metric)
    jobs = table(archive, "jobs").sort_values("job_key")
    assert list(jobs.job_id) == [p.job.id for p in profiles]
    assert list(jobs.interference_pct) == [2.5] * 4
    assert [list(h) for h in jobs.hosts] == [list(p.job.hosts) for p in profiles]
    assert jobs.start.iloc[0].value == profiles[0].job.start_ns
    assert set(jobs.detail) == {True}
    processes = table(archive, "processes")
    assert len(processes) == sum(len(p.processes) for p in profiles)
    assert list(processes[processes.state == "killed"]["rank"]) == [1]
    lost = table(archive, "lost_time")
    assert sorted(lost.lost_ns) == [5 * 10**8] * 4
    assert sorted(t.value for t in lost.start) == sorted((p.first_slice + 3) * p.slice_ns for p in profiles)
    events = table(archive, "events")
    assert (list(events.kind), events.end.isna().all(), str(events.day[0])[:10]) == (["reboot"], True, "2025-10-10")


def test_totals_functions_access_segments_batch_jobs_nodes(archive, profiles):
    """Each value is there once, and none that was not."""
    totals, functions, access = (table(archive, name) for name in ("totals", "functions", "access"))
    for key, profile in enumerate(profiles, 1):
        of_job = totals[totals.job_key == key]
        for name, values in profile.totals.items():
            rows = of_job[of_job.metric == name]
            np.testing.assert_array_equal(values[rows.process], rows.value, err_msg=name)
            assert rows.value.sum() == values.sum()
        called = functions[functions.job_key == key]
        for name, values in profile.functions.items():
            rows = called[called.function == name]
            found = rows[["calls", "bytes_out", "bytes_in", "time_ns"]].to_numpy()
            np.testing.assert_array_equal(values[rows.process], found, err_msg=name)
            assert found.sum() == values.sum()
        used = access[access.job_key == key]
        for name, values in profile.access.items():
            rows = used[used.pattern == name]
            np.testing.assert_array_equal(values[rows.process, rows.number], rows.value, err_msg=name)
            assert rows.value.sum() == values.sum()
    segments = table(archive, "segments")
    kept = profiles[0].segments
    assert set(segments.job_key) == {key for key, p in enumerate(profiles, 1) if p.segments is not None}
    first = segments[segments.job_key == 1]
    assert len(first) == kept.valid.sum()
    for name in ("dur_us", "comp_us", "instructions"):
        columns = kept.columns[name]
        np.testing.assert_allclose(columns[first["rank"], first.segment], first[name], rtol=1e-12)
    (job,) = table(archive, "batch_jobs").itertuples()
    assert (job.user, job.account, job.partition, list(job.hosts)) == ("bob", "chem", "batch", ["node01"])
    assert (job.start.value, str(job.day)[:10]) == (BATCH.start_ns, "2025-10-09")
    nodes = table(archive, "nodes")
    assert sorted(t.value // SLICE_NS - MIDNIGHT for t in nodes.start) == [-3, -1, 0, 1]
    assert {str(day)[:10] for day in nodes.day} == {"2025-10-09", "2025-10-10"}


def test_what_agents_saw_outlives_its_pruning_and_new_values_are_written(engine, archive):
    before = len(table(archive, "nodes"))
    list(prune_node_frames(engine, (MIDNIGHT + 3 * 2048) * SLICE_NS))
    reports = list(export_everything(engine, archive))
    assert "let go" in " ".join(report.note for report in reports)
    assert len(table(archive, "nodes")) == before
    load_node_slices(engine, node_slices(MIDNIGHT + 3 * DAY_NS // SLICE_NS, 2))
    list(export_everything(engine, archive))
    assert len(table(archive, "nodes")) == before + 1


def test_an_archive_of_fewer_tables_is_completed(engine, archive):
    record = archive / "_days" / "2025-10-09.json"
    done = json.loads(record.read_text())
    del done["rows"]["nodes"], done["node_blocks"]
    record.write_text(json.dumps(done))
    assert [report.written for report in export_everything(engine, archive) if str(report.day) == "2025-10-09"] == [
        True
    ]


def test_only_days_that_changed_are_written_again(engine, archive):
    def export():
        return {str(r.day): r.written for r in export_everything(engine, archive)}

    assert export() == {"2025-10-09": False, "2025-10-10": False}
    load_profile(engine, make_profile(job_id="5", first_slice=MIDNIGHT + 100))
    assert export() == {"2025-10-09": False, "2025-10-10": True}
    store_events(engine, [Event("", "other", "", MIDNIGHT * SLICE_NS - 5)])
    assert export() == {"2025-10-09": True, "2025-10-10": False}


def test_an_interrupted_export_goes_on(engine, archive, tmp_path):
    """What was being written when it died is written again; nothing half is ever seen."""
    before = table(archive, "slices")
    (archive / "_days" / "2025-10-10.json").write_text('{"format": 1, "finger')
    (archive / "slices" / "day=2025-10-10" / ".data.parquet.1.part").write_bytes(b"PAR1 half")
    (archive / "slices" / "day=2025-10-09" / "data.parquet").touch()
    assert [r.written for r in export_everything(engine, archive)] == [False, True]
    assert table(archive, "slices").equals(before)


def test_what_was_exported_outlives_the_detail(engine, archive):
    before = table(archive, "slices")
    list(prune_detail(engine, FAR))
    assert not any(r.written for r in export_everything(engine, archive))
    load_profile(engine, make_profile(job_id="5", first_slice=MIDNIGHT + 100))
    (report,) = [r for r in export_everything(engine, archive) if r.day == date(2025, 10, 10)]
    assert (report.day, report.written) == (date(2025, 10, 10), False)
    assert "let go" in report.note
    assert table(archive, "slices").equals(before)


def test_pruned_jobs_are_exported_without_slices(engine, tmp_path):
    list(prune_detail(engine, FAR))
    list(export_everything(engine, tmp_path / "late"))
    assert len(table(tmp_path / "late", "slices")) == 0
    assert set(table(tmp_path / "late", "jobs").detail) == {False}


@pytest.mark.parametrize("column", [{"name": "start"}, {"name": "rank"}, {"unit": "furlong"}, {"id": 9_000}])
def test_a_column_of_a_user_s_file_is_no_column_of_the_archive(engine, archive, tmp_path, column):
    """A file may name a metric as a column of the table is named, or give a known one another meaning."""
    hostile = make_profile(job_id="666", first_slice=MIDNIGHT - 7)
    old = next(c for c in hostile.columns if c.name == "cpu_time")
    new = replace(old, **column)
    hostile = replace(
        hostile,
        columns=tuple(new if c is old else c for c in hostile.columns),
        slices={new.name if name == old.name else name: values for name, values in hostile.slices.items()},
        totals={new.name if name == old.name else name: values for name, values in hostile.totals.items()},
    )
    key = load_profile(engine, hostile).job_key
    list(export_everything(engine, tmp_path / "hostile"))
    found = table(tmp_path / "hostile", "slices")
    assert list(found.columns) == list(table(archive, "slices").columns)
    assert len(found[found.job_key == key]) > 0
    assert not found[found.job_key == key].cpu_time.any()
    assert found[found.job_key != key].reset_index(drop=True).equals(table(archive, "slices").reset_index(drop=True))


def test_days_without_anything_are_no_days(engine, tmp_path):
    """One job with a clock of long ago does not make a folder of every day since."""
    load_profile(engine, make_profile(job_id="6", first_slice=MIDNIGHT - 365 * DAY_NS // SLICE_NS))
    days = [str(report.day) for report in export_everything(engine, tmp_path / "out")]
    assert days == ["2024-10-10", "2025-10-09", "2025-10-10"]


def test_days_can_be_chosen(crosswind, engine, tmp_path):
    url = str(engine.url)
    result = crosswind(
        "export", "--what", "all", "--format", "parquet", "-o", "x", "--db", url, "--since", "2025-10-10"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("2025-10-10: ")
    assert [p.name for p in (tmp_path / "x" / "jobs").iterdir()] == ["day=2025-10-10"]
    for wrong in (["--what", "all"], ["3", "--what", "all", "--format", "parquet", "-o", "x", "--db", url], []):
        assert crosswind("export", *wrong).returncode == 2


def test_files_of_a_day_have_types_and_row_groups(archive):
    file = pq.ParquetFile(archive / "slices" / "day=2025-10-09" / "data.parquet")
    assert str(file.schema_arrow.field("start").type) == "timestamp[ns]"
    assert file.metadata.num_row_groups == 1, "small jobs are gathered"
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_queries_of_the_page_in_duckdb(archive, monkeypatch, number):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (pip install duckdb)")
    monkeypatch.chdir(archive)
    found = duckdb.sql(QUERIES[number]).fetchall()
    assert found == ANSWERS[number], QUERIES[number]


ANSWERS = [
    [("alice", 2, 1.0), ("bob", 1, 0.5), ("carol", 1, 0.5)],
    [],
    [],
    [("reboot", "node01", "power", 3)],
    [("node01", 1)],
    *[[]] * 6,
]


def detail_answers(profiles):
    """Of the queries of totals, functions, access, segments, batch jobs and nodes, in the page's order."""
    written, functions, access = Counter(), {}, Counter()
    for p in profiles:
        at_end = p.totals.get("posix_disk_write_bytes", np.zeros(1, dtype=np.int64))
        if at_end.any():
            written[p.job.command] += int(at_end.sum())
        for name, values in p.functions.items():
            calls, _, _, time_ns = values.sum(axis=0).tolist()
            before = functions.get(name, (0, 0))
            functions[name] = (before[0] + calls, before[1] + time_ns)
        for name, values in p.access.items():
            access[name] += int(values.sum())
    segments = [
        (
            key,
            int(p.segments.stride[p.segments.valid[0]].sum()),
            float(np.nansum(p.segments.columns["dur_us"][0]) / 1e6),
        )
        for key, p in enumerate(profiles, 1)
        if p.segments is not None
    ]
    yield sorted(written.items(), key=lambda item: (-item[1], item[0]))
    ordered = sorted(functions.items(), key=lambda item: (-item[1][1], item[0]))
    yield [(name, calls, time_ns / 1e9) for name, (calls, time_ns) in ordered if calls]
    yield sorted((name, times) for name, times in access.items() if times)
    yield [(key, n, pytest.approx(seconds)) for key, n, seconds in segments]
    yield [("batch", 1, 60.0)]
    yield [("node01", 2.0)]


@pytest.fixture(autouse=True, scope="module")
def answers(profiles):
    """What the queries must find, from the profiles themselves."""
    net = profiles[2].slices["posix_net_write_bytes"].sum(axis=0)
    nine, ten = (datetime(2025, 10, day) for day in (9, 10))
    ANSWERS[1] = [
        (nine.date(), nine.replace(hour=23), int(net[:2].sum())),
        (ten.date(), ten, int(net[2:].sum())),
    ]
    written: dict[str, list[float]] = {}
    for p in profiles:
        row = written.setdefault(p.job.command, [0, 0])
        row[0] += int(p.slices["posix_disk_write_bytes"].sum()) if "posix_disk_write_bytes" in p.slices else 0
        row[1] += int(p.covered_ns.sum())
    ordered = sorted(written.items(), key=lambda item: -item[1][0])
    ANSWERS[2] = [(command, total, covered / 3.6e12) for command, (total, covered) in ordered]
    ANSWERS[5:] = detail_answers(profiles)


def test_the_page_has_a_query_of_each_table():
    text = "\n".join(QUERIES)
    assert len(QUERIES) == len(ANSWERS)
    assert all(f"'{name}/" in text for name in archive_tables.TABLES)


def test_programs_of_the_page_on_a_dask_cluster(archive, tmp_path, profiles):
    """In a process of its own: two worker processes, and none of the test's settings."""
    pytest.importorskip("distributed", reason="dask is not installed (pip install 'dask[dataframe,distributed]')")
    program = tmp_path / "on_dask.py"
    program.write_text(DASK.replace("PROGRAMS", repr(PROGRAMS)))
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false"}
    done = subprocess.run(
        [sys.executable, program], cwd=archive, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["workers"] == 2
    assert found["written"] == {command: total for command, total, _ in ANSWERS[2]}
    net = int(profiles[2].slices["posix_net_write_bytes"].sum())
    hours = {k: v for k, v in found["per_hour"].items() if k.endswith(" posix_net_write_bytes") and v}
    assert (len(hours), sum(hours.values())) == (2, net)
    assert found["lost"] == {"1": 0.5, "2": 0.5, "3": 0.5, "4": 0.5}


DASK = """
import json

from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            names = {}
            for program in PROGRAMS:
                exec(program, names)
            print(json.dumps({
                "workers": len(client.scheduler_info()["workers"]),
                "written": {k: int(v) for k, v in names["written"].items()},
                "per_hour": {f"{h} {m}": int(v) for (h, m), v in names["per_hour"].items()},
                "lost": {str(k): float(v) for k, v in names["lost"].items()},
            }))
"""
