"""The directory of Slurm's events."""

import pytest


@pytest.fixture
def events(tmp_path):
    folder = tmp_path / "events"
    folder.mkdir(mode=0o700)
    return folder
