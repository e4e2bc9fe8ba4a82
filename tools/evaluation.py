"""What is stored of a profile's interference when it is loaded, so that pages need not look at its segments again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from crosswind.analysis.result import Estimate
    from crosswind.db.evaluation import Evaluation, LostTime
    from crosswind.db.summaries import Bands, Block
    from crosswind.profile.model import Profile
    from crosswind.profile.segments import SegmentTable

__all__ = ["document_of", "evaluate", "evaluate_again", "summarize"]


def evaluate(profile: Profile) -> Evaluation | None:
    """The document of the estimate, and when the time was lost; None where there are no segments.

    Raises InputError for segments that no measurement can be.
    """
    from crosswind.analysis import estimate_profile
    from crosswind.db.evaluation import Evaluation

    if profile.segments is None:
        return None
    found = estimate_profile(profile)
    has_times = "t_start_us" in profile.segments.columns
    document = document_of(found, profile.segments)
    return Evaluation(document, _lost_time(profile, found) if has_times else None)


def document_of(found: Estimate, table: SegmentTable | None) -> dict[str, Any]:
    """The estimate for JSON, with the call that ended the first segment of each cluster."""
    document = found.to_json()
    if table is not None:
        for cluster in document["clusters"]:
            cluster["closed_by"] = table.closed_by(cluster["first_segment"]) or None
    return document


def summarize(block: Block) -> Bands:
    """The series of a block of a job's slices."""
    from crosswind.analysis import series_bands

    return series_bands.summarize(block)


def evaluate_again(engine: Engine) -> Iterator[str]:
    """Make and store the estimate of every job in a database anew, and the summaries of its slices where they are
    missing or of another version; yields a line about each that failed.
    """
    from crosswind.analysis.series_bands import VERSION
    from crosswind.collector.estimates import NO_ESTIMATE, evaluate_whole
    from crosswind.db import queries, reading
    from crosswind.db.errors import DatabaseError
    from crosswind.db.summary_fill import fill_summaries

    with reading(engine) as conn:
        keys = queries.job_keys(conn)
    for key in keys:
        try:
            fill_summaries(engine, key, VERSION, summarize)
            evaluate_whole(engine, key, evaluate)
        except (DatabaseError, *NO_ESTIMATE) as error:  # one damaged job does not keep the others out
            yield f"job {key} keeps what was stored: {error}"


def _lost_time(profile: Profile, found: Estimate) -> LostTime:
    from crosswind.analysis import lost_per_slice, untrusted_intervals
    from crosswind.db.evaluation import LostTime, Stretches

    table = profile.segments
    assert table is not None, "estimated"  # noqa: S101
    lost_s = lost_per_slice(table, found, profile.slice_ns, profile.first_slice, profile.n_slices)
    hit = untrusted_intervals(table, found)
    stretches = Stretches(
        begin_ns=_whole(hit.begin_us * 1e3),
        end_ns=_whole(hit.end_us * 1e3),
        lost_ns=_whole(hit.lost_s * 1e9),
        segments=hit.segments,
        hit=hit.hit,
    )
    return LostTime(profile.first_slice, _whole(lost_s * 1e9), stretches, hit.n)


def _whole(values: np.ndarray) -> np.ndarray:
    """The nearest whole numbers, int64; what is no number, or not after the epoch, is 0, what is too large the largest
    there is: segments are written by users' programs.
    """
    return np.rint(np.clip(np.nan_to_num(values), 0, 2.0**62)).astype(np.int64)
