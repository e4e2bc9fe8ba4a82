"""The list of jobs as an address says it: which lines, in which order. Page, CSV and API read it alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, pre_load, validate
from sqlalchemy import Connection

from crosswind.analysis.disturbing import Disturbing, rank_disturbing
from crosswind.analysis.verdict import HIGH_ABOVE_PCT, LOW_BELOW_PCT
from crosswind.db import disturbing
from crosswind.db.batch import STATES
from crosswind.db.job_list import ORDERS, SHOWN, JobFilters
from crosswind.db.sums import SUSPICIOUS_RATES
from crosswind.web.identity import Viewer, settings
from crosswind.web.identity.privacy import withheld_slices

__all__ = [
    "CLASSES", "STEP_STATES", "DisturbingJobs", "JobFilterArguments", "Moment", "filters_of", "most_disturbing",
]  # fmt: skip

STEP_STATES = ("running", "finished", "killed", "lost")
CLASSES: dict[str, JobFilters] = {
    "low": {"interference_below": LOW_BELOW_PCT},
    "medium": {"interference_from": LOW_BELOW_PCT, "interference_to": HIGH_ABOVE_PCT},
    "high": {"interference_above": HIGH_ABOVE_PCT},
    "known": {"told": True},
    "unknown": {"told": False},
}
WEEK_NS = 7 * 86400 * 10**9
_DISTURBING_SLICE_NS = 4_000_000_000
_LATEST_MS = 1 << 43  # the year 2248: in nanoseconds it fits into 64 bits
_UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_UNITS_B = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


class Moment(fields.Field):
    """A time in UTC: milliseconds since 1970, or as a form writes it, 2026-03-01T12:00. Becomes milliseconds."""

    def __init__(self, *, metadata: Mapping[str, str] | None = None, **kwargs: Any) -> None:  # noqa: ANN401
        described = {"type": "string", "pattern": "^[0-7]?[0-9]{1,12}$", "description": "UTC, ms"}
        super().__init__(metadata=described | dict(metadata or {}), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:  # noqa: ANN401
        text = str(value)[:40]
        try:
            at = None if re.fullmatch(r"[0-9]{1,15}", text) else datetime.fromisoformat(text)
            moment = int(text) if at is None else int(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
        except (ValueError, OverflowError):
            raise ValidationError("write 2026-03-01T12:00 (UTC) or milliseconds since 1970.") from None
        if not 0 <= moment <= _LATEST_MS:
            raise ValidationError("write a time between 1970 and 2248.")
        return moment


class Quantity(fields.Field):
    """A number with a unit, such as 90s, 15m, 2h or 1.5G. Becomes the number of the smallest unit."""

    def __init__(self, units: Mapping[str, int], example: str, largest: int, **kwargs: Any) -> None:  # noqa: ANN401
        written = "|".join(units)
        described = {"type": "string", "pattern": f"^[0-9]{{1,5}}({written})$", "description": f"such as {example}"}
        super().__init__(metadata=described, **kwargs)
        self._units, self._example, self._largest = units, example, largest

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:  # noqa: ANN401
        match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Za-z]{0,3})", str(value).strip())
        unit = match[2] if match else ""
        if "G" in self._units:
            unit = unit.removesuffix("B").removesuffix("i")
        if not match or unit not in self._units:
            raise ValidationError(f"write {self._example}.")
        return min(int(float(match[1]) * self._units[unit]), self._largest)


def _text(**kwargs: Any) -> fields.String:  # noqa: ANN401
    return fields.String(validate=validate.Length(max=256), **kwargs)


def _count() -> fields.Integer:
    return fields.Integer(validate=validate.Range(0, 1 << 31))


def _percent() -> fields.Float:
    return fields.Float(validate=validate.Range(0, 100))


class JobFilterArguments(Schema):
    """Which jobs, in which order. What is empty does not matter: forms send all their fields."""

    class Meta:
        """Unknown parameters are refused."""

        unknown = RAISE

    job = _text(metadata={"description": "part of the job's id"})
    user = _text(metadata={"description": "whose jobs, exactly"})
    command = _text(metadata={"description": "part of the command's name"})
    account = _text(metadata={"description": "of the batch system, exactly"})
    partition = _text(metadata={"description": "of the batch system, exactly"})
    state = fields.String(validate=validate.OneOf([*STEP_STATES, *STATES]))
    nodes_from, nodes_to = _count(), _count()
    ranks_from, ranks_to = _count(), _count()
    since = Moment(data_key="from", metadata={"description": "jobs that ran after this time"})
    until = Moment(data_key="to", metadata={"description": "jobs that ran before this time"})
    duration_from = Quantity(_UNITS_S, "90s, 15m, 2h or 1d", 10**9)
    duration_to = Quantity(_UNITS_S, "90s, 15m, 2h or 1d", 10**9)
    interference_from, interference_to = _percent(), _percent()
    class_ = fields.String(data_key="class", validate=validate.OneOf(list(CLASSES)))
    volume_from = Quantity(_UNITS_B, "500M, 1.5G or 2T", (1 << 63) - 1)
    volume_to = Quantity(_UNITS_B, "500M, 1.5G or 2T", (1 << 63) - 1)
    pattern = fields.String(validate=validate.OneOf(["any", *SUSPICIOUS_RATES]))
    idle_from, idle_to = _percent(), _percent()
    shown = fields.String(load_default="profiled", data_key="show", validate=validate.OneOf(SHOWN))
    order = fields.String(
        load_default="-start",
        validate=validate.OneOf([sign + name for name in ORDERS for sign in ("", "-")]),
        metadata={"description": "what to sort by; with - the largest first"},
    )

    @pre_load
    def _drop_empty(self, data: Mapping[str, Any], **_kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        return {name: value for name, value in data.items() if value != ""}


_SCALES = {
    "since": ("ran_from", 10**6),
    "until": ("ran_to", 10**6),
    "duration_from": ("duration_from", 10**9),
    "duration_to": ("duration_to", 10**9),
    "idle_from": ("idle_from", 0.01),
    "idle_to": ("idle_to", 0.01),
    "job": ("job_id", None),
}
_PLAIN = (
    "user", "command", "account", "partition", "state", "nodes_from", "nodes_to", "ranks_from", "ranks_to",
    "interference_from", "interference_to", "volume_from", "volume_to", "pattern",
)  # fmt: skip


def filters_of(wanted: Mapping[str, Any]) -> JobFilters:
    """What the database is asked for. A class of interference narrows what percentages already say."""
    filters: dict[str, Any] = {name: wanted[name] for name in _PLAIN if name in wanted}
    for name, (target, factor) in _SCALES.items():
        if name in wanted:
            filters[target] = wanted[name] if factor is None else wanted[name] * factor
    for name, bound in CLASSES.get(wanted.get("class_", ""), {}).items():
        closest = max if name.endswith(("_from", "_above")) else min
        filters[name] = closest(bound, filters[name]) if name in filters else bound
    return filters  # type: ignore[return-value]


@dataclass(frozen=True)
class DisturbingJobs:
    """The ranking of a stretch of time; begin_ns, end_ns: which."""

    jobs: list[Disturbing]
    begin_ns: int
    end_ns: int


def most_disturbing(conn: Connection, newest_ns: int, wanted: Mapping[str, Any], viewer: Viewer) -> DisturbingJobs:
    """The jobs in the viewer's scope beside which others lost time, over the wanted time but at most its last week."""
    end_ns = min(newest_ns, wanted.get("until", newest_ns // 10**6 + 1) * 10**6)
    begin_ns = max(end_ns - WEEK_NS, wanted.get("since", 0) * 10**6, 0)
    length = _DISTURBING_SLICE_NS
    first, last = begin_ns // length, -(-max(end_ns, begin_ns + 1) // length)
    hidden = withheld_slices(conn, [disturbing.RESOURCE], first, last - first, length)
    ranked = rank_disturbing(
        disturbing.read_movers(conn, begin_ns, end_ns, viewer.scope),
        disturbing.read_losses(conn, first, last - first, length),
        disturbing.read_traffic(conn, first, last - first, length),
        ~hidden,
        first,
        length,
        least_others=1 if viewer.names_others else settings().privacy.background_jobs,
    )
    return DisturbingJobs(ranked, begin_ns, end_ns)
