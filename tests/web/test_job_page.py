"""The page of a job: what each tab says, from numbers that are known, and what it says where there is little."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from crosswind.db import BatchJob, load_profile, open_database, queries, schema
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.db.connection import writing
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app, jobdata
from crosswind.web.pages import compare
from crosswind.web.pages.job import clusters, heat
from crosswind.web.pages.job.arguments import TABS
from support.html import tags
from support.profiles import FIRST_SLICE, SLICE_NS, make_lammps
from support.sites import SLOW, Jobs

FIRST_MS = FIRST_SLICE * SLICE_NS // 1_000_000


def test_job_page_starts_with_the_verdict(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
    sentence = re.search(r'<p class="sentence">([^<]*)</p>', text)[1]
    assert re.fullmatch(r"Lost about [\d.]+ % \([\d.]+ s\) to interference in \d+ of 3000 segments; .*\.", sentence)
    assert text.index(sentence) < text.index('class="footprint"') < text.index('id="stack"')


def test_job_page_tables_hold_the_planted_numbers(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}?tab=functions").text.replace("\N{NARROW NO-BREAK SPACE}", "")
    calls = round(12_000 * (60 - 12 * 0.4)) * 2
    assert re.search(rf'<code>MPI_Send</code></th><td class="number">{calls}</td>', text)
    assert "node01" in text
    quality = client.get(f"/jobs/{jobs.lammps}?tab=quality").text
    assert "100 % of the slices" in quality
    assert "Nothing: every slice" in quality


def test_job_without_segments_says_why_there_is_no_verdict(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.writer}").text
    assert "cannot be told. The run has no segments" in text
    assert "between global collectives" not in text
    assert "no MPI" in text


def test_killed_process_is_marked(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.killed}?tab=processes").text
    assert "1 killed" in text
    assert text.count('<tr class="killed">') == 1
    assert "up to its last complete slice" in text


def test_short_job_is_explained(client: FlaskClient, jobs: Jobs) -> None:
    figure = client.get(f"/jobs/{jobs.short}/figure.json").json
    assert any("too few to see a course" in note for note in figure["notes"])
    assert any("No other profiled job used a resource of this job" in note for note in figure["notes"])


def test_how_files_are_used(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}?tab=io").text
    section = text[text.index('id="access-title"') :].partition("</section>")[0]
    (write,) = re.findall(r'<tr><th scope="row">local disks</th>(.*?)</tr>', section, re.DOTALL)
    cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", write, re.DOTALL)]
    assert cells[:3] == ["4 own", "write", "aggregate-write"]
    assert (cells[4], cells[6]) == ("202", "64 to 128 KiB")
    assert "30 shared, read only" in section
    bars = [a for tag, a in tags(section) if tag == "rect" and a["class"] == "bar-next"]
    assert [float(bar["width"]) for bar in bars] == [95.0]


def test_where_the_time_went(client: FlaskClient, jobs: Jobs, lammps_split: dict[str, float]) -> None:
    text = client.get(f"/jobs/{jobs.lammps}?tab=functions").text
    section = text[text.index('id="time-title"') :].partition("</section>")[0]
    shares = {
        name: float(share)
        for name, share in re.findall(r'key-(\w+)" aria-hidden="true"></span>.*?<b>([\d.]+) %', section)
    }
    total = sum(lammps_split.values())
    assert shares == {n: pytest.approx(100 * s / total, abs=0.051) for n, s in lammps_split.items() if s}
    assert {"mpi_p2p", "io_disk", "computation"} <= shares.keys()
    bars = [a for tag, a in tags(section) if tag == "rect"]
    assert [bar["class"] for bar in bars] == [f"bar-{name}" for name in shares]
    assert sum(float(bar["width"]) for bar in bars) == pytest.approx(100, abs=0.1)


def test_threads_at_work_are_a_plot(client: FlaskClient, jobs: Jobs) -> None:
    figure = client.get(f"/jobs/{jobs.lammps}/figure.json?plots=all").json
    (plot,) = [plot for plot in figure["plots"] if plot["name"] == "threads"]
    (trace,) = [t for t in figure["data"] if t["meta"]["series"] == "threads_busy" and t["meta"]["part"] == "line"]
    assert plot["title"] == "Threads at work"
    assert 1.9 < max(v for v in trace["y"] if v is not None) <= 2.1  # two ranks of one thread each


def test_a_job_says_what_the_batch_system_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/c.db"
    engine = open_database(url)
    job = make_lammps(job_id="7", step="0-r1").job
    key = load_profile(engine, make_lammps(job_id="7", step="0-r1")).job_key
    alone = load_profile(engine, make_lammps(job_id="8")).job_key
    known = {"run": 1, "start_ns": job.start_ns, "end_ns": job.end_ns, "exit_code": 3}
    store_batch_jobs(engine, [BatchJob("7", "TIMEOUT", job.uid, **known)])
    link_steps(engine)
    engine.dispose()
    pages = create_app(url).test_client()
    text = pages.get(f"/jobs/{key}").text
    assert "<dd>TIMEOUT" in text
    assert "run 2" in text
    assert "exit code 3" in text
    assert "Batch system" not in pages.get(f"/jobs/{alone}").text


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_of_every_job_is_a_page(client: FlaskClient, jobs: Jobs, tab: str) -> None:
    for key in (jobs.lammps, jobs.writer, jobs.killed, jobs.short, *jobs.hostile):
        answer = client.get(f"/jobs/{key}?tab={tab}")
        assert answer.status_code == 200
        assert f'aria-current="page">{TABS[tab].replace("/", "/")}</a>' in answer.text
        assert answer.text.index('class="sentence"') < answer.text.index('class="tabs"')


@pytest.mark.parametrize(
    "query", ["tab=evil", "from=-1", "from=x", "to=1e9", "process=-1", "metric=x", "n_rows=0", "a=1"]
)
def test_impossible_states_are_refused(client: FlaskClient, jobs: Jobs, query: str) -> None:
    assert client.get(f"/jobs/{jobs.lammps}?{query}").status_code == 400


def test_tabs_keep_the_zoom(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}?tab=io&from={FIRST_MS}&to={FIRST_MS + 8000}").text
    links = [a["href"] for tag, a in tags(text) if tag == "a" and "data-keep-zoom" in a]
    assert f"/jobs/{jobs.lammps}?from={FIRST_MS}&to={FIRST_MS + 8000}" in links
    assert f"/jobs/{jobs.lammps}?tab=segments&from={FIRST_MS}&to={FIRST_MS + 8000}" in links


def test_footprint_holds_the_planted_shares(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
    found = dict(re.findall(r'data-bar="(\w+)".*?class="bar-value">([^<]*)<', text, re.DOTALL))
    # 30 + 60 + 40 ms of each second in MPI, less the dent of 12 of 60 s at 0.6; 20.1 ms in file I/O; jitter
    shares = {name: float(found[name].removesuffix(" %")) for name in ("mpi", "io")}
    assert shares["mpi"] == pytest.approx(100 * 0.13 * (60 - 12 * 0.4) / 60, abs=0.5)
    assert shares["io"] == pytest.approx(100 * 0.0201 * (60 - 12 * 0.4) / 60, abs=0.1)
    assert found["cpu"] == found["memory"] == "–"
    assert "1.98 in use on average; how many were allocated is not known" in text


def test_list_of_stretches_leads_to_the_lookup(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
    begin, end = FIRST_MS + 6 * 4000, FIRST_MS + 11 * 4000
    assert f"/jobs/{jobs.lammps}/lookup?from={begin}&to={end}" in [a.get("href") for _, a in tags(text)]
    lost = re.search(r'data-hit>.*?class="number">20 s</td>\s*<td class="number">([\d.]+) s', text, re.DOTALL)
    assert float(lost[1]) == pytest.approx(len(SLOW) * 0.05, rel=0.05)


def test_zoom_brings_the_slices_asked_for(client: FlaskClient, jobs: Jobs) -> None:
    whole = client.get(f"/jobs/{jobs.lammps}/figure.json").json
    part = client.get(f"/jobs/{jobs.lammps}/figure.json?from={FIRST_MS + 20_000}&to={FIRST_MS + 39_000}").json
    assert [p["name"] for p in part["plots"]] == [p["name"] for p in whole["plots"]]
    assert part["points"] | {} == {
        "first_ms": FIRST_MS + 20_000, "slice_ms": 4000, "width": 1, "count": 5, "first_slice": FIRST_SLICE + 5,
        "n_slices": 5,
    }  # fmt: skip
    for before, now in zip(whole["data"], part["data"], strict=True):
        assert now["meta"] == before["meta"]
        assert now["y"] == before["y"][5:10]
    elsewhere = client.get(f"/jobs/{jobs.lammps}/figure.json?from=5&to=6").json
    assert elsewhere["points"]["n_slices"] == 15


def test_one_process_is_drawn_over_the_spread(client: FlaskClient, jobs: Jobs) -> None:
    figure = client.get(f"/jobs/{jobs.lammps}/figure.json?process=1").json
    own = make_lammps(slow_segments=SLOW).slices["posix_disk_write_bytes"][1] / 4.0 / 2**20
    (line,) = [t for t in figure["data"] if t["meta"]["series"] == "write_disk/one"]
    assert line["y"] == pytest.approx(own, rel=1e-5)
    assert "rank 1: write" in line["name"]
    assert client.get(f"/jobs/{jobs.lammps}/figure.json?process=2").status_code == 404
    assert "Rank 1 over the spread of all" in client.get(f"/jobs/{jobs.lammps}?process=1").text


def test_a_plot_is_a_file_slice_by_slice(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.get(f"/jobs/{jobs.lammps}/plot.csv?plot=io_disk")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="job-{jobs.lammps}-io-disk.csv"'
    head, *lines = answer.text.splitlines()
    assert head == "slice,begin_utc,write_disk [B/s]"
    own = make_lammps(slow_segments=SLOW).slices["posix_disk_write_bytes"].sum(axis=0) / 4.0
    assert [float(line.split(",")[2]) for line in lines] == pytest.approx(own, rel=1e-8)
    assert lines[0].startswith(f"{FIRST_SLICE},2025-10-09T08:53:20Z,")
    document = client.get(f"/jobs/{jobs.lammps}/plot.json?plot=fs:disk/io_disk&from={FIRST_MS + 24_000}").json
    assert document["first_slice"] == FIRST_SLICE + 6
    assert document["columns"]["write_disk"][:4] == [pytest.approx(5e7)] * 3 + [0]
    missing = client.get(f"/jobs/{jobs.lammps}/plot.csv?plot=evil")
    assert missing.status_code == 404
    assert "there are: lost, time, io_disk" in missing.text


def test_heat_map_has_a_row_for_each_rank_and_a_gap_where_one_was_killed(client: FlaskClient, jobs: Jobs) -> None:
    heat = client.get(f"/jobs/{jobs.killed}/heat.json?metric=write_disk").json
    assert heat["labels"] == ["rank 0 on node02", "rank 1 on node02"]
    own = make_lammps(job_id="1003", killed_rank=1, hosts=("node02",)).slices["posix_disk_write_bytes"] / 4.0 / 2**20
    assert heat["z"][0] == pytest.approx(own[0], rel=5e-3)
    assert heat["z"][1][:7] == pytest.approx(own[1][:7], rel=5e-3)
    assert heat["z"][1][7:] == [None] * 8
    nodes = client.get(f"/jobs/{jobs.killed}/heat.json?metric=write_disk&rows=node").json
    assert nodes["labels"] == ["node02"]
    assert nodes["z"][0] == pytest.approx(own.sum(axis=0), rel=5e-3)
    part = client.get(f"/jobs/{jobs.killed}/heat.json?metric=write_disk&first_row=1&n_rows=5&to={FIRST_MS + 8000}").json
    assert (part["labels"], part["first_row"], len(part["z"][0])) == (["rank 1 on node02"], 1, 2)


@pytest.mark.parametrize(
    "query",
    ["", "rows=node", "metric=coll_bytes&cells=high", "metric=cpu&cells=low", f"from={FIRST_SLICE * 4000 + 9000}"],
)
def test_a_job_that_is_read_in_parts_looks_the_same(
    client: FlaskClient, jobs: Jobs, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only so much of a job is in memory at once, however large it is."""
    paths = (f"/jobs/{jobs.lammps}/heat.json?{query}", f"/api/v1/jobs/{jobs.lammps}/timeline")
    whole = [client.get(path).json for path in paths]
    monkeypatch.setattr(jobdata, "MOST_VALUES", 9)
    monkeypatch.setattr(heat, "MAX_COLUMNS", 4)
    coarse = client.get(paths[0]).json
    monkeypatch.setattr(jobdata, "MOST_VALUES", 1 << 20)
    assert client.get(paths[0]).json == coarse
    monkeypatch.setattr(heat, "MAX_COLUMNS", 320)
    monkeypatch.setattr(jobdata, "MOST_VALUES", 9)
    assert [client.get(path).json for path in paths] == whole
    assert whole[0]["z"]


def test_what_is_too_large_is_not_read(client: FlaskClient, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(queries, "get_segments", never)
    monkeypatch.setattr(clusters, "MAX_CELLS", 10)
    monkeypatch.setattr(compare, "MOST_CELLS", 10)
    assert "too many to be judged" in client.get(f"/jobs/{jobs.lammps}/clusters.json").json["notes"][0]
    assert "too many segments for a page" in client.get(f"/compare?jobs={jobs.lammps},{jobs.lammps}").text
    monkeypatch.setattr(heat, "read_frames", never)
    monkeypatch.setattr(heat, "MAX_CELLS", 10)
    assert "zoom" in client.get(f"/jobs/{jobs.lammps}/heat.json").json["notes"][0]


def test_segments_are_drawn_with_their_threshold(client: FlaskClient, jobs: Jobs) -> None:
    found = client.get(f"/jobs/{jobs.lammps}/clusters.json").json
    (cluster,) = found["clusters"]
    assert (cluster["segments"], sum(cluster["histogram"]["hit"])) == (3000, len(SLOW))
    assert cluster["median_us"] == pytest.approx(20_000, rel=0.01)
    assert cluster["median_us"] < cluster["threshold_us"] < 70_000
    assert set(found["figures"]) == {"boxes", "timeline", "histogram"}
    begins = np.array(found["figures"]["timeline"]["data"][0]["x"])
    assert len(begins) == len(SLOW)
    assert FIRST_MS + 24_000 <= begins.min() < begins.max() <= FIRST_MS + 44_000
    none = client.get(f"/jobs/{jobs.writer}/clusters.json").json
    assert "no segments" in none["notes"][0]


def test_nobody_watched_the_nodes(client: FlaskClient, jobs: Jobs) -> None:
    figure = client.get(f"/jobs/{jobs.lammps}/figure.json?stack=nodes").json
    assert figure["notes"] == ["No agent watched the nodes of this job."]


def test_a_running_job_says_until_when_it_was_seen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/running.db"
    engine = open_database(url)
    key = load_profile(engine, make_lammps()).job_key
    with writing(engine) as conn:
        conn.execute(update(schema.job).values(state="running"))
    text = create_app(url).test_client().get(f"/jobs/{key}").text
    assert 'data-state="running" data-slice-ms="4000"' in text
    assert "Seen until" in text
    engine.dispose()


def test_a_pruned_job_keeps_its_tables_and_says_what_is_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/pruned.db"
    engine = open_database(url)
    key = load_profile(engine, make_lammps()).job_key
    with writing(engine) as conn:
        conn.execute(update(schema.job).values(detail=False))
    client = create_app(url).test_client()
    assert "older than the site keeps them" in client.get(f"/jobs/{key}/figure.json").json["notes"][0]
    assert "older than the site keeps them" in client.get(f"/jobs/{key}/heat.json").json["notes"][0]
    assert [client.get(f"/jobs/{key}?tab={tab}").status_code for tab in TABS] == [200] * len(TABS)
    assert "MPI_Allreduce" in client.get(f"/jobs/{key}?tab=functions").text
    engine.dispose()


def test_the_segments_say_which_call_ended_the_clusters(tmp_path: Path) -> None:
    """Of a job that is stored: in the table of the page, in the figures' document, and in its profile."""
    url, place = f"sqlite:///{tmp_path}/places.db", "MPI_Allreduce at lmp+0x53c1e"
    plain = make_lammps()
    assert plain.segments is not None
    closed_at = np.zeros(plain.segments.n_segments, dtype=np.int64)
    named = replace(plain, segments=replace(plain.segments, closed_at=closed_at, places=(place,)))
    engine = open_database(url)
    key = load_profile(engine, named, evaluation=evaluate(named)).job_key
    nameless = replace(plain, job=replace(plain.job, id="2"))
    other = load_profile(engine, nameless, evaluation=evaluate(nameless)).job_key
    engine.dispose()
    client = create_app(url).test_client()
    page = client.get(f"/jobs/{key}?tab=segments").text
    assert "Ended by" in page
    assert f"<td>{place}</td>" in page
    assert [c["closed_by"] for c in client.get(f"/jobs/{key}/clusters.json").json["clusters"]] == [place]
    assert "Ended by" not in client.get(f"/jobs/{other}?tab=segments").text
