"""What the generated wrappers of reads and writes tell about the access pattern (access.h)."""

from __future__ import annotations

import re
from collections.abc import Mapping

DATA_OPS = ("read", "write")


class Request:
    """A read or write that tells how many bytes it moved on which descriptor: the C for counting it."""

    def __init__(self, row: Mapping, parameters: Mapping[str, str], descriptor: str, amount: str) -> None:
        """parameters: their declarations by name. descriptor, amount: C expressions."""
        self._row = row
        self._parameters = parameters
        self._descriptor = descriptor
        self._amount = amount

    def before(self) -> list[str]:
        """The declarations of `descriptor` and `class`."""
        return [
            f"    const int descriptor = {self._descriptor};",
            "    const enum xw_class class = xw_class_of_fd(descriptor);",
        ]

    def amount(self) -> list[str]:
        """The declaration of `bytes`; behind the real call."""
        return [f"    const uint64_t bytes = {self._amount};"]

    def after(self) -> list[str]:
        """The count; behind xw_leave, so that its time is not the call's."""
        way = f"XW_WAY_{self._row['layer'].upper()}_{self._row['op'].upper()}"
        own = self._offset("offset") if self._other_offset_name() != "offset" else "XW_NO_OFFSET"
        return [f"    xw_count_request(call, class, {way}, descriptor, {own}, bytes);"]

    @property
    def other_offset(self) -> str:
        """Where a call from one descriptor to another began to read."""
        return self._offset(self._other_offset_name())

    def _other_offset_name(self) -> str:
        """The parameter that belongs to the row's `moved_from`: of its two offsets, or the only one (sendfile)."""
        if "moved_from" not in self._row:
            return ""
        return "in_offset" if "in_offset" in self._parameters else "offset"

    def _offset(self, name: str) -> str:
        if name not in self._parameters:
            return "XW_NO_OFFSET"
        return f"xw_offset_before({name}, result)" if "*" in self._parameters[name] else name


def request_of(row: Mapping, parameters: Mapping[str, str], file_class: str, amount: str) -> Request | None:
    """The request of a row, or None: no read or write, no descriptor, or the amount is not known."""
    match = re.fullmatch(r"xw_class_of_(fd|stream)\((.*)\)", file_class)
    if row["op"] not in DATA_OPS or amount == "0" or not match:
        return None
    descriptor = match[2] if match[1] == "fd" else f"xw_stream_fd({match[2]})"
    return Request(row, parameters, descriptor, amount)
