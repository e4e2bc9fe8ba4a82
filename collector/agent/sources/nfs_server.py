"""The kernel's NFS server: /proc/net/rpc/nfsd. User-space servers (Ganesha) show as network and disk only."""

from __future__ import annotations

from pathlib import Path

from crosswind.collector.agent.files import Values, read_text

__all__ = ["parse", "read"]


def parse(text: str) -> Values:
    """The values in /proc/net/rpc/nfsd. Its bytes have 32 bits on old kernels: where they wrap there is a gap."""
    values: Values = {}
    for line in text.splitlines():
        name, *words = line.split()
        if name == "io":
            values["nfsd_read_bytes", ""], values["nfsd_write_bytes", ""] = int(words[0]), int(words[1])
        elif name == "rpc":
            values["nfsd_calls", ""] = int(words[0])
    return values


def read(root: Path) -> Values:
    """Read below root."""
    text = read_text(root / "proc/net/rpc/nfsd")
    return {} if text is None else parse(text)
