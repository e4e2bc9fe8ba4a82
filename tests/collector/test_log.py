"""Log lines."""

import logging

from crosswind.collector.log import KeyValueFormatter


def test_log_lines_are_one_line_whatever_is_in_them():
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "refused", None, None)
    record.fields = {"file": '/a b/\x1b[31m\n\udcff="', "n": 3, "lag_s": 0.123456789, "ok": "a/b"}
    line = KeyValueFormatter().format(record)
    assert "\n" not in line
    assert line.isascii()
    assert line.split(" ", 1)[1] == (
        r'level=warning event=refused file="/a b/\u001b[31m\n\udcff=\"" n=3 lag_s=0.123457 ok=a/b'
    )
    assert KeyValueFormatter(for_journal=True).format(record).startswith("<4>level=warning event=refused ")
