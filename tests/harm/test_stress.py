"""Twenty seconds of the stress program: nothing breaks, and every call and byte is counted."""

from __future__ import annotations

import pytest

from support.harm.stress import run_stress


@pytest.mark.slow
def test_stress():
    result = run_stress(20)
    assert (result.status, result.stderr) == (0, ""), result.summary
    assert result.differences == {}
    assert len(result.truth) == 22
    assert all(calls > 100 for calls, _, _ in result.truth.values()), result.truth
