"""Many threads that call as fast as they can: how many calls a second, that all are counted, and that nothing locks."""

from __future__ import annotations

import re
import shutil
import tempfile

from measure import BenchError, Goal, Result, Variant, run, take_turns
from variants import BARE, CROSSWIND, Setup, spool_directory

from crosswind.profile import merge_directory

THREADS = (1, 2, 8)
CALLS = {1: 2_000_000, 2: 4_000_000, 8: 8_000_000}
GOAL_NS = 100.0
"""10 million calls a second, of all threads together."""


def flood(setup: Setup) -> list[Result]:
    """ns between two calls of all threads together."""
    variants = [setup.variants()[name] for name in (BARE, CROSSWIND)]
    rounds = setup.rounds(20)

    def ns_per_call(variant: Variant) -> dict[str, float]:
        found: dict[str, float] = {}
        for threads in THREADS:
            program = [str(setup.program("flood")), str(threads), str(CALLS[threads])]
            for line in run(["env", *variant.assignments(), *program], environment).splitlines():
                name, _, per_second = line.split()
                found[f"{name}, {threads} thread{'s' * (threads > 1)}"] = 1e9 / float(per_second)
        return found

    with spool_directory() as environment:
        _check_counts(setup, environment)
        samples = take_turns(variants, rounds, ns_per_call, setup.progress("flood", rounds * len(variants)))
    note = f"counts exact; futex calls: {_futex_calls(setup)}"
    goals = {"fwrite_unlocked, 8 threads": [Goal(GOAL_NS, CROSSWIND)]}
    return [Result(f"flood: {name}", "ns", 1, s, goals.get(name, ()), note=note) for name, s in samples.items()]


def _check_counts(setup: Setup, environment: dict[str, str]) -> None:
    """Raises BenchError unless each call of 8 threads is counted."""
    calls = 800_000
    library = setup.variants()[CROSSWIND]
    run(["env", *library.assignments(), setup.program("flood"), "8", str(calls)], environment)
    (profile,) = merge_directory(environment["CROSSWIND_SPOOL"])
    for name in ("lseek", "write", "fwrite"):
        counted = int(profile.functions[name][:, 0].sum())
        if counted != calls:
            raise BenchError(f"flood: {counted} calls of {name} were counted of {calls}")


def _futex_calls(setup: Setup) -> str:
    """How often the program asks the kernel to wait or wake, bare and with the library."""
    if not shutil.which("strace"):
        return "not counted, no strace"
    counts = []
    for variant in (setup.variants()[name] for name in (BARE, CROSSWIND)):
        preload = ["-E", f"LD_PRELOAD={variant.preload}"] if variant.preload else []
        with spool_directory() as environment, tempfile.NamedTemporaryFile("r") as trace:
            options = ["-f", "-c", "-e", "trace=futex", "-o", trace.name]
            run(["strace", *options, *preload, setup.program("flood"), "8", "8000"], environment)
            found = re.search(r"(\d+)(?:\s+\d+)? futex", trace.read())
            counts.append(int(found[1]) if found else 0)
    return f"{counts[0]} bare, {counts[1]} with the library, in 24000 calls of 8 threads"
