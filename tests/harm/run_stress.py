"""The stress program for as long as one likes: `make stress STRESS_SECONDS=3600`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.harm.stress import run_stress


def main() -> int:
    """Run, print what was done and what was counted; 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    seconds = parser.parse_args().seconds
    result = run_stress(seconds)
    print(f"{seconds} s, exit status {result.status}: {result.summary}")
    for name, truth in result.truth.items():
        print(f"{name:12}{'calls, bytes out, in: '}{truth}{'' if name not in result.differences else '  DIFFERS: '}"
              f"{result.counted[name] if name in result.differences else ''}")  # fmt: skip
    print(f"lost: {result.lost}")
    print("DIFFERENT" if result.differences or result.status else "exact: all calls and bytes agree")
    return 1 if result.differences or result.status else 0


if __name__ == "__main__":
    sys.exit(main())
