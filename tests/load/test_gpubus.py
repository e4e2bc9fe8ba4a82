"""load-gpubus without a GPU: against a stand-in for the driver, and without one."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.load_programs import bare_environment, command, run

SIZE = 1 << 20
A_GPU = Path("/dev/nvidia0")


def with_stand_in(folder: Path) -> dict[str, str]:
    """An environment in which the stand-in is the driver."""
    source = Path(__file__).parent / "stand_in_cuda.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source], check=True, timeout=60)
    return {**bare_environment(), "LD_LIBRARY_PATH": str(folder)}


@pytest.mark.parametrize(("kind", "to", "back"), [("to-device", 8, 0), ("from-device", 0, 8), ("both", 4, 4)])
def test_copies_are_as_many_as_it_says(mpi: str, kind: str, to: int, back: int, tmp_path: Path) -> None:
    arguments = command(mpi, "gpubus", "--kind", kind, "--size", SIZE, "--volume", 8 * SIZE, ranks=1)
    done = run(arguments, with_stand_in(tmp_path))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["total"] == 8 * SIZE
    assert report["counts"] == {"copies_to_device": to, "copies_from_device": back}
    said = re.search(r"stand-in: (\d+) to device, (\d+) from device, (\d+) held", done.stderr)
    assert said
    assert [int(number) for number in said.groups()] == [(to + 1) * SIZE, back * SIZE, 0]  # one to fill it


def test_a_device_that_is_not_there_is_told(mpi: str, tmp_path: Path) -> None:
    arguments = command(mpi, "gpubus", "--device", 2, ranks=1)
    done = run(arguments, with_stand_in(tmp_path))
    assert done.returncode == 1
    assert "choose another --device" in done.stderr


def test_a_node_without_a_gpu_is_told_so(mpi: str) -> None:
    arguments = command(mpi, "gpubus", ranks=1)
    if A_GPU.exists():
        pytest.skip("this machine has a GPU")
    done = run(arguments)
    assert done.returncode == 1
    assert done.stderr.count("no CUDA device") == 1
