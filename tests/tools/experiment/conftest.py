"""Experiments of seconds with the load programs that were built."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crosswind.collector.agent.nodefile import NodeWriter
from crosswind.collector.agent.sample import Slice
from crosswind.tools.experiment.description import read_experiment
from crosswind.tools.experiment.local import LocalLauncher
from crosswind.tools.experiment.plan import plan
from crosswind.tools.experiment.runner import Runner
from support.preload import BUILD, LIBRARY

CPU = '["{load}/load-cpu", "--seconds", "SECONDS"]'
WRITER = (
    '["{load}/load-pattern", "--pattern", "write-seek", "--chunk", "64k", "--volume", "64G", "--intensity", "0.05", '
    '"--seconds", "SECONDS", "--dir", "{scratch}"]'
)


@pytest.fixture
def load() -> Path:
    """The load programs of Open MPI; skips where they were not built."""
    if not (BUILD / "load" / "load-cpu.openmpi").exists() or not shutil.which("mpirun.openmpi"):
        pytest.skip("no load programs of Open MPI: run `make setup` and `make build`")
    return BUILD / "load"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write an experiment of a probe and a signal; its file."""

    def write_file(
        probe: str = CPU.replace("SECONDS", "1"),
        signal: str = WRITER.replace("SECONDS", "60"),
        *,
        settings: str = "outside_pct = 0",
        of_probe: str = 'measure = "rate"',
        of_signal: str = 'measure = "rate"',
        pairs: str = 'signals = ["s"]\nlead_s = 0.5',
    ) -> Path:
        path = tmp_path / "small.toml"
        path.write_text(
            f'[experiment]\nname = "small"\nrepetitions = 1\n{settings}\n'
            f"[programs.p]\ncommand = {probe}\nseconds = 1\n{of_probe}\n"
            f"[programs.s]\ncommand = {signal}\nseconds = 1\n{of_signal}\n"
            f'[[pairs]]\nprobes = ["p"]\n{pairs}\n'
        )
        return path

    return write_file


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: Path) -> Iterator[Callable[[Path], Runner]]:
    """A runner in this process for the results in tmp_path/results."""
    monkeypatch.setenv("CROSSWIND_LIBRARY", str(LIBRARY))
    made: list[Runner] = []

    def make(file: Path) -> Runner:
        directory = tmp_path / "results"
        (directory / "runs").mkdir(parents=True, exist_ok=True)
        experiment = read_experiment(file)
        made.append(Runner(directory, experiment, plan(experiment, 1), LocalLauncher(tmp_path / "scratch")))
        return made[-1]

    yield make
    for each in made:
        each.clean_up()


@pytest.fixture
def node_file() -> Callable[..., None]:
    """Write the file of an agent on a server s1 of fs:net: n slices from `first` on, each of so many bytes written."""

    def write_file(path: Path, first: int, n: int, length: int, written: int = 1) -> None:
        writer = NodeWriter(path, {"node": "s1", "serves": "fs:net", "slice_ns": length})
        for k in range(first, first + n):
            values = {("nfsd_write_bytes", ""): written, ("nfsd_read_bytes", ""): 0}
            writer.append(Slice(k, k * length, (k + 1) * length, values))
        writer.close()

    return write_file
