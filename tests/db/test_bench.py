"""`make bench-db` on a hundredth of its month; the month is what loading every job would leave; queries use indexes."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event, select

from crosswind.db import load_profile, queries, reading, schema
from crosswind.db.lost_jobs import mark_lost, note_heard
from support.profiles import SLICE_NS

BENCH = Path(__file__).parents[2] / "tools" / "bench_db"
SCALE = 0.01  # 200 jobs
SMALL = 0.002  # 40 jobs


@pytest.fixture(scope="module")
def tools():
    """The modules of the benchmark, which is a program and no package."""
    sys.path.insert(0, str(BENCH))
    try:
        import fill
        import held
        import measure
        import site_month

        yield {"fill": fill, "held": held, "measure": measure, "site": site_month}
    finally:
        sys.path.remove(str(BENCH))
        for name in ("fill", "held", "measure", "site_month"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def site(tools):
    return tools["site"].make_site(SCALE)


def test_it_prints_json_lines_with_targets(tmp_path):
    command = [sys.executable, BENCH / "run.py", "--scale", "0.002", "--dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(line.keys() == {"name", "value", "unit", "target"} for line in lines)
    assert all(line["value"] > 0 and np.isfinite(line["value"]) for line in lines)
    targets = {line["target"] for line in lines}
    assert targets == {None, 50, 200, 400_000}
    rates = [line for line in lines if line["target"] == 400_000]
    assert [line["unit"] for line in rates] == ["process-slices/s"]
    assert re.search(r"\d+ targets missed", done.stderr)
    assert list(tmp_path.iterdir()) == [], "the database is removed"


def test_a_month_that_is_there_is_measured_and_left_as_it_was(tools, engine):
    """What is loaded meanwhile is gone afterwards, also what a killed run left; another month is refused."""
    site = tools["site"].make_site(SMALL)
    tools["fill"].fill(engine, site)
    before = everything(engine)
    load_profile(engine, replace(site.jobs[-1], number=site.jobs[-1].number + 20_000_000).profile())
    url = engine.url.render_as_string(hide_password=False)
    command = [sys.executable, BENCH / "run.py", "--db", url, "--scale", str(SMALL)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    names = [json.loads(line)["name"] for line in done.stdout.splitlines()]
    assert any("loading large jobs" in name for name in names)
    assert not any("filling" in name for name in names)
    assert everything(engine) == before
    for other in (SMALL / 2, 2 * SMALL):
        with pytest.raises(ValueError, match="the scale"):
            tools["held"].check_month(engine, tools["site"].make_site(other))


def everything(engine):
    """The rows of each table that holds anything of a job or of the background."""
    tables = (schema.job, *(schema.metadata.tables[name] for name in LARGE))
    with reading(engine) as conn:
        return {table.name: sorted(map(str, conn.execute(table.select()))) for table in tables}


def test_the_same_seed_is_the_same_month(tools, site):
    again = tools["site"].make_site(SCALE)
    assert [(j.number, j.first_slice, j.hosts, j.user) for j in again.jobs] == [
        (j.number, j.first_slice, j.hosts, j.user) for j in site.jobs
    ]
    other = tools["site"].make_site(SCALE, seed=2)
    assert [j.first_slice for j in other.jobs] != [j.first_slice for j in site.jobs]


def test_the_month_is_as_if_every_job_had_been_loaded(tools, engine):
    """Job by job what loading leaves, and the background of a day and of some nodes."""
    site = tools["site"].make_site(SMALL)
    tools["fill"].fill(engine, site)
    filled = contents(engine, site)
    with engine.begin() as conn:
        for table in reversed(schema.metadata.sorted_tables):
            conn.execute(table.delete())
    for job in site.jobs:
        load_profile(engine, job.profile())
    loaded = contents(engine, site)
    assert filled["jobs"] == loaded["jobs"]
    for key, values in loaded["background"].items():
        np.testing.assert_array_equal(filled["background"][key], values, err_msg=str(key))
    assert any(values.any() for values in loaded["background"].values())


def contents(engine, site):
    hosts = [site.jobs[i].hosts[-1] for i in range(0, len(site.jobs), 20)]
    names = ["fs:net", "net", *(f"{kind}@{host}" for host in hosts for kind in ("cpu", "mem", "fs:disk"))]
    with reading(engine) as conn:
        first = site.jobs[len(site.jobs) // 2].first_slice
        background = queries.get_background(conn, names, None, first - 20_000, 60_000, SLICE_NS)
        jobs = {}
        for row in queries.list_jobs(conn, limit=10_000)[0]:
            profile = queries.get_profile(conn, row.key)
            jobs[row.job_id] = (
                row.user, row.hosts, row.start_ns, row.end_ns, row.state, profile.processes, profile.clock,
                queries.resources_of_job(conn, row.key),
                {name: values.sum().item() for name, values in sorted(profile.slices.items())},
                {name: values.sum().item() for name, values in sorted(profile.totals.items())},
                {name: values.sum().item() for name, values in sorted(profile.functions.items())},
            )  # fmt: skip
    return {"jobs": jobs, "background": background}


@contextmanager
def statements(engine):
    """The statements that are sent inside and search for rows, with their parameters."""
    sent = []

    def note(_conn, _cursor, statement, parameters, _context, many):
        if statement.startswith(("SELECT", "UPDATE", "DELETE")) and "pg_" not in statement:
            sent.append((statement, parameters[0] if many else parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


LARGE = (
    "frame", "background", "total", "process", "function", "coverage", "segments", "job_resource", "summary", "access",
    "job_sums", "lost_time",
)  # fmt: skip


def test_neither_pages_nor_loading_read_a_whole_table(tools, site, engine):
    """Each statement is explained on the month: the large tables are searched by an index, and never scanned."""
    tools["fill"].fill(engine, site)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if engine.dialect.name == "postgresql":
            conn.exec_driver_sql("ANALYZE")
    day = site.jobs[0].first_slice
    ask = tools["measure"]
    with statements(engine) as sent, reading(engine) as conn:
        for job in site.jobs[:: len(site.jobs) // 5]:
            ask._job_page(
                conn, conn.execute(select(schema.job.c.key).where(schema.job.c.job_id == str(job.number))).scalar_one()
            )
        ask._job_list(conn, "-start")
        ask._overlapping(conn, day, 900)
        ask._overlapping(conn, day, 900, f"cpu@{site.jobs[0].hosts[0]}")
        queries.get_background(conn, ["fs:net", "net"], None, day, 21_600, SLICE_NS)
        queries.find_jobs(conn, str(site.jobs[0].number))
    with statements(engine) as loading:
        load_profile(engine, replace(site.jobs[7], number=1).profile())
    sent += loading
    assert len(sent) > 50
    with reading(engine) as conn:
        scans = {line for statement, parameters in sent for line in scans_of(conn, statement, parameters)}
    assert scans == set()


def test_the_search_for_lost_steps_reads_those_that_run_alone(tools, site, engine):
    """At every turn of every collector: 20 000 jobs that ended cost nothing."""
    tools["fill"].fill(engine, site)
    for number, job in enumerate(site.jobs[:3]):
        profile = replace(job, number=number).profile()
        load_profile(engine, replace(profile, processes=tuple(replace(p, state="running") for p in profile.processes)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("ANALYZE")
    now_ns = 2 * (site.jobs[-1].first_slice * SLICE_NS)
    with statements(engine) as sent:
        assert note_heard(engine, {("0", "of nobody", 0)}, now_ns, now_ns) == 0
        assert len(mark_lost(engine, 10**9, now_ns)) == 3
    searches = [one for one in sent if one[0].startswith("SELECT") and "FROM job" in one[0]]
    assert len(searches) == 3
    with reading(engine) as conn:
        for statement, parameters in searches:
            assert "ix_job_running" in plan_of(conn, statement, parameters)


def plan_of(conn, statement, parameters):
    """How a statement is answered, in the database's own words."""
    explain = "EXPLAIN QUERY PLAN" if conn.dialect.name == "sqlite" else "EXPLAIN"
    return "\n".join(str(row[-1]) for row in conn.exec_driver_sql(f"{explain} {statement}", parameters))


def scans_of(conn, statement, parameters):
    """Lines of a statement's plan that read the whole of a large table."""
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("SET LOCAL enable_seqscan = off")  # the tables are small here: is there an index at all?
    words = "SCAN" if conn.dialect.name == "sqlite" else r"Seq Scan on"
    plan = plan_of(conn, statement, parameters).splitlines()
    return [line for line in plan if re.search(rf"\b{words} ({'|'.join(LARGE)})\b", line)]
