"""Agents of the simulated cluster: on its nodes, and beside its file server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support import file_server
from support.cluster import NODES, Cluster

END_S = 30.0
_STARTED: list[subprocess.Popen] = []  # by this process; a site's agents outlive the one that started them


def start_agents(cluster: Cluster, slice_length: str, nodes: Sequence[str] = NODES) -> None:
    """One on each node, which sees the network of its node and the processors and disks of this machine. Their pids
    and logs are in the cluster's state.
    """
    for node in nodes:
        _prepare(cluster.spool_of(node))
        init = (cluster.state / "run" / f"init-{node}.pid").read_text().strip()
        enter = ["nsenter", "--target", init, "--pid", "--mount", "--uts", "--net"]
        _start(cluster, node, slice_length, cluster.local / "spool", enter)


def start_server_agent(cluster: Cluster, slice_length: str) -> None:
    """The one of the file server. It reads the network of the server alone: the rest is that of this machine."""
    _prepare(file_server.spool(cluster))
    enter = ["nsenter", f"--net={file_server.NAMESPACE}"]
    options = ("--node", file_server.NODE, "--server", file_server.RESOURCE, "--sources", "network")
    _start(cluster, file_server.NODE, slice_length, file_server.spool(cluster), enter, options)


def stop_agents(cluster: Cluster) -> None:
    """All of them have ended their files."""
    pids = []
    for file in sorted((cluster.state / "run").glob("agent-*.pid")):
        pid = int(file.read_text())
        if _is_agent(pid):
            os.kill(pid, signal.SIGTERM)
            pids.append(pid)
        file.unlink()
    end = time.monotonic() + END_S
    while any(_is_agent(pid) for pid in pids):
        assert time.monotonic() < end, f"agents {pids} do not end within {END_S} s"
        time.sleep(0.1)
    while _STARTED:
        _STARTED.pop().wait(END_S)


@contextmanager
def running_agents(cluster: Cluster, slice_length: str) -> Iterator[None]:
    """Those of the nodes; they have ended their files at the end."""
    start_agents(cluster, slice_length)
    try:
        yield
    finally:
        stop_agents(cluster)


def _prepare(spool: Path) -> None:
    """As the library wants it, too."""
    spool.mkdir(parents=True, exist_ok=True)
    spool.chmod(0o1777)


def _start(
    cluster: Cluster, node: str, slice_length: str, spool: Path, enter: Sequence[str], options: Sequence[str] = ()
) -> None:
    command = [*enter, sys.executable, "-m", "crosswind.tools", "agent", "--spool", str(spool)]
    with (cluster.state / "log" / f"agent-{node}.log").open("a") as log:
        started = subprocess.Popen(
            [*command, "--slice", slice_length, *options],
            env=cluster.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    _STARTED.append(started)
    end = time.monotonic() + END_S
    while not _is_agent(pid := Cluster.child_of(started.pid)):
        assert started.poll() is None, f"the agent of {node} did not start: see {log.name}"
        assert time.monotonic() < end, f"the agent of {node} did not start within {END_S} s"
        time.sleep(0.02)
    (cluster.state / "run" / f"agent-{node}.pid").write_text(f"{pid}\n")


def _is_agent(pid: int) -> bool:
    """Whether this process is an agent; an ended one that nobody has waited for has no command line."""
    try:
        return b"crosswind.tools\0agent\0" in Path(f"/proc/{pid}/cmdline").read_bytes() and (
            Path(f"/proc/{pid}/comm").read_text() != "nsenter\n"
        )
    except FileNotFoundError:
        return False
