"""Where the parts lie that are shared with the database's benchmark and the tests. Imported before them."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools" / "bench_db"), str(ROOT / "tests")]
