"""First law: a program under Crosswind has the same exit status, output and files as without it.

The programs are listed in support/harm/. Each runs twice without the library. What differs between these two, or in a
third such run that is made where the library seems to be noticed, is not compared; the test's report names it. The exit
status must always be the same.
"""

from __future__ import annotations

import re

import pytest

from support.harm import CASES
from support.harm.running import differences

AT_ONCE = {"CROSSWIND_HELPER_AFTER": "0", "CROSSWIND_SLICE": "100ms"}
SETTINGS = {"default": {}, "helper at once": AT_ONCE, "disabled": {"CROSSWIND_DISABLE": "1"}}


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program_does_not_notice(case, bench, ready, not_compared):
    ready(case)
    bare = bench.bare(case)
    assert bare.status == case.status, f"without the library already: {bare}"
    assert re.search(case.shows, bare.stdout.decode(errors="replace")), f"without the library already: {bare}"
    unsteady = set()

    def run_bare_again():
        unsteady.update(differences(bench.bare(case), bare))
        assert "status" not in unsteady, "another exit status without the library"
        if unsteady:
            not_compared(case, sorted(unsteady))

    run_bare_again()
    assert list(bench.spool.iterdir()) == []

    for setting, options in SETTINGS.items():
        if setting != "default" and case.only_default:
            continue
        bench.empty_spool()
        profiled = bench.profiled(case, options)
        if set(differences(profiled, bare)) - unsteady:
            run_bare_again()
        noticed = set(differences(profiled, bare)) - unsteady
        assert not noticed, f"{setting}: {', '.join(noticed)}\nbare: {bare}\nwith: {profiled}"
        left = list(bench.spool.iterdir())
        if setting == "disabled":
            assert not left
        else:
            assert left or case.leaves_nothing, f"{setting}: the library was not there"
