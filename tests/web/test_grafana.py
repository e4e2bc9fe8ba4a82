"""Requests as Grafana's data sources send them, over HTTP, and answers as they take them apart.

Grafana itself is not here: these are the shapes of the requests of its sources Infinity (GET, query encoded and sorted,
an Accept of its own, a bearer token, a trace's header) and JSON API (parameters in the order they were typed in).
"""

from __future__ import annotations

import gzip
import http.client
import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import pytest

from crosswind.db import open_database
from crosswind.db.tokens import create_token
from support.profiles import FIRST_SLICE, SLICE_NS
from support.serving import serving
from support.sites import Jobs, Site
from support.viewers import proxied_app

FROM_MS = FIRST_SLICE * SLICE_NS // 10**6
TO_MS = FROM_MS + 60_000


@pytest.fixture(scope="module")
def grafana(own_site: Site) -> Iterator[tuple[str, dict[str, str]]]:
    """The host that Grafana's server talks to, and the headers of its source Infinity with a token for staff."""
    engine = open_database(own_site.url)
    _, secret = create_token(
        engine,
        owner="sam",  # of the staff; the role of a token is bounded by its owner's
        role="support",
        name="grafana",
        scopes=["read:system", "read:jobs"],
        now_ns=time.time_ns(),
        lifetime_ns=3600 * 10**9,
    )
    engine.dispose()
    headers = {
        "User-Agent": "Grafana/12.0.0",
        "Accept": "application/json;q=0.9,text/plain",
        "Authorization": f"Bearer {secret}",
        "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    with serving(proxied_app(own_site.url)) as address:
        yield urlsplit(address).netloc, headers


def ask(grafana: tuple[str, dict[str, str]], path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer and its body. The source's base URL ends in /api/v1."""
    host, own = grafana
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("GET", f"/api/v1{path}", headers=own | {"Accept-Encoding": "identity"} | headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def get(grafana: tuple[str, dict[str, str]], path: str, query: dict[str, object]) -> object:
    """What Infinity's parser is given."""
    answer, body = ask(grafana, f"{path}?{urlencode(sorted(query.items()))}")
    assert answer.status == 200, body
    assert answer.headers.get_content_type() == "application/json"
    return json.loads(body)


def columns(rows: object) -> tuple[list[int], list[float | None]]:
    """The columns `time`, Time (UNIX ms), and `value`, Number, of an array at the root."""
    assert isinstance(rows, list)
    times, values = [row["time"] for row in rows], [row["value"] for row in rows]
    assert all(isinstance(at, int) for at in times)
    assert times == sorted(set(times)), "a frame of Grafana is a time series if its times rise"
    assert all(value is None or isinstance(value, float | int) for value in values)
    return times, values


def test_infinity_reads_a_shared_resource(grafana: tuple[str, dict[str, str]]) -> None:
    """`/series/system?resource=net&name=coll_bytes&from=${__from}&to=${__to}&max_points=1000`"""
    query = {"resource": "net", "name": "coll_bytes", "from": FROM_MS, "to": TO_MS, "max_points": 1000}
    times, values = columns(get(grafana, "/series/system", query))
    assert (times[0], times[-1], len(times)) == (FROM_MS, TO_MS - 4000, 15)
    assert min(value for value in values if value is not None) > 0


def test_infinity_reads_a_job_chosen_by_a_variable(grafana: tuple[str, dict[str, str]], jobs: Jobs) -> None:
    listed = get(grafana, "/jobs", {"user": "alice", "size": 100})
    assert isinstance(listed, dict)
    choice = {row["job_id"]: row["key"] for row in listed["jobs"]}  # root selector jobs; columns job_id, key
    assert choice["1001"] == jobs.lammps
    query = {"job": choice["1001"], "name": "cpu", "from": FROM_MS, "to": TO_MS}
    times, values = columns(get(grafana, "/series/job", query))
    assert len(times) == 15
    assert values[2] == pytest.approx(2, rel=0.1), "two processes"


def test_points_follow_the_panel(grafana: tuple[str, dict[str, str]]) -> None:
    """However a bin lies over the edges of the time that is asked for."""
    query = {"resource": "fs:net", "name": "write_net", "from": FROM_MS, "to": TO_MS, "max_points": 5}
    for shift in (0, 4000, 9000):
        shifted = query | {"from": FROM_MS + shift}
        assert 3 <= len(columns(get(grafana, "/series/system", shifted))[0]) <= 5
        assert len(columns(get(grafana, "/series/system", shifted | {"max_points": 1}))[0]) == 1


def test_a_compressed_answer_is_the_same(grafana: tuple[str, dict[str, str]]) -> None:
    answer, body = ask(grafana, "/series/names", **{"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body)) == get(grafana, "/series/names", {})


@pytest.mark.parametrize(("token", "status"), [("xw_wrong", 401), ("", 403)])
def test_a_wrong_token_is_no_empty_panel(grafana: tuple[str, dict[str, str]], token: str, status: int) -> None:
    """Unknown, or (the fixture's own) not for the background of jobs."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer, body = ask(grafana, "/series/background?job=1&resource=fs:net&name=write_net", **headers)
    assert answer.status == status
    assert json.loads(body)["message"], "Grafana shows it"


def test_json_api_asks_in_its_own_order(grafana: tuple[str, dict[str, str]]) -> None:
    """Its fields are the paths `$[*].time` and `$[*].value`; the Accept of a browser."""
    path = f"/series/system?to={TO_MS}&from={FROM_MS}&resource=fs:net&name=write_net"
    answer, body = ask(grafana, path, Accept="application/json, text/plain, */*")
    assert answer.status == 200
    assert len(columns(json.loads(body))[0]) == 15
