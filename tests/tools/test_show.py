"""`crosswind show` against the numbers that were planted in a synthetic profile."""

import dataclasses
import json

import numpy as np
import pytest

from crosswind.profile import write_profile
from crosswind.tools.output import si
from support.profiles import LAMMPS_FUNCTIONS, make_lammps, make_writer


def test_the_document_has_what_others_rely_on(crosswind, profile_file):
    document = json.loads(crosswind("show", profile_file, "--json").stdout)
    assert {"job", "processes", "slices", "totals", "functions", "lost", "clock"} <= set(document)
    assert {"id", "step", "user", "hosts", "ranks", "start", "end", "command"} <= set(document["job"])
    assert document["slices"].items() >= {"length_s": 4.0, "first": 440_000_000, "count": 15}.items()
    assert document["job"]["end"] - document["job"]["start"] == 60
    send = document["functions"]["MPI_Send"]
    seconds = 2 * (12 * 4 + 3 * 4 * 0.6)  # two ranks; three slices are dented
    calls, out, into, time_ns = LAMMPS_FUNCTIONS["MPI_Send"]
    assert send["calls"] == pytest.approx(calls * seconds, abs=2)
    assert send["bytes_out"] == pytest.approx(out * seconds, abs=2)
    assert send["bytes_in"] == pytest.approx(into * seconds, abs=2)
    assert send["time_s"] == pytest.approx(time_ns * seconds / 1e9)


def test_rates_show_the_dent(crosswind, profile_file):
    document = json.loads(crosswind("show", profile_file, "--json", "--slices").stdout)
    rates = document["slices"]["rates"]["p2p_bytes"]
    assert rates["unit"] == "B/s"
    assert len(rates["values"]) == 15
    assert rates["values"][7] / rates["values"][2] == pytest.approx(0.6, rel=0.15)


def test_gaps_are_null_and_the_document_is_strict_json(crosswind, tmp_path):
    write_profile(make_lammps(killed_rank=1, n_ranks=2), tmp_path / "p.xwp")
    text = crosswind("show", "p.xwp", "--json", "--slices", "--segments").stdout
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["segment_table"]["rank"] == [0, 1]


def test_text_names_job_processes_metrics_and_functions(crosswind, profile_file):
    result = crosswind("show", profile_file)
    assert result.returncode == 0
    for word in ("job 1001", "lmp", "node01", "mpi_p2p_calls", "MPI_Send", "user alice"):
        assert word in result.stdout
    assert "\x1b" not in result.stdout, "no colours where there is no terminal"


def test_slices_as_a_table(crosswind, profile_file):
    lines = crosswind("show", profile_file, "--slices").stdout.splitlines()
    assert len(lines) == 1 + 15
    assert "p2p_bytes [MiB/s]" in lines[0]


def test_segments_are_the_csv_that_estimate_reads(crosswind, profile_file, tmp_path):
    text = crosswind("show", profile_file, "--segments").stdout
    assert text.count("\n") == 1 + 3000 * 2
    (tmp_path / "s.csv").write_text(text)
    assert crosswind("estimate", "s.csv").returncode == 0


def test_records_as_text(crosswind, profile_file):
    result = crosswind("show", profile_file, "--text")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) > 10
    assert crosswind("show", profile_file, "--text", "--json").returncode == 2


def test_hostile_names_reach_no_terminal(crosswind, tmp_path):
    profile = make_writer(job_id="\x1b[2Jid", user="\x1b]0;x\x07", command="a\nb", hosts=("\x1b[31mh",))
    write_profile(profile, tmp_path / "p.xwp")
    for options in ([], ["--slices"], ["--text"]):
        result = crosswind("show", "p.xwp", *options)
        assert "\x1b" not in result.stdout + result.stderr
        assert "\x07" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (999, "B", "999 B"),
        (1_234_567, "B", "1.23 MB"),
        (2.5e9, "ns", "2.5 s"),
        (1.5e6, "ns", "1.5 ms"),
        (1_500, "ns", "1.5 us"),
        (12_345, "s", "12345 s"),
        (12_345, "", "12.3 k"),
    ],
)
def test_si(value, unit, text):
    assert si(value, unit) == text


def test_thousandths_and_sizes_are_written_for_people(crosswind, tmp_path):
    profile = make_lammps()
    n = len(profile.processes)
    steps, sizes = np.zeros((n, 5), dtype=np.int64), np.zeros((n, 32), dtype=np.int64)
    steps[0, 1] = sizes[0, 13] = 9  # 4096 bytes
    whole = dataclasses.replace(
        profile,
        totals={**profile.totals, "threads_busy": np.full(n, 1500)},
        access={"steps_disk_posix_write": steps, "sizes_disk_posix_write": sizes},
    )
    write_profile(whole, tmp_path / "p.xwp")
    result = crosswind("show", "p.xwp")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    (threads,) = (line.split() for line in lines if line.startswith("threads_busy"))
    assert threads[2:] == ["1.50", "1.50", "1.50"]
    assert any("4 to 8 KiB" in line and "aggregate-write" in line for line in lines)


def test_the_calls_that_ended_segments_are_named_wherever_segments_are_shown(crosswind, tmp_path):
    profile = make_lammps()
    places = ("MPI_Allreduce at lmp+0x53c1e", "MPI_Barrier\x1b, hostile")
    closed_at = np.arange(profile.segments.n_segments) % 3 - 1
    segments = dataclasses.replace(profile.segments, closed_at=closed_at, places=places)
    write_profile(dataclasses.replace(profile, segments=segments), tmp_path / "p.xwp")
    document = json.loads(crosswind("show", "p.xwp", "--json", "--segments").stdout)
    assert document["segment_table"]["closed_by"][:3] == [None, *places]
    lines = crosswind("show", "p.xwp", "--segments").stdout.splitlines()
    assert [line.split(",")[-1] for line in lines[:6:2]] == ["closed_by", "", places[0]]
    assert {len(line.split(",")) for line in lines} == {len(lines[0].split(","))}
    clusters = json.loads(crosswind("estimate", "p.xwp", "--json").stdout)["clusters"]
    assert [c["closed_by"] for c in clusters] == [[None, *places][c["first_segment"] % 3] for c in clusters]
    text = crosswind("estimate", "p.xwp").stdout
    assert "ended by" in text
    assert "\x1b" not in text
