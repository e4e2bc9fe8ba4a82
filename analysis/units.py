"""Units for people: one factor and one label for a whole axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["DisplayUnit", "display_unit"]


class DisplayUnit(NamedTuple):
    """Multiply a value by ``factor`` to have it in ``label``."""

    factor: float
    label: str


_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_DECIMAL = ("", "k", "M", "G", "T", "P")
_TIMES = ((1e-9, "s"), (1e-6, "ms"), (1e-3, "us"), (1.0, "ns"))


def display_unit(unit: str, values: ArrayLike) -> DisplayUnit:
    """The unit in which the largest of ``values`` reads best.

    unit: ``B``, ``B/s`` (KiB, MiB, ...), ``1/s``, ``count`` (k/s, M/s, ...), ``ns`` (us, ms, s), ``Hz``, ``ticks/s``
    (kHz, MHz, ...), ``count/1000`` (whole ones), ``share`` (percent); others stay. NaN in values is left out.
    """
    peak = float(np.fmax.reduce(np.abs(np.ravel(values)), initial=0.0))
    if unit in ("B", "B/s"):
        step = _step(peak, 1024.0, len(_BINARY))
        return DisplayUnit(1024.0**-step, _BINARY[step] + unit)
    if unit in ("1/s", "count"):
        step = _step(peak, 1000.0, len(_DECIMAL))
        prefix = _DECIMAL[step]
        return DisplayUnit(1000.0**-step, f"{prefix}/s" if prefix and unit == "1/s" else (prefix or unit))
    if unit in ("Hz", "ticks/s"):
        step = _step(peak, 1000.0, len(_DECIMAL))
        return DisplayUnit(1000.0**-step, _DECIMAL[step] + unit)
    if unit == "ns":
        return next((DisplayUnit(f, name) for f, name in _TIMES if peak * f >= 1), DisplayUnit(1.0, "ns"))
    if unit == "count/1000":
        return DisplayUnit(1e-3, "")
    if unit == "share":
        return DisplayUnit(100.0, "%")
    return DisplayUnit(1.0, unit)


def _step(peak: float, base: float, n: int) -> int:
    """How often ``peak`` can be divided by ``base`` and stay at 1 or more."""
    step = 0
    while step < n - 1 and peak >= base ** (step + 1):
        step += 1
    return step
