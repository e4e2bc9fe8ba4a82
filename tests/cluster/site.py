"""A simulated site that stays up, to run experiments on by hand: Slurm with the plugin, a file server, agents, users.

    cd tests && python -m cluster.site up [--mbit 400] [--nodes-mbit 100]      as root; prints the lines to export
    cd tests && python -m cluster.site down

`make cluster-up` and `make cluster-down` do the same. Two nodes share a GlusterFS server behind a link of --mbit;
--nodes-mbit also limits what goes to each node, so that large messages hold up small ones. While a site is up, the
tests that need a cluster refuse to start one, and end with a line that says so.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import file_server
from support.agents import start_agents, start_server_agent, stop_agents
from support.cluster import (
    NODES,
    STANDING,
    Cluster,
    new_cluster,
    standing,
    start_cluster,
    stop_cluster,
    the_only_cluster,
    why_not,
)  # fmt: skip
from support.preload import LIBRARY

SLICE = "1s"
# Ranks on two nodes talk over the nodes' own link, and waiting ones leave the few processors to others.
MPI = {"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_mpi_yield_when_idle": "1"}


class NoSite(Exception):
    """It cannot be started; one clear line says why."""


def main(argv: list[str]) -> int:
    """Start or end it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start it, and print the lines to export")
    up.add_argument("--mbit", type=int, default=file_server.MBIT, help="of the file server's link")
    up.add_argument("--nodes-mbit", type=int, help="of the link to each node; unlimited unless said")
    verbs.add_parser("down", help="end it")
    options = parser.parse_args(argv)
    try:
        if options.verb == "down":
            end_site()
        else:
            print("\n".join(export_lines(start_site(options.mbit, options.nodes_mbit))))
    except NoSite as error:
        sys.exit(f"cluster.site: {error}")
    return 0


def start_site(mbit: int = file_server.MBIT, nodes_mbit: int | None = None) -> Cluster:
    """The site that is up, with links so fast; started if there is none. Raises NoSite."""
    if why_not() or file_server.why_not():
        raise NoSite(why_not() or file_server.why_not())
    try:
        with the_only_cluster(wait=False):
            cluster = standing() or _standing()
    except BlockingIOError:
        raise NoSite("tests are using the simulated cluster: wait for their end") from None
    _set_links(cluster, mbit, nodes_mbit)
    return cluster


def end_site() -> None:
    """Nothing is left of it. Raises NoSite where there is none."""
    cluster = standing()
    if cluster is None:
        raise NoSite("none is up")
    _end(cluster)
    STANDING.unlink(missing_ok=True)


@contextmanager
def running_site(mbit: int = file_server.MBIT) -> Iterator[Cluster]:
    """A site of a test's own, ended afterwards; other tests wait meanwhile. Raises NoSite where one is up already."""
    with the_only_cluster():
        if standing():
            raise NoSite("one is up: end it with make cluster-down")
        cluster = _started()
        try:
            _set_links(cluster, mbit, None)
            yield cluster
        finally:
            _end(cluster)


def settings(cluster: Cluster) -> dict[str, str]:
    """Variables by which commands find the site."""
    return {"SLURM_CONF": cluster.environment["SLURM_CONF"], "CROSSWIND_LIBRARY": str(LIBRARY), **MPI}


def experiment_options(cluster: Cluster) -> list[str]:
    """Options of `crosswind experiment run` that name what the nodes share, where the agents' files are, and how fast
    the links are: in a file, because words of $SITE have no spaces, and it is right also when the links have changed.
    """
    spools = [*map(cluster.spool_of, NODES), file_server.spool(cluster)]
    named = [word for spool in spools for word in ("--agents", str(spool))]
    return ["--on", "slurm", "--scratch", str(file_server.mount(cluster)), *named, "--note", f"@{_note(cluster)}"]


def export_lines(cluster: Cluster) -> list[str]:
    """For a shell."""
    options = shlex.join(experiment_options(cluster))
    return [
        *(f"export {name}={shlex.quote(value)}" for name, value in settings(cluster).items()),
        f"export SITE={shlex.quote(options)}",
        "# crosswind experiment run experiments/fig-2.7.toml $SITE",
    ]


def links_in_words(mbit: int, nodes_mbit: int | None) -> str:
    """What results say of the site."""
    nodes = "" if nodes_mbit is None else f", {nodes_mbit} Mbit/s to each node"
    return f"simulated cluster: {mbit} Mbit/s to the file server{nodes}"


def _set_links(cluster: Cluster, mbit: int, nodes_mbit: int | None) -> None:
    """Make them so fast, and note it."""
    file_server.start_file_server(cluster, mbit)
    if nodes_mbit is None:
        cluster.free_links()
    elif not cluster.limit_links("rate", f"{nodes_mbit}mbit", "burst", "32kb", "latency", "10ms"):
        raise NoSite("the kernel cannot limit a link (no sch_tbf)")
    _note(cluster).write_text(f"{links_in_words(mbit, nodes_mbit)}\n")


def _note(cluster: Cluster) -> Path:
    """What experiments are to keep of the site."""
    return cluster.state / "note"


def _started() -> Cluster:
    cluster = new_cluster()
    try:
        start_cluster(cluster, f"slice={SLICE} digest=off")
        file_server.start_file_server(cluster)
        start_agents(cluster, SLICE)
        start_server_agent(cluster, SLICE)
    except BaseException:
        _end(cluster)
        raise
    return cluster


def _standing() -> Cluster:
    """One that outlives this process."""
    cluster = _started()
    STANDING.write_text(f"{cluster.state}\n")
    return cluster


def _end(cluster: Cluster) -> None:
    stop_agents(cluster)
    file_server.stop_file_server(cluster)
    stop_cluster(cluster)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
