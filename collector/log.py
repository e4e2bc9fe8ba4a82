"""Log lines of key=value pairs, fit for journald: one event a line, whatever text a file or a job brings in."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

__all__ = ["KeyValueFormatter", "log_event", "log_to"]

LOGGER = logging.getLogger("crosswind.collector")
MAX_VALUE = 1000  # characters
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,\[\]-]+", re.ASCII)
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3}


class KeyValueFormatter(logging.Formatter):
    """`time=... level=info event=loaded job=1001 ...`; for journald, which has its own clock, a priority in front."""

    def __init__(self, *, for_journal: bool = False) -> None:
        super().__init__()
        self.for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        """One line, printable ASCII."""
        level = record.levelname.lower()
        fields: dict[str, object] = {"level": level, "event": record.getMessage()}
        fields |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = repr(record.exc_info[1])
        if self.for_journal:
            return f"<{_PRIORITIES.get(record.levelno, 6)}>{_pairs(fields)}"
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return _pairs({"time": time.replace("+00:00", "Z"), **fields})


def log_event(level: int, event: str, **fields: object) -> None:
    """Log one event of the collector."""
    LOGGER.log(level, event, extra={"fields": fields})


def log_to(stream: TextIO) -> None:
    """Send the collector's log to a stream, usually stderr."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(KeyValueFormatter(for_journal=_is_journal(stream)))
    LOGGER.handlers[:] = [handler]
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO)


def _pairs(fields: Mapping[str, object]) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in fields.items())


def _value(value: object) -> str:
    """A value, in JSON's quotes unless it is one plain word."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    text = text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _is_journal(stream: TextIO) -> bool:
    """Whether the stream is the one that systemd says goes to the journal."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"
