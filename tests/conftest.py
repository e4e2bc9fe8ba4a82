"""What all tests need: `support` importable, deterministic and quick hypothesis, signals that end programs."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("crosswind", deadline=None, derandomize=True, database=None)
settings.load_profile("crosswind")

# Whoever starts the tests in the background (nohup, cron, a batch system) has programs ignore these: they would inherit
# that, and the tests of signals and of job control would fail with nothing preloaded.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
