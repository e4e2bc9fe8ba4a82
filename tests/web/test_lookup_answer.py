"""What the lookup says: a sign is nobody's doing, and a server's sum has the job's own share in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crosswind.analysis.lookup import Role
from crosswind.web.lookup import _by_stretch
from crosswind.web.lookup_answer import Line, Lookup

SIGN = Line("node", None, "the job's nodes", "low frequency", Role.SIGN, "Hz", True, 0.4, 0.5, 0, 0, 0, falls=True)
SERVER = replace(SIGN, kind="server", resource="servers of fs:net", load="bytes read", role=Role.SUM, falls=False)
SUM = replace(SERVER, kind="together", resource="fs:net")
JOB = replace(SUM, kind="hidden", role=Role.LOAD)


def said(*lines: Line, window: tuple[int, int] | None = None) -> str:
    return Lookup("lost time", np.ones(100), lines, 80, 0, True, "", window, None, ()).sentence


def test_a_job_that_was_found_is_told_without_a_but() -> None:
    words = said(JOB, SUM, SERVER, SIGN)
    assert words.startswith("Bytes read on")
    assert words.endswith("by a job of another user rose with 40 % of this job's lost time; so did 3 more.")


@pytest.mark.parametrize(
    ("line", "but"),
    [
        (SUM, "lost time."),
        (SERVER, "This job's own share is in it."),
        (SIGN, "not who loaded it, and this job may have made it itself."),
    ],
)
def test_where_no_job_was_found_that_is_said_first(line: Line, but: str) -> None:
    words = said(line, replace(JOB, found=False))
    assert words.startswith("No single job was found. ")
    assert words.endswith(but)


def test_a_stretch_says_what_chance_gives() -> None:
    then = [replace(line, found=False, during=1.0, usual=0.1, p_then=0.01) for line in (SIGN, JOB)]
    words = said(*then, window=(3, 9))
    assert ": as low in 1 % of stretches of this length" in words
    assert "made it itself. 1 more were high then, too; of 80 series chance gives 4." in words
    assert ": as high in 1 %" in said(then[1], window=(3, 9))


def test_in_a_stretch_a_low_value_that_is_trouble_counts_as_high() -> None:
    hertz = np.where(np.arange(100) // 3 == 10, 2e9, 3e9)
    low, high = replace(SIGN, values=hertz), replace(SIGN, values=4e9 - hertz, falls=False)
    for line in _by_stretch([low, high], (30, 33)):
        assert line.p_then is not None
        assert line.p_then < 0.1
        assert (line.during, line.usual) == ((2e9, 3e9) if line.falls else (2e9, 1e9))
