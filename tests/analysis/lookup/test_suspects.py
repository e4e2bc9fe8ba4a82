"""Synthetic systems of fifty jobs: a planted culprit comes first, and without one nobody is accused."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup import Suspect, Suspicion, rank_suspects
from support.contention import system

SYSTEMS = 40


def _list(seed: int, *, culprit: bool) -> tuple[int, list[Suspicion]]:
    made = system(seed, culprit=culprit)
    return made.culprit, rank_suspects(made.loss, [Suspect(j, "scratch", x) for j, x in enumerate(made.loads)])


@pytest.mark.slow
def test_the_planted_culprit_is_first() -> None:
    lists = [_list(seed, culprit=True) for seed in range(SYSTEMS)]
    first = [lines[0].suspect.key == culprit for culprit, lines in lists]
    found = [lines[0].found for _, lines in lists]
    assert np.mean(first) >= 0.95
    assert np.mean(found) >= 0.85


@pytest.mark.slow
def test_without_a_culprit_nobody_is_accused() -> None:
    claims = [any(line.found for line in _list(10_000 + seed, culprit=False)[1]) for seed in range(SYSTEMS)]
    assert np.mean(claims) <= 0.05


def test_the_effect_is_the_share_that_goes_with_the_load() -> None:
    random = np.random.default_rng(11)
    load = np.zeros(600)
    load[100:130] = load[300:330] = load[470:500] = 1.0
    other = np.zeros(600)
    other[200:220] = 1.0
    loss = 0.6 * load + 0.3 * other + 0.001 * random.random(600)
    lines = rank_suspects(loss, [Suspect("a", "fs", load), Suspect("b", "fs", random.random(600))])
    assert [line.suspect.key for line in lines] == ["a", "b"]
    assert lines[0].found
    assert lines[0].effect == pytest.approx(54 / 60, abs=0.03)
    assert not lines[1].found


def test_empty_and_refused() -> None:
    assert rank_suspects(np.zeros(10), []) == []
    assert rank_suspects(np.zeros(100), [Suspect("a", "fs", np.arange(100.0))]) == []
    with pytest.raises(InputError):
        rank_suspects(np.zeros(10), [Suspect("a", "fs", np.zeros(9))])
