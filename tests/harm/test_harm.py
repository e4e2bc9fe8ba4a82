"""First law: a program under Crosswind has the same output, exit status and files as without it.

The programs are listed in support/harm_cases.py.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from crosswind.profile import read_short_log
from support.harm_cases import CASES, Case
from support.preload import LIBRARY, PROGRAMS, environment

SETTINGS = {"default": {}, "helper at once": {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}}
HARMLESS = ("Killed", "Terminated", "Segmentation fault", "Aborted", "File size limit exceeded")


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a run from outside."""

    status: int
    stdout: bytes
    stderr: bytes
    files: dict[str, str]


def files_of(directory: Path) -> dict[str, str]:
    """Name -> kind, mode and content of everything below `directory`."""
    found = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(directory))] = f"{mode:o} {content}"
    return found


@pytest.fixture(scope="session", autouse=True)
def reachable_library():
    """A copy of the library that other users can load, too: the repository may lie in somebody's home."""
    with tempfile.TemporaryDirectory(prefix="crosswind-harm-") as directory:
        Path(directory).chmod(0o755)
        yield Path(shutil.copy(LIBRARY, directory))


def run(case: Case, base: Path, extra: dict[str, str] | None, spool: Path, library: Path) -> Outcome:
    """Run in a fresh directory of always the same name; without the library if `extra` is None."""
    work = base / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    env = {**environment(spool, extra), "LD_PRELOAD": str(library), "PROGRAMS": str(PROGRAMS), "HOME": str(work)}
    if extra is None:
        env = {k: v for k, v in env.items() if k != "LD_PRELOAD" and not k.startswith("CROSSWIND_")}
    # The shell itself runs bare or profiled like all the rest.
    done = subprocess.run(
        ["bash", "-c", case.script], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    stderr = b"\n".join(strip_process_ids(line) for line in done.stderr.splitlines())
    return Outcome(done.returncode, done.stdout, stderr, files_of(work))


def strip_process_ids(line: bytes) -> bytes:
    """bash names the process that a signal ended: `bash: line 1: 4711 Killed  ...`."""
    words = line.split()
    is_obituary = any(word.encode() in line for word in HARMLESS)
    return b" ".join(b"PID" if w.isdigit() and is_obituary else w for w in words)


def parts(case: Case, outcome: Outcome) -> tuple:
    """What is compared."""
    return (outcome.status,) if case.status_only else (outcome.status, outcome.stdout, outcome.stderr, outcome.files)


def works(command: str) -> bool:
    """Whether a command is there and runs."""
    return bool(shutil.which(command)) and subprocess.run([command, "--version"], capture_output=True).returncode == 0


def check_needs(case: Case) -> None:
    """Skip, saying what is missing; fail when the build is incomplete."""
    assert LIBRARY.exists(), f"{LIBRARY} is missing: make build"
    if missing := [n for n in case.needs if not works(n)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if case.root and os.geteuid() != 0:
        pytest.skip("needs root")
    if "harm_musl" in case.script and not (PROGRAMS / "harm_musl").exists():
        pytest.skip("built without musl-gcc: apt install musl-tools, then build again")


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program_does_not_notice(case, setting, tmp_path, reachable_library):
    check_needs(case)
    if case.helper_shows and setting == "helper at once":
        pytest.skip(f"visible by nature: {case.helper_shows}")
    spool = tmp_path / "spool"
    spool.mkdir(mode=0o777)
    spool.chmod(0o1777)
    bare = run(case, tmp_path, None, spool, reachable_library)
    assert parts(case, run(case, tmp_path, None, spool, reachable_library)) == parts(case, bare), (
        "not the same twice without the library"
    )
    assert list(spool.iterdir()) == []
    assert parts(case, run(case, tmp_path, SETTINGS[setting], spool, reachable_library)) == parts(case, bare)
    assert list(spool.iterdir()) or case.leaves_nothing, "the library was not there"


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


# --- spool directories that are of no use -------------------------------------------------------------------------

SCRIPT = "seq 1000 | sort -rn | tail -2; echo $?; cat /etc/hostname > copy; $PROGRAMS/harm_portable io; exit 6"


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
def test_no_use_of_a_spool_directory(useless, setting, tmp_path, reachable_library):
    case = Case("useless spool", SCRIPT)
    (tmp_path / "spool").mkdir()
    spool = useless(tmp_path / "spool")
    before = files_of(tmp_path / "spool")
    bare = run(case, tmp_path, None, spool, reachable_library)
    assert run(case, tmp_path, SETTINGS[setting], spool, reachable_library) == bare
    assert files_of(tmp_path / "spool") == before


@pytest.fixture
def small_tmpfs(tmp_path):
    """A tmpfs of 64 KiB, for root only."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a tmpfs")
    mount_point = tmp_path / "small"
    mount_point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount_point], check=True)
    yield mount_point
    subprocess.run(["umount", mount_point], check=True)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("state", ["full", "nearly full", "read-only"])
def test_spool_file_system_without_room(state, setting, small_tmpfs, tmp_path, reachable_library):
    case = Case("no room", SCRIPT)
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", small_tmpfs], check=True)
    else:
        (small_tmpfs / "filler").write_bytes(bytes(65536 if state == "full" else 40960))
    bare = run(case, tmp_path, None, small_tmpfs, reachable_library)
    assert run(case, tmp_path, SETTINGS[setting], small_tmpfs, reachable_library) == bare
