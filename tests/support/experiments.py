"""Results directories as `crosswind experiment run` leaves them, with planted effects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosswind.db import open_database
from crosswind.db.store import load_profile
from crosswind.profile import Profile, write_profile
from crosswind.tools.evaluation import evaluate, summarize
from crosswind.tools.experiment.records import ProgramRecord, RunRecord, write_record
from support.profiles import FIRST_SLICE, SLICE_NS, make_profile

S = 1_000_000_000
BEGIN_S = FIRST_SLICE * SLICE_NS // S
WRITES = {"posix_net_write_bytes": 1.0, "posix_net_write_calls": 1e-6, "posix_net_write_time": 0.0, "cpu_time": 5e7}

PERIODIC = """
[experiment]
name = "dents"
title = "A continuous writer beside a periodic one"
kind = "periodic"
repetitions = {repetitions}

[programs.writer]
command = ["{{load}}/load-pattern", "--volume", "1G", "--dir", "{{scratch}}"]
measure = "rate"

[programs.noise]
command = ["{{load}}/load-pattern", "--active", "4", "--silent", "4", "--dir", "{{scratch}}"]
measure = "rate"

[[pairs]]
probes = ["writer"]
signals = ["noise"]
"""
MATRIX = """
[experiment]
name = "matrix"
title = "Patterns against each other"
kind = "matrix"
repetitions = {repetitions}
"""
PROGRAM = """
[programs."{name}"]
command = ["{{load}}/load-pattern", "--chunk", "{chunk}", "--dir", "{{scratch}}"]
measure = "rate"
"""
PAIRS = """
[[pairs]]
probes = {names}
signals = {names}
mutual = true
"""


@dataclass(frozen=True)
class Work:
    """A program of a run: bytes a second in each second of its run, which begins `start_s` after the run."""

    program: str
    per_second: Sequence[float]
    start_s: float = 0.0
    phases_s: Sequence[tuple[float, float]] = ()
    ended: str = "volume"
    mpi: str = "openmpi"
    n_segments: int = 0
    slow_segments: Mapping[int, float] | None = None


class Made:
    """A results directory that is filled run by run; jobs.db is filled as well."""

    def __init__(self, directory: Path, description: str) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "experiment.toml").write_text(description)
        (directory / "machine.json").write_text(json.dumps({"cpu": "a <made-up> processor", "cores": 2}))
        self._at_s = BEGIN_S
        self._engine = open_database(f"sqlite:///{directory / 'jobs.db'}")

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def run(self, repetition: int, probe: Work, signal: Work | None = None, **changes: object) -> RunRecord:
        """One run, one after the other; changes: of its record."""
        key = f"{probe.program}--{signal.program if signal else 'alone'}--{repetition}"
        tries = changes.get("try_number", 1)
        folder = self.directory / "runs" / (f"{key}.try{tries}" if changes.get("status") == "discarded" else key)
        folder.mkdir(parents=True)
        programs = [self._program(folder, key, "probe", probe)]
        programs += [self._program(folder, key, "signal", signal)] if signal else []
        record = RunRecord(
            key=key, probe=probe.program, signal=signal and signal.program, repetition=repetition,
            begin_ns=self._at_s * S, end_ns=max(p.end_ns for p in programs), programs=programs,
            **{"status": "done", **changes},
        )  # fmt: skip
        write_record(folder, record)
        self._at_s += 100
        return record

    def _program(self, folder: Path, key: str, role: str, work: Work) -> ProgramRecord:
        begin = self._at_s * S + round(work.start_s * S)
        end = begin + len(work.per_second) * S
        profile = self._profile(f"{key}-{role}", begin, work)
        write_profile(profile, folder / f"{role}.xwp")
        load_profile(self._engine, profile, evaluation=evaluate(profile), summarize=summarize)
        active = work.phases_s or [(0, len(work.per_second))]
        report = {
            "program": "load-pattern", "ranks": 1, "seed": 1, "start_ns": begin, "end_ns": end, "ended": work.ended,
            "unit": "B", "total": sum(work.per_second), "per_second": list(work.per_second),
            "active_ns": [[begin + round(a * S), begin + round(b * S)] for a, b in active],
        }  # fmt: skip
        return ProgramRecord(
            role=role, program=work.program, job_id=f"{key}-{role}", step="0", begin_ns=begin, end_ns=end,
            exit_code=0, profile=f"{role}.xwp", report=report,
        )  # fmt: skip

    def _profile(self, job_id: str, begin_ns: int, work: Work) -> Profile:
        made = make_profile(
            job_id=job_id, command=work.program, n_ranks=1, n_slices=len(work.per_second), slice_ns=S,
            first_slice=begin_ns // S, rates=WRITES, functions={}, mpi=work.mpi, n_segments=work.n_segments,
            slow_segments=work.slow_segments,
        )  # fmt: skip
        written = np.array([work.per_second]).astype(np.int64)
        busy = np.full(written.shape, 9 * S // 10, dtype=np.int64)
        slices = {"posix_net_write_bytes": written, "posix_net_write_time": busy}
        return replace(made, slices={**made.slices, **slices, "posix_net_write_calls": -(-written // (1 << 20))})


def dents(seconds: int, active: int = 4, silent: int = 4, depth: float = 0.5, seed: int = 1) -> list[float]:
    """A rate around 100 MB/s that falls by `depth` in the first `active` seconds of each period."""
    random = np.random.default_rng(seed)
    at = np.arange(seconds) % (active + silent)
    return [float(v) for v in 1e8 * (1 - depth * (at < active)) * random.normal(1, 0.04, seconds)]


def phases(seconds: int, active: int = 4, silent: int = 4) -> list[tuple[float, float]]:
    """The active phases of a signal that began with one."""
    return [(t, min(t + active, seconds)) for t in range(0, seconds, active + silent)]


def periodic(directory: Path, repetitions: int = 3, **of_probe: object) -> Made:
    """A writer that takes 30 s alone and 40 s beside a noise of 4 s in 8, which halves its rate."""
    made = Made(directory, PERIODIC.format(repetitions=repetitions))
    for i in range(repetitions):
        made.run(i, Work("writer", [1e8 + 1e6 * i] * 30, **of_probe))
        made.run(i, Work("noise", [8e7] * 40, phases_s=phases(40), ended="time"))
        signal = Work("noise", [8e7] * 40, phases_s=phases(40), ended="stopped")
        made.run(i, Work("writer", dents(40, seed=i), **of_probe), signal)
    return made


def matrix(directory: Path, repetitions: int = 5, chunks: Sequence[str] = ("1M", "16M"), skip: int = 0) -> Made:
    """Two patterns each against the other and itself: `seek` keeps half beside `append`, which keeps 0.9 of its rate
    beside `seek`; beside itself each keeps 0.6. skip: how many repetitions of the pairs are missing.
    """
    names = {chunk: [f"seek.{chunk}", f"append.{chunk}"] for chunk in chunks}
    programs = "".join(PROGRAM.format(name=n, chunk=c) for c, several in names.items() for n in several)
    tables = "".join(PAIRS.format(names=json.dumps(several)) for several in names.values())
    made = Made(directory, MATRIX.format(repetitions=repetitions) + programs + tables)
    random = np.random.default_rng(1)

    def at(name: str, kept: float) -> Work:
        rate = 1e8 * (1 if "seek" in name else 1.5) * kept * random.normal(1, 0.05)
        return Work(name, [rate] * 8, ended="time")

    for i in range(repetitions):
        for seek, append in names.values():
            made.run(i, at(seek, 1.0))
            made.run(i, at(append, 1.0))
            if i >= skip:
                made.run(i, at(seek, 0.5), at(append, 0.9), mutual=True)
                made.run(i, at(seek, 0.6), at(seek, 0.6), mutual=True)
                made.run(i, at(append, 0.6), at(append, 0.6), mutual=True)
    return made
