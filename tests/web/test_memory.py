"""Results that are kept: asked for again they are the same and worked out once; of other data, or for others, never."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crosswind.db import load_profile, open_database
from crosswind.db.lost_jobs import mark_lost
from crosswind.tools.evaluation import evaluate
from crosswind.web import create_app, memory
from crosswind.web.memory import Memory, key_of
from support.neighbours import SLICES, bursts, make_neighbours
from support.profiles import WRITER_RATES, make_lammps, make_profile
from support.viewers import client_of, proxied_app

KEYS = [bytes([i]) * 32 for i in range(10)]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered yet."""
    monkeypatch.setattr(memory, "_memory", Memory())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, fresh: None) -> list[str]:
    """What was worked out, by its name."""
    done: list[str] = []

    def count(module: str, name: str) -> None:
        real = getattr(__import__(module, fromlist=[name]), name)

        def counting(*args: object, **options: object) -> object:
            done.append(name)
            return real(*args, **options)

        monkeypatch.setattr(f"{module}.{name}", counting)

    count("crosswind.web.association", "associate")
    count("crosswind.web.pages.job.clusters", "estimate")
    count("crosswind.web.pages.compare", "compare")
    return done


def test_what_was_not_asked_for_longest_goes_first() -> None:
    held = Memory(4000)
    made: list[int] = []

    def ask(number: int) -> bytes:
        return held.recall(KEYS[number], lambda: made.append(number) or bytes([number]) * 900)

    for number in (0, 1, 2, 3, 0, 4, 0, 1):
        assert ask(number) == bytes([number]) * 900
        assert held.size <= 4000
    assert made == [0, 1, 2, 3, 4, 1]


def test_what_is_too_large_is_not_kept_nor_what_failed() -> None:
    held = Memory(4000)
    assert len(held.recall(KEYS[0], lambda: bytes(1100))) == 1100
    with pytest.raises(ZeroDivisionError):
        held.recall(KEYS[1], lambda: 1 // 0)
    assert held.size == 0
    assert held.recall(KEYS[1], lambda: 7) == 7


def test_whoever_gets_a_result_may_change_it() -> None:
    held = Memory()
    for _ in range(3):
        found = held.recall(KEYS[0], lambda: {"a": np.zeros(3)})
        assert found["a"].tolist() == [0, 0, 0]
        found["a"][:] = 1


def test_threads_that_ask_for_the_same_wait_for_one() -> None:
    held, made, found = Memory(), [], []

    def make() -> int:
        made.append(1)
        time.sleep(0.2)
        return 5

    threads = [threading.Thread(target=lambda: found.append(held.recall(KEYS[0], make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (made, found) == ([1], [5] * 4)


def test_different_things_have_different_keys() -> None:
    numbers = np.arange(6.0)
    things: list[tuple[object, ...]] = [
        (numbers,), (numbers.reshape(2, 3),), (numbers.astype(np.float32),), (numbers.astype(np.int64),), (numbers, 1),
        (numbers, 1.0), (numbers, True), (numbers, "1"), (numbers, None), ("ab", "c"), ("a", "bc"), (("a", "b"), "c"),
        ("a", ("b", "c")), (numbers[:3], numbers[3:]), (), ((),),
    ]  # fmt: skip
    assert len({key_of(*parts) for parts in things}) == len(things)
    assert key_of(numbers.reshape(2, 3).T) == key_of(np.ascontiguousarray(numbers.reshape(2, 3).T))
    with pytest.raises(TypeError, match="object"):
        key_of(object())
    with pytest.raises(TypeError, match="ndarray"):
        key_of(np.array([object()]))


def test_page_picture_and_json_of_a_lookup_test_once(counted: list[str], tmp_path: Path) -> None:
    client = create_app(make_neighbours(tmp_path)).test_client()
    paths = ("lookup", "lookup/figure.json", "lookup.json", "lookup.json?from=1760000040000&to=1760000060000")
    first = [client.get(f"/jobs/1/{path}").data for path in paths]
    assert counted == ["associate"]
    assert [client.get(f"/jobs/1/{path}").data for path in paths] == first
    client.get("/jobs/1/lookup.json?resource=fs:disk@node01")
    assert client.get("/jobs/1/lookup").data == first[0]
    other_side = client.get("/jobs/2/lookup/other-side.json")
    assert other_side.json["coincided"] == 1
    done = len(counted)
    assert client.get("/jobs/2/lookup/other-side.json").data == other_side.data
    assert len(counted) == done


def test_a_neighbour_that_is_loaded_later_is_in_the_next_answer(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_neighbours(tmp_path)
    client = create_app(url).test_client()
    before = client.get("/jobs/1/lookup.json").json
    late = make_profile(
        job_id="late", user="zoe", uid=2999, n_ranks=1, mpi="", n_slices=SLICES, rates=WRITER_RATES,
        factor=list(bursts(9)), jitter=0.1, seed=9, hosts=("node01",),
    )  # fmt: skip
    load_profile(open_database(url), late)
    after = client.get("/jobs/1/lookup.json").json
    assert after["tested"] > before["tested"]
    monkeypatch.setattr(memory, "_memory", Memory())
    assert client.get("/jobs/1/lookup.json").json == after


def test_nobody_gets_the_answer_of_another_viewer(counted: list[str], tmp_path: Path, monkeypatch) -> None:
    """One memory, two viewers, in either order: each reads what is read with a memory of one's own."""
    app = proxied_app(make_neighbours(tmp_path))
    paths = ("lookup", "lookup.json", "lookup/figure.json", "lookup/other-side.json")
    people = {name: client_of(app, name) for name in ("alice", "sam")}

    def read(name: str) -> list[bytes]:
        return [people[name].get(f"/jobs/1/{path}").data for path in paths]

    alone = {}
    for name in people:
        monkeypatch.setattr(memory, "_memory", Memory())
        alone[name] = read(name)
    assert alone["alice"] != alone["sam"]
    for order in (("alice", "sam"), ("sam", "alice")):
        monkeypatch.setattr(memory, "_memory", Memory())
        counted.clear()
        assert {name: read(name) for name in order} == alone
        assert counted.count("associate") < 2 * len(paths), "what one asked is there for the other"


def test_segments_are_judged_once_and_anew_when_there_are_more(counted: list[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    engine = open_database(url)
    profile = make_lammps(slow_segments={number: 50.0 for number in range(1200, 1790, 4)})
    key = load_profile(engine, profile, evaluation=evaluate(profile)).job_key
    client = create_app(url).test_client()
    first = client.get(f"/jobs/{key}/clusters.json").json
    assert first["clusters"]
    assert client.get(f"/jobs/{key}/clusters.json").json == first
    assert counted == ["estimate"]
    hit_more = make_lammps(slow_segments={number: 50.0 for number in range(1200, 1790, 2)})
    assert load_profile(engine, hit_more, evaluation=evaluate(hit_more)).job_key == key
    assert client.get(f"/jobs/{key}/clusters.json").json != first
    assert counted == ["estimate"] * 2


def test_runs_are_compared_once(counted: list[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    engine = open_database(url)
    for number in range(3):
        load_profile(engine, make_lammps(job_id=f"90{number}", seed=number))
    client = create_app(url).test_client()
    first = client.get("/compare?jobs=1,2").data
    assert client.get("/compare?jobs=1,2").data == first
    assert counted == ["compare"]
    other_way, others = client.get("/compare?jobs=2,1").data, client.get("/compare?jobs=1,3").data
    assert len({first, other_way, others}) == 3
    changed = make_lammps(job_id="900", seed=0, slow_segments=dict.fromkeys(range(3000), 2.0))
    load_profile(engine, changed)
    assert b"900.0 was slower throughout" in client.get("/compare?jobs=1,2").data
    assert b"900.0 was slower throughout" not in first


def test_segments_of_a_job_that_was_lost_twice_are_those_that_are_there(fresh: None, tmp_path: Path) -> None:
    """A lost job has no digest that would tell one content from another."""
    url = f"sqlite:///{tmp_path}/runs.db"
    engine = open_database(url)
    client = create_app(url).test_client()
    seen = []
    for n_slices in (15, 20):
        profile = make_lammps(n_slices=n_slices, slow_segments=dict.fromkeys(range(1200, 1200 + 20 * n_slices), 50.0))
        runs = tuple(replace(process, state="running") for process in profile.processes)
        key = load_profile(engine, replace(profile, processes=runs)).job_key
        other = load_profile(engine, make_lammps(job_id="901")).job_key
        assert [lost.key for lost in mark_lost(engine, 1, profile.job.end_ns + 10**12)] == [key]
        pages = [f"/jobs/{key}/clusters.json", f"/compare?jobs={key},{other}"]
        seen.append([client.get(page).data for page in pages])
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]
