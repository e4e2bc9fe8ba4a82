"""All experiments of experiments/, one after the other, on a site of their own: `make experiments`.

    cd tests && python -m cluster.run_experiments RESULTS [NAME...]      as root; NAME: only these, such as fig-2.7

The results of experiments/NAME.toml go to RESULTS/NAME. What is made there is kept: stopped, the same command goes on.
Ends with 1 if an experiment lacks runs; the others are made all the same.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from cluster.site import NoSite, end_site, experiment_options, settings, start_site

from support import file_server
from support.cluster import Cluster, standing
from support.preload import ROOT

EXPERIMENTS = ROOT / "experiments"
NODES_MBIT = 200  # so that what the ranks of the victims say to each other meets what others say


def main(argv: list[str]) -> int:
    """Start the site, make the experiments, end the site."""
    known = sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--mbit", type=int, default=file_server.MBIT, help="of the file server's link")
    parser.add_argument("--nodes-mbit", type=int, default=NODES_MBIT, help="of the link to each node")
    options = parser.parse_args(argv)
    if unknown := set(options.names) - set(known):
        parser.error(f"no experiment {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    if standing():
        sys.exit("cluster.run_experiments: a site is up: end it with make cluster-down")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # it ends the site, too
    try:
        site = start_site(options.mbit, options.nodes_mbit)
    except NoSite as error:
        sys.exit(f"cluster.run_experiments: {error}")
    try:
        lacking = [name for name in options.names or known if not run_experiment(site, name, options.results)]
    finally:
        end_site()
    if lacking:
        print(f"cluster.run_experiments: these lack runs: {', '.join(lacking)}: run it again", file=sys.stderr)
    return 1 if lacking else 0


def run_experiment(cluster: Cluster, name: str, results: Path) -> bool:
    """Make one experiment, where its file says: through Slurm, or on this machine; whether all its runs are done."""
    print(f"== {name}", flush=True)
    results.mkdir(parents=True, exist_ok=True)
    file = EXPERIMENTS / f"{name}.toml"
    command = [sys.executable, "-m", "crosswind.tools", "experiment", "run", str(file), "-o", str(results / name)]
    words = experiment_options(cluster) if 'on = "slurm"' in file.read_text() else []
    return subprocess.run([*command, *words], env={**os.environ, **settings(cluster)}).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
