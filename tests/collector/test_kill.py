"""Collectors killed with SIGKILL at random moments while jobs run: no slice lost, none twice. The short form.

`make test-kill` is the long one: CROSSWIND_KILLS=300.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_kill_at_any_moment_neither_loses_nor_doubles_a_slice(url):
    kills = int(os.environ.get("CROSSWIND_KILLS", "30"))
    command = [sys.executable, "-m", "collector.kill_study", "--kills", str(kills), "--db", url]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=120 + 3 * kills)
    print(f"{url.split(':')[0]}: {done.stdout.strip()[:500]}")
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    figures = json.loads(done.stdout)
    assert figures["kills"] >= kills
    assert figures["slices"] > 300
    assert figures["seen_running"] > 0, "no job was in the database while it ran"
