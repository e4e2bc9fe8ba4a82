"""Status, content, escaping, bounds and headers of the pages, through Flask's client."""

from __future__ import annotations

import gzip
import html
import re

import pytest
from flask.testing import FlaskClient
from markupsafe import escape

from crosswind.web import create_app
from support.html import tags
from support.sites import HOSTILE, Jobs


def rows(text: str) -> list[str]:
    """Job ids in the order of the list."""
    return re.findall(r'<td class="id"><a href="/jobs/\d+">([^<]*)<span', text)


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
    from crosswind.web import api
    from crosswind.web.pages import jobs as page

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("secret-of-the-fault")

    monkeypatch.setattr(page, "job_lines", fail)
    monkeypatch.setattr(api, "list_jobs", fail)
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
