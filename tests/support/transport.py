"""For tests of the transport: nodes with spool directories, a way to die anywhere, and a real NATS server."""

import itertools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine

from crosswind.collector import collect_once
from crosswind.collector.transport.bundle import Origin
from crosswind.collector.transport.outbox import Bounds, Outbox
from crosswind.db import queries, reading
from support.spools import CLEAN, FIRST, FIRST_SLICE, LAST, SLICE_NS, Slice, SpoolBuilder

# What a transport does to the outside world: dying before any of these must lose nothing.
STEPS = ("rename", "unlink", "link", "fsync")


class Nodes:
    """Two nodes with a spool directory each, and the collector's."""

    def __init__(self, folder: Path) -> None:
        self.spools = {name: folder / name for name in ("n01", "n02")}
        self.arrived = folder / "collector"
        self.shared = folder / "shared"
        for directory in (*self.spools.values(), self.arrived, self.shared):
            directory.mkdir()
        self.written: dict[str, int] = {}

    def outbox(self, node: str, *, cluster: str = "", bounds: Bounds | None = None) -> Outbox:
        return Outbox(self.spools[node], Origin(node, cluster), bounds or Bounds())

    def step(self, job_id: str, node: str = "n01", n: int = 3, pid: int = 4000, **fields: object) -> Path:
        """The file of a process with 1 s of CPU time in each of n slices."""
        kinds = [(FIRST if i == 0 else 0) | (LAST if i == n - 1 else 0) for i in range(n)]
        slices = [Slice(FIRST_SLICE + i, {"cpu_time": 10**9}, kinds[i], end=-(10**6) * (i == n - 1)) for i in range(n)]
        start = FIRST_SLICE * SLICE_NS
        defaults = {"slices": slices, "state": CLEAN, "start_ns": start, "end_ns": start + n * SLICE_NS - 10**6}
        fields = {"job_id": job_id, "host": node, "pid": pid} | fields
        self.written[job_id] = self.written.get(job_id, 0) + n
        return SpoolBuilder(**defaults | fields).write(self.spools[node])

    def loaded(self, engine: Engine) -> dict[str, int]:
        """Load what arrived; seconds of CPU time by job, in the frames and all together in the background."""
        report = collect_once([self.arrived], engine)
        assert [path for path, _ in report.refused if not path.endswith(".xwn")] == []
        with reading(engine) as conn:
            jobs, _ = queries.list_jobs(conn, limit=10_000)
            frames = {j.job_id: int(queries.get_frames(conn, j.key)["cpu_time"].values.sum()) // 10**9 for j in jobs}
            names = [f"cpu@{node}" for node in self.spools]
            background = queries.get_background(conn, names, ["cpu_time"], FIRST_SLICE, 1000, SLICE_NS)
        assert sum(int(values.sum()) for values in background.values()) == sum(frames.values()) * 10**9
        return frames


def dying(work: Callable[[], object], at: int) -> bool:
    """Do the work in a process that dies, as by kill -9, at its at-th step to the outside; whether it ended before."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _die_at(at)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return not os.WIFSIGNALED(status)


def _die_at(at: int) -> None:
    counter = itertools.count(1)

    def step() -> None:
        if next(counter) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            step()
            return real(*args, **kwargs)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    try:
        from nats.aio.msg import Msg
        from nats.js import JetStreamContext
    except ModuleNotFoundError:
        return
    for owner, name in ((JetStreamContext, "publish"), (JetStreamContext, "purge_stream"), (Msg, "ack_sync")):
        setattr(owner, name, counted(getattr(owner, name)))


class NatsServer:
    """A server with JetStream whose store survives its death."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.url = f"nats://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.folder / "js"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise TimeoutError("nats-server did not come up")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
