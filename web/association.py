"""The test of a lookup, done once for the page, its picture and its JSON."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crosswind.analysis.lookup import Association, associate
from crosswind.web.memory import remembered

__all__ = ["associate_once"]


def associate_once(
    loss: NDArray[np.float64], loads: NDArray[np.float64], *, surrogates: int, seed: int = 0
) -> Association:
    """What `associate` gives for these arrays: whoever asks has read them, so the answer holds nothing else."""

    def test() -> Association:
        return associate(loss, loads, surrogates=surrogates, seed=seed)

    return remembered(test, "associate", loss, loads, surrogates, seed)
