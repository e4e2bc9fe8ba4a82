"""Parts of pages that a command writes, between two lines of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Marks"]


@dataclass(frozen=True)
class Marks:
    """The two lines, without their line ends."""

    begin: str
    end: str

    def part(self, page: str) -> str:
        """What stands between them. ValueError: the page does not have them."""
        found = self._pattern().search(page)
        if not found:
            raise ValueError(f"the page has no line {self.begin}")
        return found[1]

    def with_part(self, page: str, text: str) -> str:
        """The page with other text between them. ValueError: the page does not have them."""
        self.part(page)
        return self._pattern().sub(lambda _: f"{self.begin}\n{text}{self.end}\n", page, count=1)

    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"^{re.escape(self.begin)}\n(.*?)^{re.escape(self.end)}\n", re.DOTALL | re.MULTILINE)
