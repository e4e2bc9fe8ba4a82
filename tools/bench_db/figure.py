"""One measured number, as a line of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

__all__ = ["Figure"]


@dataclass(frozen=True)
class Figure:
    """target: what it should be at most (rates: at least); None: only told."""

    name: str
    value: float
    unit: str
    target: float | None = None

    def line(self) -> str:
        """A JSON line, the value to four digits."""
        return json.dumps({**asdict(self), "value": float(f"{self.value:.4g}")})

    @property
    def is_missed(self) -> bool:
        """Whether the value is on the wrong side of the target."""
        if self.target is None:
            return False
        return self.value < self.target if self.unit.endswith("/s") else self.value > self.target
