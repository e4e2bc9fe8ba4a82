"""The document of `show --json`, and the dumps."""

import json
from dataclasses import replace

import numpy as np
import pytest

from crosswind.profile import FormatError, dump_json, dump_text, merge_spools, summarize
from support.hostile import Samples
from support.profiles import make_profile
from support.spools import FIRST_SLICE, HZ, START_NS, Slice, SpoolBuilder, Thread


def test_summary_of_a_known_job(tmp_path):
    for rank in range(2):
        SpoolBuilder(
            slices=[Slice(FIRST_SLICE, {"mpi_p2p_calls": 10 + rank, "rss": 100})],
            threads=[Thread({"mpi_p2p": (10 + rank, 0, 0, 0)}, {"MPI_Send": (10 + rank, 64, 0, HZ // 2)})],
            rank=rank, ranks=2, pid=rank + 1, end_ns=START_NS + 4 * 10**9, lost={"perf": 1}, mpi="openmpi",
        ).write(tmp_path)  # fmt: skip
    document = json.loads(json.dumps(summarize(merge_spools(sorted(tmp_path.iterdir())))))
    assert document["job"]["id"] == "1001"
    assert document["job"]["ranks"] == 2
    assert document["job"]["hosts"] == ["node01"]
    assert (document["job"]["run_time_s"], document["job"]["command"], document["job"]["mpi"]) == (
        4.0,
        "lmp",
        "openmpi",
    )
    assert document["slices"] == {"length_s": 4.0, "first": FIRST_SLICE, "count": 1, "covered_s": 8.0}
    assert document["totals"]["mpi_p2p_calls"] == {"sum": 21, "min": 10, "avg": 10.5, "max": 11, "unit": "count"}
    assert document["functions"] == {"MPI_Send": {"calls": 21, "bytes_out": 128, "bytes_in": 0, "time_s": 1.0}}
    assert document["lost"]["counts"] == {"perf": 2}
    assert "processor events" in document["lost"]["reasons"]["perf"]
    assert [p["state"] for p in document["processes"]] == ["clean", "clean"]
    assert document["segments"] is None


def test_a_launcher_does_not_make_every_minimum_zero():
    profile = make_profile(n_ranks=2)
    ranks = profile.totals["mpi_p2p_calls"]
    assert (ranks > 0).all()
    launcher = replace(profile.processes[0], rank=None, is_mpi=False, exe="mpirun", pid=1)
    with_launcher = replace(
        profile,
        processes=(*profile.processes, launcher),
        totals={name: np.append(values, 0) for name, values in profile.totals.items()},
        slices={name: np.pad(values, ((0, 1), (0, 0))) for name, values in profile.slices.items()},
        covered_ns=np.pad(profile.covered_ns, ((0, 1), (0, 0))),
    )
    total = summarize(with_launcher)["totals"]["mpi_p2p_calls"]
    assert (total["min"], total["max"], total["sum"]) == (ranks.min(), ranks.max(), ranks.sum())
    assert total["avg"] == pytest.approx(ranks.mean())


def test_summary_of_segments():
    segments = summarize(make_profile(n_segments=10, slow_segments={3: 100.0}))["segments"]
    assert segments["count"] == 10
    assert segments["max_us"] == pytest.approx(120_000, rel=0.01)
    assert segments["mean_us"] == pytest.approx(30_000, rel=0.01)


@pytest.mark.parametrize("kind", ["spool", "short", "profile"])
def test_every_record_can_be_dumped(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(Samples(tmp_path).files[kind])
    rows = [json.loads(line) for line in dump_json(path)]
    kinds = [row["record"] for row in rows]
    lines = list(dump_text(path))
    assert [line.split(" ", 1)[0] for line in lines] == kinds
    assert all("\n" not in line for line in lines)
    expected = {
        "spool": {"spool": 1, "slice": 6, "segment": 21, "group": 1, "function": 1},
        "short": {"short_log": 1, "short": 5},
        "profile": {"job": 1, "process": 2, "slice": 7, "segment": 8},
    }[kind]
    assert {name: kinds.count(name) for name in expected} == expected
    if kind == "spool":
        [*slices] = [r for r in rows if r["record"] == "slice"]
        assert slices[0]["index"] == FIRST_SLICE
        assert slices[0]["values"]["mpi_p2p_calls"] == 5
        assert slices[0]["offset_ns"] == -5


def test_dump_of_something_else(tmp_path):
    (tmp_path / "x").write_text("hello")
    with pytest.raises(FormatError, match="is not a Crosswind profile"):
        list(dump_text(tmp_path / "x"))
