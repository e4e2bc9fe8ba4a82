"""`crosswind estimate` on files: answers, formats, exit codes, and what hostile files get."""

import json

import pytest
from click.testing import CliRunner

from crosswind.profile import write_profile
from crosswind.tools.cli import main
from support.profiles import make_profile

HEADER = "seg,rank,t_start_us,dur_us,instructions,p2p_calls,coll_calls"


def run(*arguments):
    return CliRunner().invoke(main, ["estimate", *map(str, arguments)])


def csv_text(n_segments=60, slow=(), header=HEADER):
    """Segments of 1 ms on two ranks; the slow ones take 2 ms with the same instructions."""
    rows, start = [], 0
    for segment in range(n_segments):
        duration = 2000 if segment in slow else 1000
        rows += [f"{segment},{rank},{start},{duration},5000000,6,1" for rank in range(2)]
        start += duration
    return "\n".join([header, *rows, ""])


@pytest.fixture
def profile(tmp_path):
    """A profile whose segments 200 to 259 of 2000 took 12 ms more than 20 ms."""
    path = tmp_path / "run.xwp"
    write_profile(make_profile(n_segments=2_000, slow_segments={i: 12.0 for i in range(200, 260)}), path)
    return path


def test_answer_for_a_profile(profile):
    result = run(profile)
    assert result.exit_code == 0, result.output
    first, *rest = result.output.splitlines()
    assert first.startswith("Lost about 1.8 % (0.72 s) to interference in ")
    assert "class: low" in rest[0]
    assert any("waiting for a processor: 0.2 %" in line for line in rest)


def test_json_is_one_document(profile):
    result = run(profile, "--json", "--method", "thesis")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["method"] == "thesis"
    assert document["segments"] == 2_000
    assert document["interference_s"] == pytest.approx(0.72, rel=0.02)
    assert document["run_delay_pct"] == pytest.approx(0.2)


def test_what_the_time_was_lost_in(profile):
    kinds = json.loads(run(profile, "--json").stdout)["lost_by_kind_s"]
    assert sum(kinds.values()) == pytest.approx(0.72, rel=0.02)
    assert "lost in: " in run(profile).output


def test_answer_for_a_csv(tmp_path):
    """5 of 60 segments lost 1 ms each: 5 of 65 ms. The ending of the name does not matter."""
    path = tmp_path / "segments.txt"
    path.write_text(csv_text(slow={10, 20, 30, 40, 50}))
    document = json.loads(run(path, "--json").stdout)
    assert document["interference_pct"] == pytest.approx(100 * 5 / 65)
    assert (document["class"], document["hit_segments"], document["certain"]) == ("medium", 5, True)


def test_a_profile_without_segments_is_answered(tmp_path):
    path = tmp_path / "writer.xwp"
    write_profile(make_profile(mpi=""), path)
    result = run(path)
    assert result.exit_code == 0
    assert "cannot be told: no segments: no MPI program, or its ranks meet nowhere in step" in result.output
    assert json.loads(run(path, "--json").stdout)["interference_pct"] is None


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.xwp", b"", "a.xwp"),
        ("b.xwp", b"XWPROF\r\n" + b"\xff" * 64, "b.xwp"),
        ("c.csv", b"", "c.csv"),
        ("d.csv", b"\x00\x01\x02" * 100, "d.csv"),
        ("e.csv", csv_text(3).replace("dur_us", "took").encode(), "dur_us"),
        ("f.csv", csv_text(3).replace(",1000,", ",-7,", 1).encode(), "dur_us"),
        ("g.csv", csv_text(3).replace(",1000,", ",nan,", 1).encode(), "dur_us"),
    ],
)
def test_bad_files_get_one_line(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    result = run(path)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("crosswind estimate: ")
    assert says in result.stderr


@pytest.mark.parametrize("arguments", [[], ["nowhere.xwp"], ["--method", "luck", "x"], ["--frobnicate"]])
def test_wrong_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
