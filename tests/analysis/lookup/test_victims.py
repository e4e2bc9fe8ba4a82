"""The other side: a busy job is found among those it held up, and a quiet or unrelated one is not."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.lookup import Suspect, coincidences
from support.contention import system, while_it_ran


def _bursts(random: np.random.Generator, n: int = 900) -> np.ndarray:
    return (np.convolve(random.random(n) < 0.02, np.ones(6), "same") > 0).astype(float)


def test_victims_are_found_and_the_others_are_not() -> None:
    random = np.random.default_rng(5)
    load = _bursts(random)
    hit = [0.4 * load + 0.05 * random.random(900) for _ in range(3)]
    others = [_bursts(random) + 0.05 * random.random(900) for _ in range(20)]
    victims = [(i, loss, [Suspect("w", "fs", load), Suspect("r", "fs", random.random(900))])
               for i, loss in enumerate([*hit, *others])]  # fmt: skip
    found = coincidences(victims)
    assert found.tested == 23
    assert {victim for victim, _ in found.lines} == {0, 1, 2}
    assert {line.suspect.key for _, line in found.lines} == {"w"}
    p, q = (np.array([getattr(line, name) for _, line in found.lines]) for name in ("p", "q"))
    assert q == pytest.approx(p.max() * 23 / 3), "of all that were tested, not of each victim's own lookup"


def test_an_innocent_job_is_seldom_blamed() -> None:
    """Twelve jobs, each against twenty victims of other systems: at most one in twenty lists names anybody."""
    named = 0
    for seed in range(12):
        load = while_it_ran(system(500 + seed, culprit=False, jobs=5).loads[3])
        losses = [system(900 + 31 * seed + i, culprit=True, jobs=20).loss for i in range(20)]
        victims = [(i, loss, [Suspect("w", "fs", load)]) for i, loss in enumerate(losses)]
        named += bool(coincidences(victims).lines)
    assert named <= 1


def test_nothing_to_test() -> None:
    assert coincidences([]).lines == ()
    found = coincidences([("v", np.arange(50.0), [Suspect("w", "fs", np.zeros(50))]), ("x", np.zeros(9), [])])
    assert (found.tested, found.lines) == (0, ())
