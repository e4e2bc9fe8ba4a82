"""The demo's throttled disk: it is really slow, really shared, and really gone afterwards."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crosswind.tools import demo_disk
from crosswind.tools.demo_disk import clean_up, shared_directory

LIMIT = demo_disk.BYTES_PER_SECOND
WRITER = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
n, begin = 0, time.monotonic()
while time.monotonic() - begin < 2:
    n += os.pwrite(fd, bytes(1 << 20), 0)
print(n / (time.monotonic() - begin))
"""


def throttled(base: Path):
    """The shared directory; skips where this machine gives a plain one."""
    directory = shared_directory(base)
    shared = directory.__enter__()
    if shared.cgroup is None:
        directory.__exit__(None, None, None)
        pytest.skip(f"no throttled disk here: {shared.description}")
    return directory, shared


def leftovers(base: Path) -> list[str]:
    """Everything that a demo in `base` may leave behind."""
    loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True).stdout
    mounts = Path("/proc/self/mounts").read_text()
    groups = [str(g) for g in (demo_disk._cgroup_v1(base), demo_disk._cgroup_v2(base)) if g.exists()]
    return [line for line in (loops + mounts).splitlines() if str(base) in line] + groups


def test_writers_share_the_limited_rate_and_nothing_stays(tmp_path):
    directory, shared = throttled(tmp_path)
    try:
        assert leftovers(tmp_path)
        writers = [
            subprocess.Popen(
                shared.command([sys.executable, "-c", WRITER, str(shared.path / str(i))]),
                stdout=subprocess.PIPE,
                text=True,
            )
            for i in range(2)
        ]
        rates = [float(w.communicate(timeout=60)[0]) for w in writers]
    finally:
        directory.__exit__(None, None, None)
    assert sum(rates) < 1.3 * LIMIT, "two writers together are not limited"
    assert sum(rates) > 0.4 * LIMIT
    assert leftovers(tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_what_a_killed_demo_left_is_removed(tmp_path):
    """Killed with SIGKILL in the middle, with a process of its own still writing to the disk."""
    program = (
        "import subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from crosswind.tools.demo_disk import shared_directory\n"
        "with shared_directory(Path(sys.argv[1])) as shared:\n"
        "    child = subprocess.Popen(shared.command(['sleep', '1000']), cwd=shared.path, stdout=subprocess.DEVNULL)\n"
        "    time.sleep(0.2)\n"
        "    print(child.pid, shared.cgroup is not None, flush=True)\n"
        "    time.sleep(1000)\n"
    )
    demo = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child, is_throttled = demo.stdout.readline().split()
    demo.kill()
    demo.communicate()
    if is_throttled == "False":
        os.kill(int(child), 9)
        clean_up(tmp_path)
        pytest.skip("no throttled disk here (root, loop devices and a block-I/O cgroup are needed)")
    assert leftovers(tmp_path)
    clean_up(tmp_path)
    assert leftovers(tmp_path) == []
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{child}").exists()


def test_without_the_means_it_is_a_plain_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with shared_directory(tmp_path) as shared:
        assert shared.cgroup is None
        assert "not root" in shared.description
        (shared.path / "file").write_text("x")
        assert shared.command(["ls"]) == ["ls"]
    assert not shared.path.exists()
