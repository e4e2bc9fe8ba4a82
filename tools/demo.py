"""`crosswind demo`: LAMMPS and a writer meet on a disk; Crosswind shows it.

The two are real MPI jobs, started at the same time by `crosswind run`, each under a job id of its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from crosswind.tools.demo_disk import SharedDirectory, shared_directory
from crosswind.tools.demo_watch import Watch
from crosswind.tools.errors import CommandError
from crosswind.tools.evaluation import evaluate, summarize
from crosswind.tools.library import find_library
from crosswind.tools.lookup import look_up
from crosswind.tools.mpi_launch import MPI_ENVIRONMENT, mpirun
from crosswind.tools.output import one_line, step

__all__ = ["demo_command"]

INPUTS = Path(__file__).resolve().parent / "demo"
PROGRAMS = ("lmp", "mpirun.openmpi", "mpicc.openmpi")
RANKS = 2
PERIOD_S = 24.0  # the writer sleeps for the first half of it and writes for the second
STOP_S = 10.0  # for jobs to end after SIGTERM


@dataclass(frozen=True)
class Job:
    """One of the two jobs: its name, where its profile and output go, and the process that runs it."""

    name: str
    profile: Path
    stdout: Path
    stderr: Path
    process: subprocess.Popen[bytes]


@click.command("demo")
@click.option("--dir", "base", default="demo-run", show_default=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--seconds", default=120, show_default=True, type=click.IntRange(8, 3600), help="How long the jobs run.")
@click.option("--no-serve", is_flag=True, help="End after loading the profiles.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, 65535), help="Where to serve.")
def demo_command(base: Path, seconds: int, no_serve: bool, port: int) -> None:
    """Run two real jobs at the same time, one of which disturbs the other, and show what Crosswind makes of it.

    LAMMPS (2 ranks) logs every step and writes restarts to a directory; a writer floods the same disk for 12 s in every
    24 s. As root, the directory is a small ext4 image on a loop device that a cgroup limits to 50 MB/s. It is
    removed at the end, and the files stay in the demo's directory.

    \b
    Example: crosswind demo --no-serve
    """
    _check_programs()
    base = base.absolute()
    _prepare(base)
    with _orderly_end(), shared_directory(base) as shared:
        click.echo(f"shared directory: {shared.description}")
        writer = _build_writer(base)
        jobs = _run_jobs(base, shared, writer, seconds)
    for job in jobs:
        _check_job(job)
    url = _load(base, jobs)
    _report(jobs[0], url)
    if no_serve:
        click.echo(f"\nSee it in the browser: crosswind serve --db {url}")
    else:
        _serve(url, port)


def _check_programs() -> None:
    find_library()
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        raise CommandError(
            f"not installed: {', '.join(missing)}: run `make setup`, or install lammps and libopenmpi-dev"
        )


def _prepare(base: Path) -> None:
    """An empty place for this demo's files; only names that a demo makes are removed."""
    base.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.xwp", "*.out", "*.err", "crosswind.db*", "writer"):
        for path in base.glob(pattern):
            path.unlink()


@contextlib.contextmanager
def _orderly_end() -> Iterator[None]:
    """Make SIGTERM and SIGHUP an exception, as SIGINT is one, so that everything is cleaned up."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _build_writer(base: Path) -> Path:
    program = base / "writer"
    command = ["mpicc.openmpi", "-O2", "-o", str(program), str(INPUTS / "writer.c")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise CommandError(f"mpicc.openmpi cannot build the writer: {result.stderr}")
    return program


def _run_jobs(base: Path, shared: SharedDirectory, writer: Path, seconds: int) -> list[Job]:
    """Both jobs from start to end, with a line of progress."""
    period = min(PERIOD_S, seconds / 2)
    lammps = ["lmp", "-in", str(INPUTS / "melt.lmp"), "-screen", "none", "-log", "none"]
    lammps += ["-var", "dir", str(shared.path), "-var", "seconds", str(seconds)]
    jobs: list[Job] = []
    try:
        jobs.append(_start("lammps", lammps, base, shared))
        jobs.append(_start("writer", [str(writer), str(shared.path), str(seconds), str(period)], base, shared))
        watch = Watch(shared.path / "log.melt", jobs[1].stdout, seconds)
        watch.until(lambda: all(job.process.poll() is not None for job in jobs))
    finally:
        _end(jobs)
    click.echo(watch.summary())
    return jobs


def _start(name: str, program: list[str], base: Path, shared: SharedDirectory) -> Job:
    profile, out, err = (base / f"{name}.{ending}" for ending in ("xwp", "out", "err"))
    launched = [*mpirun("openmpi", RANKS), *program]
    run = [sys.executable, "-m", "crosswind.tools", "run", "-o", str(profile), "--", *launched]
    job_id = f"demo-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    environment = {**os.environ, **MPI_ENVIRONMENT, "CROSSWIND_JOB_ID": job_id}
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            shared.command(run), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment
        )
    return Job(name, profile, out, err, process)


def _end(jobs: list[Job]) -> None:
    """End what still runs: only after an error or a signal."""
    running = [job.process for job in jobs if job.process.poll() is None]
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _check_job(job: Job) -> None:
    if job.process.returncode != 0 or not job.profile.exists():
        last = job.stderr.read_text(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise CommandError(f"{job.name} failed ({last[0]}): see {job.stderr} and {job.stdout}")


def _load(base: Path, jobs: list[Job]) -> str:
    """Load both profiles with their estimates; the database's URL."""
    from crosswind.collector import load_profile_file
    from crosswind.db.connection import open_database

    url = f"sqlite:///{base / 'crosswind.db'}"
    engine = open_database(url)
    with step(f"loading both profiles into {base / 'crosswind.db'}"):
        for job in jobs:
            load_profile_file(job.profile, engine, evaluate=evaluate, summarize=summarize)
    engine.dispose()
    return url


def _report(lammps: Job, url: str) -> None:
    """What Crosswind says about LAMMPS: its digest, its estimate, and what rose when it lost time."""
    from crosswind.analysis import estimate_profile
    from crosswind.profile.store import read_profile

    click.echo(f"\nLAMMPS's digest:\n\n{lammps.stderr.read_text(errors='replace').rstrip()}\n")
    profile = read_profile(lammps.profile)
    click.echo(f"LAMMPS's estimate: {estimate_profile(profile).sentence()}")
    with step("looking up what ran beside it"):
        click.echo(f"What ran beside it: {one_line(look_up(profile.job.id, url).sentence)}")


def _serve(url: str, port: int) -> None:
    click.echo()
    sys.stdout.flush()
    command = [sys.executable, "-m", "crosswind.tools", "serve", "--db", url, "--port", str(port)]
    os.execv(sys.executable, command)  # noqa: S606 (no shell is wanted)
