"""Numbers, durations and times as people read them, in the same units as the plots."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from crosswind.analysis.units import display_unit

__all__ = ["count", "duration", "quantity", "slice_begin", "utc", "utc_iso"]


def quantity(value: float | None, unit: str) -> str:
    """`1234567, "B"` -> `1.18 MiB`; times in ns become s; None and NaN become an en dash."""
    if value is None or not math.isfinite(value):
        return "–"
    if unit == "ns":
        return duration(value)
    if unit == "count":
        return count(value)
    shown = display_unit(unit, value)
    return f"{_three_digits(value * shown.factor)} {shown.label}"


def count(value: float | None) -> str:
    """`12345` -> `12 345`; from ten million on with a prefix, `1.23 G`."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) < 1e7:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    shown = display_unit("count", value)
    return f"{_three_digits(value * shown.factor)} {shown.label}"


def duration(ns: float | None) -> str:
    """Nanoseconds as `850 µs`, `3.21 s`, `4 min 12 s`, `2 h 05 min`, `3 d 04 h`."""
    if ns is None or not math.isfinite(ns):
        return "–"
    seconds = ns / 1e9
    size = abs(seconds)
    if size < 60:
        for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if size >= factor:
                return f"{_three_digits(seconds / factor)} {unit}"
        return f"{_three_digits(ns)} ns" if ns else "0 s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def utc(ns: int | None) -> str:
    """UTC nanoseconds as `2026-03-01 12:00:04`; an en dash where it is missing or no date."""
    moment = _moment(ns)
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else "–"


def utc_iso(ns: int | None) -> str:
    """The same for machines: `2026-03-01T12:00:04Z`, or the empty string."""
    moment = _moment(ns)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def slice_begin(ns: int) -> str:
    """The same of a slice's begin, with milliseconds where slices are shorter than a second."""
    whole = utc_iso(ns)
    return f"{whole[:-1]}.{ns % 10**9 // 10**6:03d}Z" if ns % 10**9 else whole


def _moment(ns: int | None) -> datetime | None:
    if not ns:
        return None
    try:
        return datetime.fromtimestamp(ns // 1_000_000_000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _three_digits(value: float) -> str:
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
