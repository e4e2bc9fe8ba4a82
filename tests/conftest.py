"""What all tests need: `support` importable, deterministic and quick hypothesis."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("crosswind", deadline=None, derandomize=True, database=None)
settings.load_profile("crosswind")
