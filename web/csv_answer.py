"""Tables as CSV: sent as they are made, and harmless when a spreadsheet opens them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from flask import Response

__all__ = ["csv_answer"]

_PART = 1 << 16  # characters that are sent at once
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a text begins with that a spreadsheet takes for a formula


def csv_answer(name: str, rows: Iterable[Sequence[object]]) -> Response:
    """A file of that name (without .csv) to be downloaded. Numbers have nine digits; None and NaN are empty; a text
    that a spreadsheet would take for a formula begins with an apostrophe.
    """
    answer = Response(_parts(rows), mimetype="text/csv")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def _parts(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    for row in rows:
        table.writerow([_cell(value) for value in row])
        if out.tell() > _PART:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if value != value else f"{value:.9g}"
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
