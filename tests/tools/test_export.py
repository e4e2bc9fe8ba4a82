"""`crosswind export`: what is written can be read back and has the planted numbers."""

import csv
import errno
import io
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from crosswind.db import load_profile, open_database
from crosswind.profile import read_profile, write_profile
from crosswind.profile.segments import CSV_COLUMNS
from crosswind.tools import export as export_module
from crosswind.tools.errors import CommandError
from support.profiles import make_lammps, make_writer


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_segments_as_csv(crosswind, profile_file):
    found = rows(crosswind("export", profile_file, "--format", "csv").stdout)
    table = make_lammps().segments
    assert len(found) == 6000
    assert tuple(found[0]) == CSV_COLUMNS
    assert [(int(r["seg"]), int(r["rank"])) for r in found[:4]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    durations = np.array([float(r["dur_us"]) for r in found]).reshape(3000, 2).T
    np.testing.assert_allclose(durations, table.columns["dur_us"], atol=0.001)


def test_the_estimate_of_the_csv_is_that_of_the_profile(crosswind, tmp_path):
    write_profile(make_lammps(slow_segments={100: 40.0, 200: 40.0}), tmp_path / "p.xwp")
    crosswind("export", "p.xwp", "-o", "s.csv")
    of_csv, of_profile = (json.loads(crosswind("estimate", f, "--json").stdout) for f in ("s.csv", "p.xwp"))
    assert of_csv["hit_segments"] == of_profile["hit_segments"] >= 2
    assert of_csv["interference_s"] == pytest.approx(of_profile["interference_s"], abs=1e-3)
    assert of_csv["interference_s"] == pytest.approx(0.080, abs=0.02)


def test_slices(crosswind, profile_file):
    found = rows(crosswind("export", profile_file, "--what", "slices").stdout)
    profile = make_lammps()
    assert len(found) == 2 * 15
    for name, values in profile.slices.items():
        assert sum(int(r[name]) for r in found) == values.sum(), name
    assert {r["rank"] for r in found} == {"0", "1"}
    assert int(found[0]["start_ns"]) == profile.first_slice * profile.slice_ns


def test_functions_as_json(crosswind, profile_file):
    found = json.loads(crosswind("export", profile_file, "--what", "functions", "--format", "json").stdout)
    profile = make_lammps()
    sends = [r["calls"] for r in found if r["function"] == "MPI_Send"]
    assert sends == profile.functions["MPI_Send"][:, 0].tolist()


def test_parquet(crosswind, profile_file, tmp_path):
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed (pip install 'crosswind[parquet]')"
    )
    assert crosswind("export", profile_file, "--format", "parquet").returncode == 2
    result = crosswind("export", profile_file, "--format", "parquet", "-o", "s.parquet")
    assert result.returncode == 0, result.stderr
    table = parquet.read_table(tmp_path / "s.parquet")
    assert table.num_rows == 6000
    assert table.column_names == [*CSV_COLUMNS, "stride", "at_site"]


def test_a_stored_job_says_which_calls_ended_its_segments(crosswind, tmp_path):
    plain, places = make_lammps(n_segments=40), ("MPI_Allreduce at lmp+0x53c1e", "MPI_Barrier")
    segments = replace(plain.segments, closed_at=np.arange(40) % 3 - 1, places=places)
    write_profile(replace(plain, segments=segments), tmp_path / "p.xwp")
    engine = open_database(f"sqlite:///{tmp_path}/p.db")
    load_profile(engine, replace(plain, segments=segments))
    engine.dispose()
    stored = ("export", "1001", "--db", "sqlite:///p.db", "--format")
    expected = [[None, *places][i % 3] for i in range(40) for _rank in (0, 1)]
    assert [row["closed_by"] for row in json.loads(crosswind(*stored, "json").stdout)] == expected
    assert [row["closed_by"] or None for row in rows(crosswind(*stored, "csv").stdout)] == expected
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed (pip install 'crosswind[parquet]')"
    )
    crosswind(*stored, "parquet", "-o", "s.parquet")
    assert parquet.read_table(tmp_path / "s.parquet")["closed_by"].to_pylist() == expected


def test_segments_as_json_tell_what_was_merged_and_how_they_were_cut(crosswind, tmp_path):
    lines = ["seg,rank,dur_us,stride,at_site", "0,0,5,2,0", "2,0,6,1,1", "0,1,5,2,0", "2,1,6,1,1"]
    (tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
    found = json.loads(crosswind("export", "s.csv", "--format", "json").stdout)
    assert [(r["seg"], r["stride"], r["at_site"]) for r in found] == [(0, 2, 0), (0, 2, 0), (2, 1, 1), (2, 1, 1)]


def test_a_job_of_the_database(crosswind, profile_file):
    url = "sqlite:///x.db"
    assert crosswind("collect", profile_file, "--db", url).returncode == 0
    of_job = crosswind("export", "1001", "--db", url)
    assert of_job.returncode == 0, of_job.stderr
    assert rows(of_job.stdout) == rows(crosswind("export", profile_file).stdout)
    unknown = crosswind("export", "9999", extra={"CROSSWIND_DB": url})
    assert unknown.returncode == 1
    said = unknown.stderr.splitlines()[-1]  # a busy machine says before that it is reading
    assert said == "crosswind export: 9999: neither a file nor a job in the database"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_file_that_cannot_be_written_whole_keeps_the_old_one(profile_file, tmp_path, monkeypatch, form):
    output = tmp_path / "s"
    output.write_text("old")

    def fail(*_: object) -> None:
        (tmp_path / f".s.{os.getpid()}.part").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export_module, "_write_segment_csv", fail)
    monkeypatch.setitem(export_module.WRITERS, form, fail)
    with pytest.raises(CommandError, match=f"{output}: No space left on device"):
        export_module.export(read_profile(profile_file), "segments", form, output)
    assert output.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"s", profile_file.name})


def test_a_device_is_written_in_place(crosswind, profile_file):
    result = crosswind("export", profile_file, "-o", "/dev/stdout")
    assert result.returncode == 0, result.stderr
    assert len(rows(result.stdout)) == 6000


def test_a_profile_without_segments_says_what_there_is(crosswind, tmp_path):
    write_profile(make_writer(), tmp_path / "w.xwp")
    result = crosswind("export", "w.xwp")
    assert result.returncode == 1
    assert "--what slices" in result.stderr
    assert crosswind("export", "w.xwp", "--what", "slices").returncode == 0


def test_untrusted_intervals(crosswind, tmp_path):
    write_profile(make_lammps(slow_segments={100: 40.0, 101: 40.0, 200: 40.0}), tmp_path / "p.xwp")
    found = rows(crosswind("export", "p.xwp", "--what", "untrusted").stdout)
    assert {("100", "101", "2"), ("200", "200", "1")} <= {
        (r["first_segment"], r["last_segment"], r["hit"]) for r in found
    }
    as_json = json.loads(crosswind("export", "p.xwp", "--what", "untrusted", "--format", "json").stdout)
    assert len(as_json) == len(found)
    assert sum(r["lost_s"] for r in as_json) == pytest.approx(0.120, abs=0.02)


def test_untrusted_intervals_and_segments_of_a_csv(crosswind, tmp_path):
    write_profile(make_lammps(slow_segments={100: 40.0, 101: 40.0, 200: 40.0}), tmp_path / "p.xwp")
    assert crosswind("export", "p.xwp", "-o", "s.csv").returncode == 0
    for what in ("untrusted", "segments"):
        of_profile, of_csv = (crosswind("export", name, "--what", what) for name in ("p.xwp", "s.csv"))
        assert (of_csv.returncode, of_csv.stderr) == (0, "")
        assert of_csv.stdout == of_profile.stdout != ""
    for what in ("slices", "functions"):
        result = crosswind("export", "s.csv", "--what", what)
        assert result.returncode == 1
        assert result.stderr == (
            "crosswind export: a CSV has segments and nothing else: there are --what segments, untrusted\n"
        )


def test_a_csv_without_times_of_day_has_no_intervals(crosswind, tmp_path):
    (tmp_path / "s.csv").write_text("seg,rank,dur_us\n" + "".join(f"{i},0,5\n" for i in range(50)))
    result = crosswind("export", "s.csv", "--what", "untrusted")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "t_start_us" in result.stderr


def test_segments_that_a_rank_lost_are_left_out_with_a_word(crosswind, tmp_path):
    profile = make_lammps()
    profile.segments.valid[1, 7] = False
    write_profile(profile, tmp_path / "p.xwp")
    result = crosswind("export", "p.xwp", "-o", "s.csv")
    assert (result.returncode, result.stderr) == (
        0, "crosswind export: 1 segments that not all ranks recorded are left out\n",
    )  # fmt: skip
    assert crosswind("estimate", "s.csv").returncode == 0
