"""The suite can fail: a library that does harm (programs/harmful.c) is noticed, by the cases named here."""

from __future__ import annotations

import pytest

from support.harm import CASES
from support.harm.programs import build
from support.harm.running import differences

SEEN_BY = {
    "errno": ("calls that fail",),
    "descriptor": ("descriptors", "four descriptors"),
    "thread": ("user name space", "Python counts its threads"),
    "timer": ("NumPy with OpenBLAS", "link-time optimisation"),
    "ignore": ("broken pipe",),
    "environment": ("environment",),
    "memory": ("little address space",),
    "exit": ("pipeline", "glibc program"),
    "status": ("traps", "job control in a pty"),
    "bytes": ("tar to tar", "git"),
    "directory": ("a process's own things", "compiler"),
}


def run_with_harm(name, harm, bench, ready):
    (case,) = (case for case in CASES if case.name == name)
    ready(case)
    bare = bench.bare(case)
    return differences(bench.profiled(case, {"HARM": harm}, preload=build("harmful.so")), bare)


@pytest.mark.parametrize(("harm", "name"), [(harm, name) for harm, names in SEEN_BY.items() for name in names])
def test_harm_is_seen(harm, name, bench, ready):
    assert run_with_harm(name, harm, bench, ready)


@pytest.mark.parametrize("name", sorted({names[0] for names in SEEN_BY.values()}))
def test_what_does_nothing_is_not_seen(name, bench, ready):
    """The control: the same library, told to do nothing."""
    assert not run_with_harm(name, "", bench, ready)
