"""The class that Crosswind must give to a file, found out in another way."""

import subprocess
from pathlib import Path


def file_system(path: str | Path) -> str:
    """Its type by name, as stat has it."""
    return subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True, text=True).stdout.strip()


def class_of(path: str | Path) -> str:
    """The class that a path in the tests must get."""
    kind = file_system(path)
    if kind == "tmpfs":
        return "mem"
    return "net" if kind.startswith(("nfs", "fuse", "v9fs", "smb", "cifs", "lustre")) else "disk"
