"""The script that Slurm runs at the begin and end of jobs."""

import subprocess

import pytest

from crosswind.collector.batch_system.slurm import parse_event
from support.slurm_words import END, HOSTILE, SCRIPT, START, event


class TestScript:
    """batch/slurm/job_event.sh, as Slurm runs it."""

    def run(self, folder, **variables):
        return subprocess.run([SCRIPT, folder], env=variables, capture_output=True, timeout=10)

    def test_says_what_slurm_said(self, events):
        self.run(events, **START)
        self.run(events, **END)
        first, second = (parse_event(p.read_bytes()) for p in sorted(events.iterdir()))
        assert (first.state, first.hosts, first.cpus) == ("RUNNING", ("n1", "n2"), 8)
        assert second == parse_event(event("end"))

    def test_hostile_name(self, events):
        self.run(events, **{k: v.encode() for k, v in END.items()} | {"JOBNAME": HOSTILE})
        (path,) = events.iterdir()
        assert parse_event(path.read_bytes()).name == 'we"ird \\name \N{REPLACEMENT CHARACTER} </script>é'

    @pytest.mark.parametrize("folder", ["/nonexistent", "/proc"])
    def test_never_fails_and_says_nothing(self, folder):
        done = self.run(folder, **START)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
