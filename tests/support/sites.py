"""A small site: one database with jobs whose numbers are known, and jobs whose names are hostile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosswind.db.connection import open_database
from crosswind.db.store import load_profile
from crosswind.profile.model import Profile
from crosswind.tools.evaluation import evaluate
from support.profiles import make_lammps, make_profile, make_writer

HOSTILE = (
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}${7*7}",
    "'; DROP TABLE job; --",
    "</title><svg onload=alert(1)>",
    "a&order=%00\u202e\u0007b",
    "=1+1;@SUM(A1)",
)
SLOW = {number: 50.0 for number in range(1200, 1790, 4)}  # lost time in slices 6 to 8


@dataclass(frozen=True)
class Jobs:
    """Keys of the jobs in the database."""

    lammps: int
    writer: int
    killed: int
    short: int
    hostile: tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """The database's URL and what is in it."""

    url: str
    jobs: Jobs


def make_site(folder: Path) -> Site:
    """Load the jobs into a new database in this folder."""
    url = f"sqlite:///{folder}/crosswind.db"
    engine = open_database(url)

    def load(profile: Profile) -> int:
        return load_profile(engine, profile, evaluation=evaluate(profile)).job_key

    names = [
        make_profile(
            job_id=f"evil{i}{text}", user=text, command=text, hosts=(f"node09{text}",), n_slices=6, uid=4000 + i
        )
        for i, text in enumerate(HOSTILE)
    ]
    jobs = Jobs(
        lammps=load(make_lammps(slow_segments=SLOW)),
        writer=load(make_writer()),
        killed=load(make_lammps(job_id="1003", user="carol", uid=1002, killed_rank=1, hosts=("node02",))),
        short=load(make_writer(job_id="1004", user="dave", uid=1003, n_slices=1, factor=None, hosts=("node03",))),
        hostile=tuple(load(profile) for profile in names),
    )
    engine.dispose()
    return Site(url, jobs)
