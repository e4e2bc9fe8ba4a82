#!/usr/bin/env python3
"""Fuzz the readers of spool files, logs of short processes and profiles for a while.

    fuzz_readers.py [--seconds 60] [--seed N]

Each mutated file must give a valid profile or a FormatError, within 5 s and 4 GiB. A file that does not is kept in
tests/fuzz/found/ and the exit status is 1; make it a case of tests/profile/test_hostile.py when it is repaired.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.hostile import KINDS, SUFFIX, Samples, try_file  # noqa: E402 the path comes first

SLOWEST_S = 5.0
MEMORY = 4 << 30


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(f"seed {args.seed}, {args.seconds:g} s", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        return fuzz(Path(directory), random.Random(args.seed), args.seconds)


def fuzz(directory: Path, rng: random.Random, seconds: float) -> int:
    """Mutate and read until the time is over; 1 when a file was found that the readers do not master."""
    samples, outcomes, faults = Samples(directory), Counter(), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        kind = rng.choice(KINDS)
        path = directory / f"hostile{SUFFIX[kind]}"
        path.write_bytes(samples.mutated(kind, rng))
        began = time.monotonic()
        try:
            outcome = try_file(path, kind)
        except Exception:
            traceback.print_exc()
            outcome = "fault"
        if time.monotonic() - began > SLOWEST_S:
            outcome = "slow"
        outcomes[f"{kind} {outcome}"] += 1
        if outcome in ("fault", "slow"):
            faults += 1
            found = HERE / "found"
            found.mkdir(exist_ok=True)
            path.rename(found / f"{outcome}-{time.time_ns()}{SUFFIX[kind]}")
    print(", ".join(f"{name}: {n}" for name, n in sorted(outcomes.items())))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
