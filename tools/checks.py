"""What `crosswind doctor` checks, one function each: it looks at this machine and never changes it."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from crosswind.tools import perf_probe
from crosswind.tools.errors import CommandError
from crosswind.tools.library import find_library
from crosswind.tools.profiling import PREFIX

if TYPE_CHECKING:
    from crosswind.profile.model import Profile

__all__ = ["Check", "State", "profile_of_run"]

RUN_TIMEOUT_S = 60.0
STA_UNSYNC = 0x40  # of struct timex
TIMEX_BYTES = 512  # more than struct timex has
# What POSIX directories on these file systems cannot do for a mapped spool file: outlive a crash of the file server
NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "lustre", "gpfs", "cifs", "beegfs", "ceph", "fuse.glusterfs", "fuse.sshfs")


class State(StrEnum):
    """ok; limited: works with less; missing: not there or does not work."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """One line of the doctor. needed: profiling does not work at all without it."""

    name: str
    state: State
    found: str
    advice: str = ""
    needed: bool = False


def library() -> Check:
    """The preloaded library is where the command line finds it."""
    try:
        return Check("library", State.OK, str(find_library()), needed=True)
    except CommandError as error:
        what, _, advice = str(error).partition(": ")
        return Check("library", State.MISSING, what, advice, needed=True)


def dependencies() -> Check:
    """The library asks the dynamic linker for nothing, so that programs of any libc start with it."""
    try:
        path = find_library()
    except CommandError:
        return Check("library's needs", State.MISSING, "no library to look at", needed=True)
    needed = _needed(path)
    if needed is None:
        return Check("library's needs", State.LIMITED, "readelf is not installed", "install binutils to check")
    if needed:
        return Check("library's needs", State.LIMITED, f"needs {', '.join(needed)}", "rebuild it with `make build`")
    return Check("library's needs", State.OK, "no other library (no DT_NEEDED)")


def _needed(path: Path) -> list[str] | None:
    try:
        output = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return None
    return [line.split("[")[-1].rstrip("]") for line in output.splitlines() if "(NEEDED)" in line]


def profiled_run() -> Check:
    """A tiny program really runs under the library and leaves a profile."""
    name = "profiled program"
    try:
        profile = profile_of_run(["/bin/cat", "/proc/self/status"])
    except CommandError as error:
        return Check(name, State.MISSING, str(error), "see the lines above; else please report this", needed=True)
    calls = sum(int(f[:, 0].sum()) for f in profile.functions.values())
    if not calls:
        return Check(name, State.MISSING, "ran, but no call was counted", needed=True)
    return Check(name, State.OK, f"/bin/cat: {calls} calls counted")


def profile_of_run(command: list[str], environment: dict[str, str] | None = None) -> Profile:
    """The profile of a short program run by `crosswind run`. CommandError: it failed or left none."""
    from crosswind.profile.store import read_profile

    with tempfile.TemporaryDirectory(prefix="crosswind-doctor-") as directory:
        output = Path(directory) / "check.xwp"
        run = [sys.executable, "-m", "crosswind.tools", "run", "--digest", "off", "-o", str(output), "--", *command]
        try:
            result = subprocess.run(
                run,
                capture_output=True,
                text=True,
                check=False,
                timeout=RUN_TIMEOUT_S,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandError(f"did not end within {RUN_TIMEOUT_S:.0f} s") from error
        if result.returncode != 0 or not output.exists():
            last = result.stderr.strip().splitlines()[-1:] or ["no message"]
            raise CommandError(f"exit code {result.returncode}: {last[0]}")
        return read_profile(output)


def clock() -> Check:
    """The real-time clock is synchronised, so that slices of different nodes are the same interval."""
    # struct timex: modes, offset, freq, maxerror, esterror, status, ...
    timex = ctypes.create_string_buffer(TIMEX_BYTES)
    ctypes.CDLL(None).adjtimex(timex)
    max_error_us = int.from_bytes(timex.raw[24:32], "little", signed=True)
    status = int.from_bytes(timex.raw[40:44], "little")
    if status & STA_UNSYNC:
        return Check(
            "clock",
            State.LIMITED,
            "not synchronised, as the kernel sees it",
            "run chrony or ntpd; one node alone is not affected",
        )
    return Check("clock", State.OK, f"synchronised, error at most {max_error_us / 1000:.1f} ms")


def cycle_counter() -> Check:
    """The cycle counter can serve as the clock of the wrappers."""
    flags = _cpu_flags()
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if {"constant_tsc", "nonstop_tsc"} <= flags:
        return Check("cycle counter", State.OK, f"invariant (kernel's clock source: {source or 'unknown'})")
    return Check(
        "cycle counter",
        State.LIMITED,
        "not invariant: CLOCK_MONOTONIC is read instead",
        "each wrapped call costs some 20-40 ns more; CROSSWIND_TIMING=0 avoids it",
    )


def _cpu_flags() -> set[str]:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def processor_events() -> list[Check]:
    """Which events perf_event_open gives to this user."""
    paranoid = _read("/proc/sys/kernel/perf_event_paranoid")
    results = []
    for event in perf_probe.EVENTS:
        error = perf_probe.probe(event)
        if error == 0:
            results.append(Check(f"event {event}", State.OK, "can be counted"))
        elif error in (errno.EACCES, errno.EPERM):
            found = f"not permitted (perf_event_paranoid is {paranoid or 'not readable'})"
            advice = "set kernel.perf_event_paranoid to 2 or less, or allow perf_event_open in the container"
            results.append(Check(f"event {event}", State.LIMITED, found, advice))
        else:
            found = f"not there ({errno.errorcode.get(error, error)})"
            advice = "usual in virtual machines: CPU time is used instead"
            results.append(Check(f"event {event}", State.LIMITED, found, advice))
    return results


def papi() -> Check:
    """PAPI can be loaded, for counters per segment."""
    name = ctypes.util.find_library("papi")
    if name is None:
        return Check("PAPI", State.LIMITED, "not installed", "only segments use it, and only with hardware counters")
    return Check("PAPI", State.OK, name)


def spool(directory: Path) -> Check:
    """Spool files can be made, and lie where mapping them is safe and quick."""
    if not directory.is_dir():
        return Check(
            "spool directory", State.MISSING, f"{directory}: not there", f"mkdir -m 1777 {directory}", needed=True
        )
    kind = _file_system(directory)
    try:
        with tempfile.NamedTemporaryFile(prefix="crosswind-doctor-", dir=directory) as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)
    except OSError as error:
        found = f"{directory} ({kind}): {error.strerror}"
        return Check("spool directory", State.MISSING, found, "make room or name another with --spool", needed=True)
    if kind in NETWORK_FILE_SYSTEMS:
        found = f"{directory}: on {kind}, which is neither quick nor safe for mapped files"
        return Check("spool directory", State.LIMITED, found, "use a node-local directory, best in /dev/shm")
    return Check("spool directory", State.OK, f"{directory} ({kind}) can be written")


def leftovers(base: Path) -> Check:
    """Spool directories of runs that were killed themselves."""
    left = [path for path in base.glob(f"{PREFIX}*") if path.stat().st_uid == os.getuid() and _is_abandoned(path)]
    if not left:
        return Check("abandoned spools", State.OK, f"none in {base}")
    found = f"{len(left)} in {base}, the first is {left[0].name}"
    advice = f"crosswind collect --once --spool {left[0]} --db URL loads it; then remove it"
    return Check("abandoned spools", State.LIMITED, found, advice)


def _is_abandoned(spool_directory: Path) -> bool:
    """Whether no running process of ours has it as its spool directory."""
    setting = b"CROSSWIND_SPOOL=" + os.fsencode(spool_directory)
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if setting in environ.read_bytes().split(b"\0"):
                return False
        except OSError:
            continue
    return True


def database(url: str) -> Check:
    """The database can be opened and written."""
    from crosswind.db.connection import open_database
    from crosswind.db.errors import DatabaseError

    try:
        engine = open_database(url, create=False)
        with engine.begin() as connection:
            kind = connection.dialect.name
    except DatabaseError as error:
        return Check("database", State.MISSING, str(error), "`crosswind collect --db URL` makes it")
    return Check("database", State.OK, f"{kind}, schema is current")


def _file_system(directory: Path) -> str:
    """The type of the file system that holds the directory, by its longest mount point."""
    best, kind = "", "unknown"
    path = str(directory.resolve())
    for line in _read("/proc/self/mounts").splitlines():
        _, mount, fs_type, *_ = line.split()
        if (path == mount or path.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, fs_type
    return kind


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
