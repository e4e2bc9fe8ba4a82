"""Which processor events this user may count here, found by opening them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

__all__ = ["EVENTS", "probe"]

# name: (type, config) of struct perf_event_attr
EVENTS: dict[str, tuple[int, int]] = {
    "instructions": (0, 1),
    "cycles": (0, 0),
    "task-clock": (1, 1),
    "page-faults": (1, 2),
}
SYS_PERF_EVENT_OPEN = 298  # x86-64
ATTR_SIZE = 64  # PERF_ATTR_SIZE_VER0
DISABLED, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6


def probe(event: str) -> int:
    """0 if the event can be counted for this process in user mode, else the errno of perf_event_open."""
    kind, config = EVENTS[event]
    flags = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
    # type, size, config, sample_period, sample_type, read_format, flags, then what version 0 has zeros in
    attr = ctypes.create_string_buffer(struct.pack("=IIQQQQQIIQ", kind, ATTR_SIZE, config, 0, 0, 0, flags, 0, 0, 0))
    if len(attr.raw) < ATTR_SIZE:
        raise AssertionError("struct perf_event_attr is laid out wrongly")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(SYS_PERF_EVENT_OPEN, attr, 0, -1, -1, 0)
    if descriptor < 0:
        return ctypes.get_errno() or errno.EINVAL
    os.close(descriptor)
    return 0
