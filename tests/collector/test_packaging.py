"""The units a site installs: read by systemd's own programs, and what the service may do tried with the collector."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crosswind.db import open_database, queries, reading
from support.spools import CLEAN, FIRST_SLICE, SLICE_NS, START_NS, Slice, SpoolBuilder

PACKAGING = Path(__file__).parents[2] / "packaging"
SERVICE = PACKAGING / "systemd" / "crosswind-collector.service"


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (apt-get install systemd util-linux): the unit is not tried")
    return program


def setting(name):
    return [line.partition("=")[2] for line in SERVICE.read_text().splitlines() if line.startswith(f"{name}=")]


@pytest.mark.parametrize("service", sorted((PACKAGING / "systemd").glob("*.service")), ids=lambda path: path.stem)
def test_systemd_understands_the_service(tmp_path, service):
    program = tmp_path / "crosswind"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / service.name
    unit.write_text(service.read_text().replace("/opt/crosswind/bin/crosswind", str(program)))
    done = subprocess.run([need("systemd-analyze"), "verify", "--man=no", unit], capture_output=True, text=True)
    told = [line for line in done.stderr.splitlines() if service.name in line]
    assert told == []


def test_the_spool_directory_is_as_the_library_and_the_collector_want_it(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make files for root: run the tests as root")
    rules = PACKAGING / "tmpfiles.d" / "crosswind.conf"
    subprocess.run([need("systemd-tmpfiles"), "--create", f"--root={tmp_path}", rules], check=True)
    spool = tmp_path / "dev/shm/crosswind"
    assert stat.S_IMODE(spool.stat().st_mode) == 0o1777
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in spool.iterdir()}
    assert modes.keys() >= {"claims", "running", "refused", "done"}
    assert set(modes.values()) == {0o700}


def a_users_file(spool):
    builder = SpoolBuilder(slices=[Slice(FIRST_SLICE, {"cpu_time": 10**9})], state=CLEAN, end_ns=START_NS + SLICE_NS)
    path = builder.write(spool)
    os.chown(path, 65534, 65534)
    path.chmod(0o600)


def test_the_services_capabilities_are_enough():
    """As root with nothing but them, a file of another user is taken, loaded and deleted."""
    if os.geteuid() != 0:
        pytest.skip("only root can give capabilities up: run the tests as root")
    (allowed,) = setting("CapabilityBoundingSet")
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in allowed.split())
    with TemporaryDirectory(dir="/tmp") as folder:
        spool = Path(folder) / "spool"
        spool.mkdir()
        spool.chmod(0o1777)
        a_users_file(spool)
        url = f"sqlite:///{folder}/c.db"
        command = [
            need("setpriv"), "--no-new-privs", f"--bounding-set=-all,{kept}", f"--inh-caps=-all,{kept}", sys.executable,
            "-m", "crosswind.tools", "collect", "--spool", str(spool), "--delete", "--once", "--db", url,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with reading(open_database(url, create=False)) as conn:
            assert [job.uid for job in queries.list_jobs(conn)[0]] == [65534]
        assert list(spool.glob("*.xws")) == []
        without = [word.replace(",+dac_override", "") for word in command]
        a_users_file(spool)
        refused = subprocess.run(without, capture_output=True, text=True)
        assert refused.returncode == 1, "with fewer of them it fails, so they are what it needs"
