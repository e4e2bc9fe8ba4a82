"""What the simulated site tells `crosswind experiment`, without starting one."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext

import pytest
from cluster import site

from crosswind.tools.experiment.machine import read_note
from support.cluster import Cluster


@pytest.fixture
def standing(tmp_path, monkeypatch) -> Cluster:
    """A site that is up, as far as this machine's network is not asked."""
    cluster = Cluster(tmp_path)
    for name in ("why_not", "standing"):
        monkeypatch.setattr(site, name, lambda found=cluster if name == "standing" else "": found)
    monkeypatch.setattr(site.file_server, "why_not", lambda: "")
    monkeypatch.setattr(site.file_server, "start_file_server", lambda cluster, mbit: None)
    monkeypatch.setattr(site, "the_only_cluster", lambda wait: nullcontext())
    monkeypatch.setattr(Cluster, "free_links", lambda self: None)
    monkeypatch.setattr(Cluster, "limit_links", lambda self, *limit: True)
    return cluster


def noted(words: list[str]) -> str:
    return read_note(words[words.index("--note") + 1])


def test_experiments_keep_how_fast_its_links_are(standing):
    words = site.experiment_options(site.start_site(400, 200))
    assert noted(words) == "simulated cluster: 400 Mbit/s to the file server, 200 Mbit/s to each node"
    site.start_site(100)  # slower from now on: what was exported before is right, too
    assert noted(words) == "simulated cluster: 100 Mbit/s to the file server"


def test_a_shell_takes_the_exported_options_apart_as_they_were_put_together(standing):
    cluster = site.start_site(400, 200)
    script = "\n".join([*site.export_lines(cluster), r"printf '%s\n' $SITE"])
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == site.experiment_options(cluster)
