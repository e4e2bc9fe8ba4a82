"""A preload library of the user's own goes on working, whichever stands first, and so does the counting."""

import os
import subprocess
import sys

import pytest

from crosswind.profile import read_profile
from support.preload import LIBRARY, PROGRAMS, environment, profile

USERS = PROGRAMS / "users_preload.so"
PROGRAM = PROGRAMS / "users_program"
ALL_GOOD = 12  # the program's exit status: 7 calls of getenv, 5 of write
COUNTED = [f"{PROGRAM.name} 5 7"]


def run(command, env, tmp_path):
    counts = tmp_path / "counts"
    done = subprocess.run(command, env={**env, "COUNTS": str(counts)}, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == ALL_GOOD
    assert done.stdout == b"written\n" * 5
    return [line for line in counts.read_text().splitlines() if line.startswith(PROGRAM.name)]


def test_without_the_library(tmp_path):
    assert run([PROGRAM], {**os.environ, "LD_PRELOAD": str(USERS)}, tmp_path) == COUNTED


@pytest.mark.parametrize("separator", [":", " "])
@pytest.mark.parametrize("order", [(LIBRARY, USERS), (USERS, LIBRARY)], ids=["ours first", "the user's first"])
def test_both_count(order, separator, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    env = environment(spool, {"LD_PRELOAD": separator.join(map(str, order))})
    assert run([PROGRAM], env, tmp_path) == COUNTED
    write = profile(spool).functions["write"].sum(axis=0)
    assert write[:2].tolist() == [5, 40]


@pytest.mark.parametrize("before", ["{users}", "  {users}: ", "{ours} {users}", "{users}:{ours}"])
def test_crosswind_run_keeps_it(before, tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CROSSWIND_")}
    env |= {"CROSSWIND_LIBRARY": str(LIBRARY), "LD_PRELOAD": before.format(users=USERS, ours=LIBRARY)}
    inner = [sys.executable, "-m", "crosswind.tools", "run", "-o", "p.xwp", "--", PROGRAM]
    counts = run(inner, env, tmp_path)
    assert counts == COUNTED
    found = read_profile(tmp_path / "p.xwp")
    row = [p.exe for p in found.processes].index(PROGRAM.name)
    assert found.functions["write"][row, :2].tolist() == [5, 40]
