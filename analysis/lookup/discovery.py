"""False discoveries: many suspects are tried, and some fit by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["false_discovery_rate"]


def false_discovery_rate(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest false-discovery rate at which each test counts as a discovery (q value), [test] like ``p``.

    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, J. R. Stat. Soc. B 57, 1995: of the tests with
    q <= 0.05 at most one in twenty is expected to be chance. NaN (a test that could not be made) stays NaN and counts
    for nothing.
    """
    q = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * tested.size / np.arange(1, tested.size + 1)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q
