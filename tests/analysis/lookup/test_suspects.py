"""Synthetic systems of fifty jobs: a planted culprit comes first, and without one nobody is accused."""

from __future__ import annotations

import numpy as np
import pytest

from crosswind.analysis.errors import InputError
from crosswind.analysis.lookup import Role, Suspect, Suspicion, rank_suspects
from support.contention import System, system

SYSTEMS = 40


def _list(seed: int, *, culprit: bool, jobs: int = 50) -> tuple[int, tuple[Suspicion[int], ...]]:
    made = system(seed, culprit=culprit, jobs=jobs)
    return made.culprit, rank_suspects(made.loss, made.suspects()).lines


@pytest.mark.slow
def test_the_planted_culprit_is_the_first_job() -> None:
    """Signs that were found may stand before it where it was not."""
    named, found = [], []
    for seed in range(SYSTEMS):
        culprit, lines = _list(seed, culprit=True)
        first = next(line for line in lines if line.suspect.role is Role.LOAD)
        named.append(first.suspect.key == culprit)
        found.append(first.found)
    assert np.mean(named) >= 0.95
    assert np.mean(found) >= 0.85


@pytest.mark.slow
def test_without_a_culprit_nobody_is_accused() -> None:
    """Signs feel the victim's own dents and are found; no job may be because of that."""
    lists = [_list(10_000 + seed, culprit=False)[1] for seed in range(SYSTEMS)]
    claims = [any(line.found and line.suspect.role is not Role.SIGN for line in lines) for lines in lists]
    assert np.mean(claims) <= 0.05


@pytest.mark.slow
def test_a_lone_culprit_is_found_among_many() -> None:
    lists = [_list(seed, culprit=True, jobs=300) for seed in range(4)]
    assert all(lines[0].found and lines[0].suspect.key == culprit for culprit, lines in lists)


def test_who_was_busy_once_is_listed_and_not_accused() -> None:
    """Jobs begin and end once, and the victim was held up once: any of them may coincide."""
    random = np.random.default_rng(6)
    at = np.arange(900)
    accused = 0
    for _ in range(8):
        begin = int(random.integers(100, 600))
        loss = ((at >= begin) & (at < begin + 200)) + 0.05 * random.random(900)
        jobs = [((at >= b) & (at < b + n)).astype(float) for b, n in random.integers(0, 600, (30, 2))]
        ranking = rank_suspects(loss, [Suspect(j, "fs", load) for j, load in enumerate(jobs)])
        accused += any(line.found for line in ranking.lines)
        assert not ranking.repeats
        assert len(ranking.lines) > 20
    assert accused == 0


def test_long_runs_are_looked_at_in_coarser_slices() -> None:
    random = np.random.default_rng(8)
    load = np.repeat((random.random(700) < 0.1).astype(float), 10)
    loss = np.concatenate([np.zeros(8), load[:-8]]) + 0.1 * random.random(7000)
    (line,) = rank_suspects(loss, [Suspect("a", "fs", load)]).lines
    assert line.found
    assert line.lag == 8  # two of the coarser slices, of four each


def test_the_effect_is_the_share_that_goes_with_the_load() -> None:
    random = np.random.default_rng(11)
    load = np.zeros(600)
    for begin in range(20, 600, 90):
        load[begin : begin + 9] = 1.0
    other = np.zeros(600)
    other[70:600:90] = other[71:600:90] = 1.0
    loss = 0.6 * load + 0.3 * other + 0.001 * random.random(600)
    lines = rank_suspects(loss, [Suspect("a", "fs", load), Suspect("b", "fs", random.random(600))]).lines
    assert [line.suspect.key for line in lines] == ["a", "b"]
    assert lines[0].found
    assert lines[0].effect == pytest.approx(0.6 * load.sum() / loss.sum(), abs=0.05)
    assert not lines[1].found


def test_signs_that_follow_the_loss_do_not_make_it_easier_to_accuse_a_job() -> None:
    made = system(7, culprit=False, jobs=20)
    signs = [Suspect(-3, "node", made.loss + i, Role.SIGN) for i in range(30)]
    alone, beside = (rank_suspects(made.loss, [*_of_jobs(made), *more]).lines for more in ([], signs))
    assert all(line.found for line in beside if line.suspect.role is Role.SIGN)
    q = {(line.suspect.key, line.suspect.resource): line.q for line in alone}
    assert {at: line.q for line in beside if (at := (line.suspect.key, line.suspect.resource)) in q} == q


def _of_jobs(made: System) -> list[Suspect[int]]:
    return [suspect for suspect in made.suspects() if suspect.role is Role.LOAD]


def test_empty_and_refused() -> None:
    assert rank_suspects(np.zeros(10), []).lines == ()
    assert rank_suspects(np.zeros(100), [Suspect("a", "fs", np.arange(100.0))]).lines == ()
    with pytest.raises(InputError):
        rank_suspects(np.zeros(10), [Suspect("a", "fs", np.zeros(9))])
