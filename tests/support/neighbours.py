"""A victim, the writer that disturbed it, and bystanders: one database, and who did it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crosswind.db import load_profile, open_database
from crosswind.tools.evaluation import evaluate
from support.profiles import WRITER_RATES, make_lammps, make_profile

SLICES = 120
SEGMENT_MS = 20.0
LATE_MS = 25.0


def bursts(seed: int) -> np.ndarray:
    """0 or 1 per slice: busy stretches of a few slices at random times."""
    random = np.random.default_rng(seed)
    busy = np.zeros(SLICES)
    for begin in random.choice(SLICES - 6, 8, replace=False):
        busy[begin : begin + random.integers(2, 6)] = 1
    return busy


def make_neighbours(folder: Path) -> str:
    """The URL of a database with jobs `victim`, `culprit`, `other1` to `other5`, all on one node, and `elsewhere`."""
    url = f"sqlite:///{folder}/neighbours.db"
    engine = open_database(url)
    busy = bursts(1)
    n_segments, slow = segments_of(busy)
    victim = make_lammps(
        job_id="victim", n_slices=SLICES, factor=list(1 - 0.3 * busy), n_segments=n_segments, slow_segments=slow
    )
    load_profile(engine, victim, evaluation=evaluate(victim))
    writers = {"culprit": busy, "elsewhere": busy} | {f"other{k}": bursts(k + 1) for k in range(1, 6)}
    for uid, (name, factor) in enumerate(writers.items()):
        profile = make_profile(
            job_id=name, user=name, uid=2000 + uid, command=f"{name}<b>", n_ranks=1, mpi="", n_slices=SLICES,
            rates=WRITER_RATES, factor=list(factor), jitter=0.1, seed=uid,
            hosts=("node77",) if name == "elsewhere" else ("node01",),
        )  # fmt: skip
        load_profile(engine, profile)
    engine.dispose()
    return url


def segments_of(busy: np.ndarray) -> tuple[int, dict[int, float]]:
    """How many segments fit into the run, and the ms that every third lasts longer while the culprit is busy."""
    now_ms, slow = 0.0, {}
    number = 0
    while now_ms < SLICES * 4000:
        if busy[int(now_ms // 4000)] and number % 3 == 0:
            slow[number] = LATE_MS
        now_ms += SEGMENT_MS + slow.get(number, 0.0)
        number += 1
    return number, slow
