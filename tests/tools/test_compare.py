"""`crosswind compare` on files: the answer, JSON, and what it says when there is nothing to compare."""

import json

from crosswind.profile import write_profile
from support.profiles import make_lammps, make_profile, make_writer


def test_a_quiet_and_a_disturbed_run(crosswind, tmp_path):
    write_profile(make_lammps(), tmp_path / "quiet.xwp")
    write_profile(make_lammps(slow_segments={i: 40.0 for i in range(500, 700)}), tmp_path / "disturbed.xwp")
    result = crosswind("compare", "quiet.xwp", "disturbed.xwp")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("No run was slower throughout by more than chance explains, which is up to ")
    document = json.loads(crosswind("compare", "quiet.xwp", "disturbed.xwp", "--json").stdout)
    quiet, disturbed = document["runs"]
    assert disturbed["interference_pct"] > quiet["interference_pct"] + 5
    assert disturbed["steady_pct"] < 1
    assert not quiet["slower"] | disturbed["slower"]
    assert 0 < max(run["chance_pct"] for run in document["runs"]) < 3
    assert disturbed["shared_pct"] > 90


def test_runs_of_one_name_are_told_apart_and_unknown_clusters_left_out(crosswind, tmp_path):
    for day in ("mon", "tue"):
        (tmp_path / day).mkdir()
        write_profile(make_lammps(), tmp_path / day / "run.xwp")
    text = crosswind("compare", "mon/run.xwp", "tue/run.xwp", "--html", "both.html").stdout
    assert "Undisturbed duration of like segments, ms" in text
    assert "Median duration of like segments, ms" in text
    report = (tmp_path / "both.html").read_text()
    assert '"text":"undisturbed duration, ms"' in report
    assert '"text":"median duration, ms"' in report
    assert "mon/run.xwp" in text
    assert "tue/run.xwp" in text
    assert not [line for line in text.splitlines() if line.split()[1:] == ["-", "-"]]


def test_different_programs_have_nothing_in_common(crosswind, tmp_path):
    write_profile(make_lammps(), tmp_path / "a.xwp")
    (tmp_path / "b.csv").write_text("seg,rank,dur_us,coll_calls\n" + "".join(f"{i},0,100,77\n" for i in range(50)))
    assert "no segments in common" in crosswind("compare", "a.xwp", "b.csv").stdout


def test_wrong_use(crosswind, tmp_path):
    write_profile(make_profile(mpi="", n_segments=0), tmp_path / "none.xwp")
    write_profile(make_writer(), tmp_path / "w.xwp")
    assert crosswind("compare", "none.xwp").returncode == 2
    result = crosswind("compare", "none.xwp", "w.xwp")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "no segments: no MPI program" in result.stderr
