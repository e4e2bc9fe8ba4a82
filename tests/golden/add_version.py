#!/usr/bin/env python3
"""Add golden files of a format version: files that a real run left, and what today's reader finds in them.

    add_version.py vN FILE...     FILE: spool files (.xws), logs of short processes (.xwl), profiles (.xwp)

Copies each file to vN/ and writes NAME.expected.json beside it. A golden file is never made anew: what is there
already is refused, because later readers have to find in it what was found then (tests/profile/test_golden.py).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from crosswind.profile import read_profile, read_short_log, read_spool, summarize
from crosswind.profile.dump import records
from crosswind.profile.lifecycle import Machine
from crosswind.profile.merge import merge_files

HERE = Path(__file__).resolve().parent
YEAR_NS = 31_557_600_000_000_000


def findings(path: Path) -> dict[str, Any]:
    """What a reader finds in a file: the records by kind, and the summary of the profile that it makes alone.

    The times of the file and the state of this machine take no part in it.
    """
    os.utime(path, ns=(0, 0))
    if path.suffix == ".xwp":
        profile = read_profile(path)
    else:
        file = read_spool(path) if path.suffix == ".xws" else read_short_log(path)
        start = file.start.real_ns if path.suffix == ".xws" else file.start_ns
        profile = merge_files([file], now_ns=start + YEAR_NS, machine=Machine(""))
    summary = summarize(profile)
    del summary["job"]["user"]  # the name depends on the machine
    summary["lost"]["files"] = [entry["reason"] for entry in summary["lost"]["files"]]
    return {"records": dict(Counter(kind for kind, _ in records(path))), "summary": summary}


def main(argv: list[str]) -> int:
    """Command line; see the module's docstring."""
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = HERE / argv[0]
    folder.mkdir(exist_ok=True)
    for source in map(Path, argv[1:]):
        target = folder / source.name
        if target.exists():
            print(f"{target}: exists; golden files are never made anew", file=sys.stderr)
            return 1
        shutil.copyfile(source, target)
        expected = target.with_name(target.name + ".expected.json")
        expected.write_text(json.dumps(findings(target), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
