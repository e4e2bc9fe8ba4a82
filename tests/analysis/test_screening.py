"""Waste and patterns of jobs whose sums are written down here."""

import pytest

from crosswind.analysis.screening import MIN_RATE_S, PATTERNS, SMALL_BYTES, Usage, findings, score, waste


def usage(**changes):
    nothing = {
        "elapsed_s": 1000.0, "cpus": 8, "cpu_s": 0.0, "requests": 0, "bytes_moved": 0, "opens": 0, "metadata_calls": 0,
    }  # fmt: skip
    return Usage(**nothing | changes)


def names(job):
    return [found.name for found in findings(job)]


class TestWaste:
    @pytest.mark.parametrize(
        ("cpu_s", "idle_h", "share"), [(0, 8000 / 3600, 1.0), (6000, 2000 / 3600, 0.25), (9000, 0, 0)]
    )
    def test_of_eight_cores(self, cpu_s, idle_h, share):
        found = waste(usage(cpu_s=cpu_s))
        assert (found.idle_core_h, found.idle_share) == pytest.approx((idle_h, share))

    @pytest.mark.parametrize("changes", [{"cpus": None}, {"cpus": 0}, {"elapsed_s": 0.0}])
    def test_is_not_known_without_an_allocation(self, changes):
        assert waste(usage(**changes)) is None


class TestPatterns:
    def test_a_quiet_job_has_none(self):
        assert findings(usage()) == []
        assert score([]) == 0

    def test_small_requests(self):
        many = int(PATTERNS["small requests"].threshold * 1000 * 3)
        (found,) = findings(usage(requests=many, bytes_moved=many * (SMALL_BYTES - 1)))
        assert (found.name, found.score) == ("small requests", pytest.approx(3))
        assert names(usage(requests=many, bytes_moved=many * SMALL_BYTES)) == []
        assert names(usage(requests=many // 4, bytes_moved=many)) == []

    def test_opens_and_metadata_the_worst_first(self):
        found = findings(usage(opens=200_000, metadata_calls=5_000_000))
        assert [(f.name, f.value, f.score) for f in found] == [("metadata storm", 5000, 10), ("many opens", 200, 2)]
        assert score(found) == 10

    def test_the_threshold_itself_is_named(self):
        assert names(usage(opens=100_000)) == ["many opens"]
        assert names(usage(opens=99_999)) == []

    def test_a_short_job_is_no_storm(self):
        burst = {"opens": 3000, "elapsed_s": 2.0}
        assert names(usage(**burst)) == []
        assert names(usage(**burst | {"opens": int(100 * MIN_RATE_S)})) == ["many opens"]
