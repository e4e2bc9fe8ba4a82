"""`crosswind doctor` on this machine, whatever it has, and on planted faults."""

import json
import shutil

import pytest

from crosswind.tools import checks, perf_probe
from crosswind.tools.checks import State


def report(result) -> dict[str, dict]:
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def test_a_built_tree_can_profile(crosswind, built):
    result = crosswind("doctor", "--json")
    found = report(result)
    assert result.returncode == 0, found
    assert found["library"]["state"] == "ok"
    assert found["library's needs"]["found"] == "no other library (no DT_NEEDED)"
    assert found["profiled program"]["state"] == "ok"
    assert found["spool directory"]["state"] == "ok"
    assert {check["state"] for check in found.values()} <= {"ok", "limited", "missing"}
    assert all(check["advice"] for check in found.values() if check["state"] == "limited")


@pytest.mark.parametrize(("launcher", "name"), [("mpirun.openmpi", "Open MPI"), ("mpirun.mpich", "MPICH")])
def test_two_ranks_are_seen_under_every_mpi(crosswind, built, launcher, name):
    if shutil.which(launcher) is None:
        pytest.skip(f"{launcher} is not installed")
    check = report(crosswind("doctor", "--json"))[launcher]
    assert check["state"] == "ok", check
    assert name in check["found"]
    assert "2 ranks profiled" in check["found"]


def test_text_has_one_line_a_check(crosswind, built):
    lines = crosswind("doctor").stdout.splitlines()
    assert all(line.startswith(("ok ", "limited ", "missing ", " ")) for line in lines)
    assert any("spool directory" in line for line in lines)


def test_what_is_missing_fails_and_says_what_to_do(crosswind, tmp_path):
    result = crosswind("doctor", "--json", "--spool", tmp_path / "nowhere", extra={"CROSSWIND_LIBRARY": "/nowhere.so"})
    found = report(result)
    assert result.returncode == 1
    assert found["library"]["state"] == "missing"
    assert "make build" in found["library"]["advice"]
    assert found["spool directory"]["state"] == "missing"
    assert "mkdir" in found["spool directory"]["advice"]


def test_database(crosswind, profile_file, built):
    crosswind("collect", profile_file, "--db", "sqlite:///x.db")
    assert report(crosswind("doctor", "--json", "--db", "sqlite:///x.db"))["database"]["state"] == "ok"
    assert report(crosswind("doctor", "--json", "--db", "sqlite:///none.db"))["database"]["state"] == "missing"


def test_an_abandoned_spool_directory_is_found(tmp_path):
    (tmp_path / "crosswind-run-abc").mkdir()
    check = checks.leftovers(tmp_path)
    assert check.state is State.LIMITED
    assert "crosswind-run-abc" in check.found
    assert "collect" in check.advice


def test_the_kernels_software_events_tell_whether_probing_works():
    """page-faults exists wherever perf events exist at all, so its answer is 0 or a refusal, never a wrong layout."""
    import errno

    assert perf_probe.probe("page-faults") in (0, errno.EACCES, errno.EPERM, errno.ENOSYS)
