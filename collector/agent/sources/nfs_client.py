"""NFS as its clients see it: /proc/self/mountstats.

    device nfs1:/export/home mounted on /home with fstype nfs4 statvers=1.1
            bytes:  normal_read normal_write direct_read direct_write server_read server_write read_pages write_pages
            per-op statistics
                    READ: operations transmissions timeouts bytes_sent bytes_received queue_ms rtt_ms execute_ms errors

Instances are servers: mount points may be named after users, and with an automounter there are thousands.
"""

from __future__ import annotations

from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]

MAX_BYTES = 8 << 20  # a mount takes some 6 KiB
_MS = 10**6


def parse(text: str) -> Values:
    """The values in /proc/self/mountstats.

    A file system that is mounted in several places shows the same numbers in each, and counts once.
    """
    values: Values = {}
    seen: set[tuple[str, str]] = set()
    for block in text.split("\ndevice "):
        head, _, body = block.removeprefix("device ").partition("\n")
        words = head.split()
        export, is_nfs = words[0] if words else "", " with fstype nfs" in head
        if not is_nfs or "per-op statistics" not in body or (export, body) in seen:
            continue
        seen.add((export, body))
        server = export.rpartition(":/")[0] or export
        for key, value in _of_mount(body).items():
            values[key, server] = values.get((key, server), 0) + value
    return values


def _of_mount(body: str) -> dict[str, int]:
    lines = [line.partition(":") for line in body.splitlines()]
    fields = {name.strip(): [int(word) for word in rest.split()] for name, _, rest in lines if name.strip() == "bytes"}
    at = next(i for i, (name, _, _) in enumerate(lines) if name.strip() == "per-op statistics")
    operations = [[int(word) for word in rest.split()] for _, colon, rest in lines[at + 1 :] if colon]
    operations = [numbers for numbers in operations if len(numbers) >= 8]
    moved = fields.get("bytes", [])
    values = {"nfs_read_bytes": moved[4], "nfs_write_bytes": moved[5]} if len(moved) >= 6 else {}
    return values | {
        "nfs_calls": sum(n[0] for n in operations),
        "nfs_retransmissions": sum(max(n[1] - n[0], 0) for n in operations),
        "nfs_timeouts": sum(n[2] for n in operations),
        "nfs_queue_time": _MS * sum(n[5] for n in operations),
        "nfs_wait": _MS * sum(n[6] for n in operations),
    }


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/self/mountstats", MAX_BYTES)
    return {} if text is None else parse(text)
