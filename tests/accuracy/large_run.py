"""A run of five million segments: simulated, written as a profile, estimated in a fresh process. Seconds and memory.

python -m accuracy.large_run [--segments N] [--ranks N] [--keep FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy.disturbances import episodes
from accuracy.simulator import molecular_dynamics, simulate

from crosswind.profile import write_profile
from crosswind.profile.model import Profile
from support.profiles import make_profile

MOST_S = 60.0
INJECTED_PCT = 10.0
STEP_US = 200.0


def simulated_profile(n_segments: int, n_ranks: int) -> tuple[Profile, float]:
    """A profile of a run of time steps with three episodes, and its true loss in percent."""
    work = molecular_dynamics(n_segments, step_us=STEP_US)
    work = replace(work, rank_share=np.ones((n_ranks, n_segments)))
    run = simulate(work, episodes(work, INJECTED_PCT, seed=1, share=0.15, n=3), seed=1)
    profile = make_profile(n_ranks=n_ranks, n_slices=4, segment_ms=20.0)
    return replace(profile, segments=run.table), run.true_pct


def estimated(path: Path) -> dict[str, float]:
    """The estimate of a file by a process of its own, with its seconds, of them on a processor, and most GiB."""
    before = time.monotonic()
    command = [sys.executable, "-m", "crosswind.tools", "estimate", str(path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        document = json.loads(child.stdout.read())
        _, status, usage = _wait(child)
    assert status == 0
    return {
        "seconds": time.monotonic() - before,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "memory_gib": usage.ru_maxrss / 2**20,
        "segments": document["segments"],
        "interference_pct": document["interference_pct"],
    }


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, int, resource.struct_rusage]:
    """Wait for the child by its own resources, and tell subprocess how it ended."""
    pid, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return pid, child.returncode, usage


def main(arguments: list[str]) -> int:
    """Command line; see the module's docstring.

    Exit status 1: it took more than a minute of a processor, or is off by a point.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=5_000_000)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="Keep the profile there.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="crosswind-large-") as directory:
        path = options.keep or Path(directory) / "large.xwp"
        profile, true_pct = simulated_profile(options.segments, options.ranks)
        write_profile(profile, path)
        n_values = sum(column.size for column in profile.segments.columns.values()) if profile.segments else 0
        del profile
        found = estimated(path)
        size = f"{n_values / 1e6:.0f} million values, {path.stat().st_size / 2**20:.0f} MiB"
        print(
            f"{found['segments']} segments of {options.ranks} ranks ({size}): {found['interference_pct']:.2f} %, ",
            end="",
        )
        print(
            f"truth {true_pct:.2f} %; {found['seconds']:.1f} s, {found['cpu_s']:.1f} s of them on a processor, ", end=""
        )
        print(f"{found['memory_gib']:.2f} GiB")
    return int(found["cpu_s"] > MOST_S or abs(found["interference_pct"] - true_pct) > 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
