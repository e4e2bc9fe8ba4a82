"""Spool directories that are of no use: the program does not notice that either."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from crosswind.profile import read_short_log
from support.harm import Case
from support.harm.running import files_of
from support.preload import environment

SCRIPT = "seq 1000 | sort -rn | tail -2; echo $?; cat /etc/hostname > copy; $PROGRAMS/harm_portable io; exit 6"
SETTINGS = {"default": {}, "helper at once": {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}}


def no_directory(spool: Path) -> Path:
    return spool / "missing" / "deeper"


def a_file(spool: Path) -> Path:
    (spool / "file").write_text("mine")
    return spool / "file"


def a_loop(spool: Path) -> Path:
    (spool / "loop").symlink_to("loop")
    return spool / "loop"


def a_long_name(spool: Path) -> Path:
    return spool / "/".join(["x" * 200] * 12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("useless", [no_directory, a_file, a_loop, a_long_name])
def test_no_use_of_a_spool_directory(useless, setting, bench):
    case = Case("useless spool", SCRIPT)
    options = {**SETTINGS[setting], "CROSSWIND_SPOOL": str(useless(bench.spool))}
    before = files_of(bench.spool)
    assert bench.profiled(case, options) == bench.bare(case)
    assert files_of(bench.spool) == before


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("state", ["full", "nearly full", "read-only"])
def test_spool_file_system_without_room(state, setting, small_tmpfs, bench):
    case = Case("no room", SCRIPT)
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", small_tmpfs], check=True)
    else:
        (small_tmpfs / "filler").write_bytes(bytes(65536 if state == "full" else 40960))
    options = {**SETTINGS[setting], "CROSSWIND_SPOOL": str(small_tmpfs)}
    assert bench.profiled(case, options) == bench.bare(case)


def test_a_limited_process_leaves_the_log_whole(tmp_path):
    """RLIMIT_FSIZE cuts a write short: half a record would hide those of all later processes."""
    script = "cat /etc/hostname; (ulimit -f $((($(stat -c %%s $CROSSWIND_SPOOL/*.xwl) + 1023) / 1024)); %s); %s"
    one = "for i in $(seq 40); do cat /etc/hostname; done"
    tmp_path.chmod(0o1777)
    subprocess.run(
        ["bash", "-c", script % (one, one)],
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    (log,) = (read_short_log(path) for path in tmp_path.glob("*.xwl"))
    assert log.problems == ()
    assert [log.names[exe] for exe in log.exe].count("cat") >= 41
