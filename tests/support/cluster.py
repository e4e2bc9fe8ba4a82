"""The simulated Slurm cluster of tests/cluster/slurm-up.sh, as the tests see it."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.preload import BUILD, LIBRARY, ROOT

SCRIPTS = ROOT / "tests" / "cluster"
PLUGIN = BUILD / "spank_crosswind.so"
USERS = ("cw-alice", "cw-bob")
NEEDED = ("slurmctld", "slurmd", "munged", "ip", "nsenter", "unshare", "runuser", "useradd")
NODES = ("n1", "n2")
LOCK = Path("/run/lock/crosswind-test-cluster")
STANDING = Path("/run/lock/crosswind-standing-cluster")  # the state of the cluster that `make cluster-up` left running
SLICE_NS = 500_000_000


def why_not() -> str:
    """Why there can be no cluster on this machine, and the way out; nothing when there can."""
    if os.geteuid() != 0:
        return "a simulated cluster needs root (run make test-cluster as root)"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (make test-cluster installs tools/setup/apt-packages-cluster.txt)"
    if not PLUGIN.exists():
        return f"{PLUGIN} was not built: install libslurm-dev and build again"
    probe = ["unshare", "--cgroup", "--uts", "--mount", "--pid", "--net", "--fork", "true"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        return "this machine allows no namespaces (a container without privileges?)"
    return ""


@dataclass(frozen=True)
class Cluster:
    """A running cluster. state: where all of it lies. local: a directory that is each node's own, seen on the node."""

    state: Path

    @property
    def local(self) -> Path:
        """Each node's own disk, as the node sees it."""
        return self.state / "local"

    @property
    def work(self) -> Path:
        """Shared by all, for jobs to write to."""
        return self.state / "work"

    def spool_of(self, node: str) -> Path:
        """A node's spool directory, seen from outside the node."""
        return self.state / "nodes" / node / "local" / "spool"

    def events(self, copy: str) -> Path:
        """One of the directories into which every event goes."""
        return self.state / f"events-{copy}"

    @property
    def environment(self) -> dict[str, str]:
        """What commands need to find the cluster; nothing of Crosswind's own."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CROSSWIND_", "SLURM_", "LD_PRELOAD"))}
        return {**clean, "SLURM_CONF": str(self.state / "etc" / "slurm.conf"), "HOME": "/tmp"}

    def run(self, *command: str | Path, user: str = "root", timeout: float = 120, check: bool = True) -> str:
        """Run a command outside the nodes, as on a login node; its standard output and error."""
        words = [str(word) for word in command]
        if user != "root":
            words = ["runuser", "-u", user, "--", *words]
        done = subprocess.run(
            words, env=self.environment, cwd=self.work, capture_output=True, timeout=timeout, errors="replace"
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0 or not check, (words, done.returncode, output[-2000:])
        return output

    def submit(self, user: str, script: str, *options: str) -> int:
        """Submit a batch script; the job's id. Its output goes to work/ID.out."""
        path = self.work / f"script-{time.monotonic_ns()}.sh"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        output = ("--output=%j.out", "--open-mode=append")
        answer = self.run("sbatch", "--parsable", *output, *options, path, user=user)
        return int(answer.splitlines()[-1].partition(";")[0])

    def output(self, job: int) -> str:
        """What a batch job printed."""
        return (self.work / f"{job}.out").read_text(errors="replace")

    def queue(self) -> dict[int, dict]:
        """All jobs that Slurm knows, as squeue's JSON has them."""
        answer = self.run("squeue", "--json", "--states=all")
        return {row["job_id"]: row for row in json.loads(answer[answer.index("{") :])["jobs"]}

    def wait(self, jobs: Sequence[int], states: str = "ended", timeout: float = 60) -> dict[int, str]:
        """Wait until all jobs are in one of the states (separated by |; ended: all but those of living jobs)."""
        living = {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"}
        end = time.monotonic() + timeout
        while True:
            now = {job: row["job_state"] for job, row in self.queue().items() if job in set(jobs)}
            if all(s not in living if states == "ended" else s in states.split("|") for s in now.values()):
                return now
            assert time.monotonic() < end, f"not {states} within {timeout} s: {now}"
            time.sleep(0.3)

    @staticmethod
    def child_of(pid: int) -> int:
        """The process that an nsenter waits for; the pid itself where it is no nsenter."""
        if Path(f"/proc/{pid}/comm").read_text() != "nsenter\n":
            return pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else pid

    def limit_links(self, *limit: str) -> bool:
        """Let through so much (words of tc's qdisc tbf) of what goes to each node; whether the kernel can."""
        for node in NODES:
            device = ("dev", f"cwv-{node}")
            self.run("tc", "qdisc", "replace", *device, "root", "tbf", *limit, check=False)
            if "tbf" not in self.run("tc", "qdisc", "show", *device):
                return False
        return True

    def free_links(self) -> None:
        """Undo limit_links."""
        for node in NODES:
            self.run("tc", "qdisc", "del", "dev", f"cwv-{node}", "root", check=False)

    def kill_node(self, node: str) -> None:
        """The node is gone from one moment to the next, with every process on it."""
        os.kill(int((self.state / "run" / f"init-{node}.pid").read_text()), signal.SIGKILL)

    def revive(self) -> None:
        """Start what is missing."""
        script([SCRIPTS / "slurm-up.sh", self.state], self.environment)

    def collect(self, node: str, url: str, *options: str) -> None:
        """`crosswind collect --once` on a node, which sees the node's processes and its spool directory."""
        init = (self.state / "run" / f"init-{node}.pid").read_text().strip()
        spool = self.local / "spool"
        if not self.spool_of(node).exists():
            return  # no job ran there
        enter = ["nsenter", "--target", init, "--pid", "--mount", "--uts"]
        collect_once([spool], url, *options, before=enter)


def collect_once(spools: Sequence[Path], url: str, *options: str, before: Sequence[str] = ()) -> None:
    """`crosswind collect --once`; every file could be read."""
    named = [word for spool in spools for word in ("--spool", str(spool))]
    command = [*before, sys.executable, "-m", "crosswind.tools", "collect", *named, "--db", url, "--once", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])


def script(command: Sequence[str | Path], environment: dict[str, str]) -> None:
    """Run one of the cluster's scripts. Its output goes to a file: what it starts keeps it open."""
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.run([str(c) for c in command], env=environment, stdout=log, stderr=log, timeout=120)
        log.seek(0)
        assert done.returncode == 0, log.read()[-3000:]


@contextmanager
def running_cluster(plugstack: str = "") -> Iterator[Cluster]:
    """A cluster of two nodes with two users, gone at the end. Skips where there can be none.

    plugstack: further words for the plugin. One cluster at a time on a machine.
    """
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with the_only_cluster():
        assert not standing(), f"a cluster was left running in {standing()}: end it with make cluster-down"
        cluster = new_cluster()
        try:
            start_cluster(cluster, plugstack)
            yield cluster
        finally:
            stop_cluster(cluster)


@contextmanager
def the_only_cluster(wait: bool = True) -> Iterator[None]:
    """While no other starts one. Raises BlockingIOError instead of waiting."""
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def standing() -> Cluster | None:
    """The cluster that `make cluster-up` left running, if it does; what a crash of the machine left of one is none."""
    try:
        cluster = Cluster(Path(STANDING.read_text().strip()))
        pid = int((cluster.state / "run" / "slurmctld.pid").read_text())
        return cluster if Path(f"/proc/{pid}/comm").read_text() == "slurmctld\n" else None
    except (OSError, ValueError):
        return None


def new_cluster() -> Cluster:
    """Where all of one will lie."""
    return Cluster(Path(tempfile.mkdtemp(prefix="crosswind-cluster-", dir="/tmp")))


def start_cluster(cluster: Cluster, plugstack: str = "") -> None:
    """Two nodes, two users and the plugin. If it fails, stop_cluster ends what there is."""
    _make_users(cluster)
    _prepare(cluster)
    plugin = f"optional {PLUGIN} lib={LIBRARY} spool={cluster.local}/spool {plugstack}"
    environment = {**cluster.environment, "SLURM_PLUGSTACK": plugin, "SLURM_EXTRA": _hooks(cluster)}
    script([SCRIPTS / "slurm-up.sh", cluster.state], environment)


def stop_cluster(cluster: Cluster) -> None:
    """Nothing is left of it."""
    script([SCRIPTS / "slurm-down.sh", cluster.state], cluster.environment)
    for name in (cluster.state / "users").read_text().split():
        subprocess.run(["userdel", name], check=False, capture_output=True)
    shutil.rmtree(cluster.state, ignore_errors=True)


def _prepare(cluster: Cluster) -> None:
    slurm = pwd.getpwnam("slurm")
    cluster.state.chmod(0o755)
    cluster.work.mkdir()
    cluster.work.chmod(0o1777)
    for copy in ("sqlite", "postgresql"):
        cluster.events(copy).mkdir(mode=0o700)
        os.chown(cluster.events(copy), slurm.pw_uid, slurm.pw_gid)


def _hooks(cluster: Cluster) -> str:
    """Lines for slurm.conf: every event is told twice, so that two databases can have it."""
    hook = cluster.state / "job_event.sh"
    events = [f"{ROOT}/batch/slurm/job_event.sh {cluster.events(copy)}" for copy in ("sqlite", "postgresql")]
    hook.write_text("#!/bin/sh\n" + "\n".join(events) + "\n")
    hook.chmod(0o755)
    return f"PrologSlurmctld={hook}\nJobCompType=jobcomp/script\nJobCompLoc={hook}\n"


def _make_users(cluster: Cluster) -> None:
    """The two users, where they are not there; the cluster notes whom it has to remove."""
    known = {entry.pw_name for entry in pwd.getpwall()}
    made = [name for name in USERS if name not in known]
    (cluster.state / "users").write_text(" ".join(made))
    for name in made:
        subprocess.run(["useradd", "--no-create-home", name], check=True, capture_output=True)
