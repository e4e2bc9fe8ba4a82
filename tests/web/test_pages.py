"""Status, content, escaping, bounds and headers of the pages, through Flask's client."""

from __future__ import annotations

import gzip
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from markupsafe import escape

from crosswind.db import BatchJob, load_profile, open_database
from crosswind.db.batch import link_steps, store_batch_jobs
from crosswind.web import create_app
from support.profiles import make_lammps
from support.sites import HOSTILE, Jobs


def rows(text: str) -> list[str]:
    """Job ids in the order of the list."""
    return re.findall(r'<td class="id"><a href="/jobs/\d+">([^<]*)<span', text)


def tags(text: str) -> list[tuple[str, dict[str, str]]]:
    """Every start tag of a page and its attributes, as a browser reads them."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(text)
    return found


def test_list_shows_every_column_of_a_job(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get("/?user=alice&command=lmp").text
    row = text[text.index("<tbody>") : text.index("</tbody>")]
    for expected in (f'href="/jobs/{jobs.lammps}"', "alice", "lmp", "2025-10-09T08:53:20Z", "1 min 00 s", "finished"):
        assert expected in row
    # 4 MB/s of two ranks over 60 s, less the dent of 12 s at 0.6, within the jitter; shown in binary units
    volume = float(re.search(r"([\d.]+) MiB", row)[1])
    assert volume == pytest.approx(2 * 4e6 * (60 - 12 * 0.4) / 2**20, rel=0.02)
    assert re.search(r'class="class class-(medium|high)"', row)


def test_list_sorts_by_what_the_address_says(client: FlaskClient) -> None:
    rising = rows(client.get("/?order=duration&size=200").text)
    falling = rows(client.get("/?order=-duration&size=200").text)
    assert len(rising) == len(falling) == 4 + len(HOSTILE)
    assert rising[0] == "1004"
    assert falling[-1] == "1004"
    assert rows(client.get("/?order=-interference").text)[0] == "1001"


def test_heading_turns_the_order_round(client: FlaskClient) -> None:
    text = html.unescape(client.get("/?order=-ranks&user=alice").text)
    assert 'aria-sort="descending"' in text
    assert "/?order=ranks&user=alice" in text


def test_list_filters_by_user_and_command(client: FlaskClient) -> None:
    assert rows(client.get("/?user=bob").text) == ["1002"]
    assert rows(client.get("/?command=LM").text) == ["1003", "1001"]
    assert rows(client.get("/?user=bo").text) == []


def test_list_pages_cover_everything_once(client: FlaskClient) -> None:
    seen = [row for page in (1, 2, 3, 4) for row in rows(client.get(f"/?size=3&page={page}&order=id").text)]
    assert len(seen) == len(set(seen)) == 4 + len(HOSTILE)
    first = html.unescape(client.get("/?size=3&order=id").text)
    assert 'rel="next" href="/?size=3&order=id&page=2"' in first
    assert 'rel="prev"' not in first


def test_empty_states_explain(client: FlaskClient) -> None:
    assert "No job matches user <b>nobody</b>" in client.get("/?user=nobody").text
    assert "There is no page 99" in client.get("/?page=99").text


def test_empty_database_says_what_to_do(tmp_path) -> None:
    from crosswind.db.connection import open_database
    from crosswind.web import create_app

    url = f"sqlite:///{tmp_path}/empty.db"
    open_database(url).dispose()
    assert "crosswind collect" in create_app(url).test_client().get("/").text


@pytest.mark.parametrize(
    "query",
    [
        "order=evil",
        "order=start;DROP",
        "page=0",
        "page=-1",
        "page=x",
        "size=0",
        "size=100000",
        "colour=blue",
        "user=" + "x" * 300,
    ],
)
def test_bad_parameters_are_400_with_words(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.text
    assert "List of jobs" in answer.text


@pytest.mark.parametrize(
    "path", ["/jobs/99999", "/jobs/99999/figure.json", "/jobs/" + "9" * 40, "/jobs/-1", "/nothing", "/jobs/1/../.."]
)
def test_unknown_things_are_404_with_words(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "Not Found" in answer.text
    if "99999" in path:
        assert "There is no job with key" in answer.text


def test_pages_cannot_be_written_to(client: FlaskClient, jobs: Jobs) -> None:
    answer = client.post(f"/jobs/{jobs.lammps}")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]


def test_job_page_starts_with_the_verdict(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
    sentence = re.search(r'<p class="sentence">([^<]*)</p>', text)[1]
    assert re.fullmatch(r"Lost about [\d.]+ % \([\d.]+ s\) to interference in \d+ of 3000 segments; .*\.", sentence)
    assert text.index(sentence) < text.index('id="stack"') < text.index("MPI_Allreduce")


def test_job_page_tables_hold_the_planted_numbers(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text.replace("\N{NARROW NO-BREAK SPACE}", "")
    calls = round(12_000 * (60 - 12 * 0.4)) * 2
    assert re.search(rf'<code>MPI_Send</code></th><td class="number">{calls}</td>', text)
    assert "node01" in text
    assert "100 % of the slices" in text
    assert "Nothing: every slice" in text


def test_job_without_segments_says_why_there_is_no_verdict(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.writer}").text
    assert "cannot be told. The run has no segments between global collectives" in text
    assert "no MPI" in text


def test_killed_process_is_marked(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.killed}").text
    assert "1 killed" in text
    assert text.count('<tr class="killed">') == 1
    assert "up to its last complete slice" in text


def test_short_job_is_explained(client: FlaskClient, jobs: Jobs) -> None:
    figure = client.get(f"/jobs/{jobs.short}/figure.json").json
    assert any("too few to see a course" in note for note in figure["notes"])
    assert any("No other profiled job used a resource of this job" in note for note in figure["notes"])


def test_how_files_are_used(client: FlaskClient, jobs: Jobs) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
    section = text[text.index('id="access-title"') :].partition("</section>")[0]
    (write,) = re.findall(r'<tr><th scope="row">local disks</th>(.*?)</tr>', section, re.DOTALL)
    cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", write, re.DOTALL)]
    assert cells[:3] == ["4 own", "write", "aggregate-write"]
    assert (cells[4], cells[6]) == ("202", "64 to 128 KiB")
    assert "30 shared, read only" in section
    bars = [a for tag, a in tags(section) if tag == "rect" and a["class"] == "bar-next"]
    assert [float(bar["width"]) for bar in bars] == [95.0]


def test_where_the_time_went(client: FlaskClient, jobs: Jobs, lammps_split: dict[str, float]) -> None:
    text = client.get(f"/jobs/{jobs.lammps}").text
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


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(client: FlaskClient, jobs: Jobs, name: str) -> None:
    key = jobs.hostile[HOSTILE.index(name)]
    for path in (f"/jobs/{key}", "/?size=200"):
        text = client.get(path).text
        assert str(escape(name)) in text
        assert not {"svg", "img"} & {
            tag for tag, attributes in tags(text) if "onload" in attributes or "onerror" in attributes
        }
        assert not [tag for tag, attributes in tags(text) if tag == "script" and "src" not in attributes]
    filtered = client.get("/", query_string={"user": name}).text
    assert [row[:5] for row in rows(filtered)] == [f"evil{HOSTILE.index(name)}"]
    assert client.get(f"/jobs/{key}/figure.json").text.isascii()


def test_address_of_a_page_takes_no_orders_from_parameters(client: FlaskClient) -> None:
    for query in ("_external=1", "_scheme=javascript", "endpoint=x", "values=1"):
        assert client.get(f"/?{query}").status_code == 400


def test_every_answer_has_the_headers(client: FlaskClient, jobs: Jobs) -> None:
    for path in ("/", f"/jobs/{jobs.lammps}", "/nothing", "/api/v1/jobs", "/static/style.css"):
        with client.get(path) as answer:
            headers = answer.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"


def test_pages_hold_nothing_inline_and_nothing_foreign(client: FlaskClient, jobs: Jobs) -> None:
    for path in ("/?size=200", f"/jobs/{jobs.lammps}", f"/jobs/{jobs.hostile[1]}", "/?user=%22%3E%3Cscript%3E"):
        for tag, attributes in tags(client.get(path).text):
            assert tag != "style"
            assert tag != "script" or attributes["src"].startswith(("/static/", "/assets/"))
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            for name in ("src", "href", "action"):
                assert re.match(r"[/#?](?!/)", attributes.get(name, "/")), attributes


def test_faults_are_a_page_without_details(site, monkeypatch, caplog) -> None:
    from crosswind.web import api, create_app
    from crosswind.web.pages import jobs as page

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("secret-of-the-fault")

    monkeypatch.setattr(page, "job_lines", fail)
    monkeypatch.setattr(api.queries, "list_jobs", fail)
    client = create_app(site.url).test_client()
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret-of-the-fault" not in answer.text
    assert "secret-of-the-fault" in caplog.text
    assert client.get("/api/v1/jobs").json["code"] == 500


def test_long_answers_are_compressed_for_those_who_take_it(client: FlaskClient, jobs: Jobs) -> None:
    path = f"/jobs/{jobs.lammps}/figure.json"
    plain = client.get(path)
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) == packed.content_length < len(plain.data) / 2


def test_plotly_comes_from_the_installed_package(client: FlaskClient, jobs: Jobs) -> None:
    path = re.search(r'src="(/assets/plotly-[0-9a-f]+\.min\.js)"', client.get(f"/jobs/{jobs.lammps}").text)[1]
    plain = client.get(path)
    assert b"plotly.js v" in plain.data[:100]
    assert "immutable" in plain.headers["Cache-Control"]
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(plain.data) / 2
    assert client.get("/assets/plotly-0.min.js").headers["Cache-Control"] == "no-store"


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
