"""A step whose nodes deliver the ranks of their own: the whole is there, with an estimate of the whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from crosswind.collector import load_profile_file
from crosswind.db import queries, reading
from crosswind.profile import write_profile
from crosswind.profile.model import Profile
from crosswind.tools.evaluation import evaluate
from support.profiles import make_lammps, part_of

SLOW = {number: 50.0 for number in range(1200, 1790, 4)}


def of_host(profile: Profile, host: str) -> Profile:
    """What the collector of one node has."""
    part = part_of(profile, [i for i, p in enumerate(profile.processes) if p.host == host])
    return replace(part, job=replace(part.job, hosts=(host,)))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_parts_of_nodes_are_one_step(engine: Engine, tmp_path: Path, order: tuple[str, str]) -> None:
    whole = make_lammps(hosts=("a", "b"), slow_segments=SLOW)
    for host in order:
        write_profile(of_host(whole, host), tmp_path / f"{host}.xwp")
        result = load_profile_file(tmp_path / f"{host}.xwp", engine, evaluate=evaluate)
    assert result.is_joined
    with reading(engine) as conn:
        job = queries.get_job(conn, result.job_key)
        segments = queries.get_segments(conn, result.job_key)
    assert job is not None
    assert segments is not None
    assert segments.ranks.tolist() == [0, 1]
    for name, column in whole.segments.columns.items():
        np.testing.assert_allclose(segments.columns[name], column, err_msg=name)
    expected = evaluate(whole)
    assert expected is not None
    assert job.estimate is not None
    for name in ("segments", "hit_segments", "interference_s", "class"):
        assert job.estimate[name] == pytest.approx(expected.document[name]), name


def test_loading_a_part_again_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    whole = make_lammps(hosts=("a", "b"))
    for host in ("a", "b", "a"):
        write_profile(of_host(whole, host), tmp_path / f"{host}.xwp")
        result = load_profile_file(tmp_path / f"{host}.xwp", engine, evaluate=evaluate)
    assert not result.loaded
    assert not result.is_joined
    with reading(engine) as conn:
        job = queries.get_job(conn, result.job_key)
        segments = queries.get_segments(conn, result.job_key)
    assert segments is not None
    assert segments.n_ranks == 2
    assert job is not None
    assert job.estimate is not None
    assert job.estimate["segments"] == whole.segments.n_segments
