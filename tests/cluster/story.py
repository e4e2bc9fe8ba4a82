"""A true story for the pages: one user's job disturbs another's, on the simulated Slurm, into an SQLite database.

    cd tests && python -m cluster.story DATABASE [--seconds 120]      as root

alice's victim computes, meets in small collectives and writes now and then, one rank on each of two nodes. bob's noise
sends as fast as it can between the same nodes for 5 s in every 15 s. Two more jobs run beside them and do little. What
they share is real: the "nodes" are namespaces of this machine, and the link between them carries 100 Mbit/s at most, so
that small messages wait behind large ones. All share this machine's processors and disk, too. The agents of both nodes
watch; they see the network of their node, and the processors of the whole machine.

Prints a JSON document with the jobs' ids and keys in the database, and ends with 1 if the estimate does not find the
victim's lost time or lookup does not name bob's job first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from crosswind.db import open_database, queries, reading
from crosswind.tools.lookup import look_up
from support.agents import running_agents
from support.cluster import NODES, USERS, Cluster, collect_once, running_cluster, why_not
from support.preload import BUILD, PROGRAMS

ALICE, BOB = USERS
SLICE = "1s"
ACTIVE_S, SILENT_S = 5, 10
SETTLE_S = 5  # what runs beside the victim begins before it and ends after it
LINK = ("rate", "100mbit", "burst", "32kb", "latency", "10ms")  # what goes to a node
LEAST_PCT = 5.0  # bob holds up nearly all that alice does for a third of the time
VICTIM, QUIET = PROGRAMS / "cluster_victim.openmpi", PROGRAMS / "cluster_job"
LOAD = BUILD / "load"


class NoStory(Exception):
    """This machine cannot tell it; the message says why."""


@dataclass(frozen=True)
class StoryJob:
    """A job of the story. job_id: its id in Slurm; key: that of its step 0 in the database."""

    user: str
    job_id: str
    key: int
    command: str


@dataclass(frozen=True)
class Story:
    """What came out. interference_pct: of the victim's estimate. first: the job that lookup names first, and whether it
    calls it found.
    """

    database: str
    victim: StoryJob
    noise: StoryJob
    bystanders: tuple[StoryJob, ...]
    interference_pct: float
    first: str
    is_found: bool

    @property
    def problems(self) -> list[str]:
        """Why it is not the story that was to be told."""
        lost = f"the estimate finds {self.interference_pct:.1f} % lost, at least {LEAST_PCT:g} % are due"
        blamed = f"lookup names job {self.first} first, it was job {self.noise.job_id}"
        return [lost] * (self.interference_pct < LEAST_PCT) + [blamed] * (self.first != self.noise.job_id)


def main(argv: list[str]) -> int:
    """Tell the story."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("--seconds", type=int, default=120, help="how long the victim runs")
    options = parser.parse_args(argv)
    if why_not():
        sys.exit(f"cluster.story: {why_not()}")
    try:
        story = make_story(options.database, options.seconds)
    except NoStory as error:
        sys.exit(f"cluster.story: {error}")
    print(json.dumps(asdict(story), indent=2))
    for problem in story.problems:
        print(f"cluster.story: {problem}", file=sys.stderr)
    return 1 if story.problems else 0


def make_story(database: Path, seconds: int = 120) -> Story:
    """Run the jobs and load them into a new database file. Raises NoStory where the link cannot be limited."""
    url = f"sqlite:///{database.absolute()}"
    with running_cluster(f"slice={SLICE} digest=off") as cluster:
        if not cluster.limit_links(*LINK):
            raise NoStory("the kernel cannot limit a link (no sch_tbf): run it on a machine that has this module")
        with running_agents(cluster, SLICE):
            ids = run_jobs(cluster, seconds)
        spools = [cluster.spool_of(node) for node in NODES]
        collect_once(spools, url, "--slurm-events", str(cluster.events("sqlite")))
    return read_story(url, *ids)


def run_jobs(cluster: Cluster, seconds: int) -> list[int]:
    """Submit all and wait for their end; ids of the victim, the noise, the bystanders."""
    longer = seconds + 2 * SETTLE_S
    two_nodes = ("-N2", "--ntasks-per-node=1")
    periodic = f"--active {ACTIVE_S} --silent {SILENT_S}"
    noise = mpi(f"{LOAD}/load-network.openmpi --kind pairs --seconds {longer} {periodic}")
    listing = mpi(f"{LOAD}/load-metadata.openmpi --seconds {longer} --active 4 --silent 7 --intensity 0.02 --dir .")
    beside = [
        cluster.submit(BOB, noise, "--job-name=exchange", *two_nodes),
        cluster.submit(ALICE, f"srun {QUIET} {longer} quiet-$SLURM_JOB_ID", "--job-name=monitor", "-w", "n1"),
        cluster.submit(BOB, listing, "--job-name=listing", "-w", "n2"),
    ]
    cluster.wait(beside, "RUNNING")
    time.sleep(SETTLE_S)
    lattice = mpi(f"{VICTIM} {seconds} victim-$SLURM_JOB_ID")
    victim = cluster.submit(ALICE, lattice, "--job-name=lattice", *two_nodes)
    time.sleep(seconds)  # asking Slurm takes processors, too
    ended = cluster.wait([victim, *beside], timeout=60)
    assert set(ended.values()) == {"COMPLETED"}, [(job, cluster.output(job)) for job in ended]
    return [victim, *beside]


def mpi(program: str) -> str:
    """A script that starts an MPI program in all of its job. Waiting ranks let others have the processor."""
    settings = {"btl_tcp_if_include": "eth0", "mpi_yield_when_idle": "1"}
    return "\n".join(
        [f"export OMPI_MCA_{name}={value}" for name, value in settings.items()] + [f"srun --mpi=pmix {program}"]
    )


def story_in(database: Path) -> Story:
    """The story of a database that was made before: Slurm numbers the jobs as they are submitted."""
    return read_story(f"sqlite:///{database.absolute()}", 4, 1, 2, 3)


def read_story(url: str, victim: int, noise: int, *bystanders: int) -> Story:
    """What the database says of these jobs."""
    found = look_up(f"{victim}.0", url)
    assert found.lines, found.sentence
    blamed = found.lines[0].job
    engine = open_database(url)
    with reading(engine) as conn:
        rows = {job: queries.find_jobs(conn, str(job), "0")[0] for job in (victim, noise, *bystanders)}
    engine.dispose()
    jobs = {job: StoryJob(row.user, row.job_id, row.key, row.command) for job, row in rows.items()}
    estimate = rows[victim].estimate or {}
    return Story(
        database=url,
        victim=jobs[victim],
        noise=jobs[noise],
        bystanders=tuple(jobs[job] for job in bystanders),
        interference_pct=estimate.get("interference_pct") or 0.0,
        first=blamed.job_id if blamed else "",
        is_found=found.lines[0].found,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
