"""Files of every format version, left by real runs: they stay readable, and say the same for ever."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(p.with_name(p.name.removesuffix(".expected.json")) for p in GOLDEN.glob("v*/*.expected.json"))


def load_script():
    spec = importlib.util.spec_from_file_location("add_version", GOLDEN / "add_version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_contains(found, expected, where=""):
    """Everything expected is found; what later versions find besides is no matter."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in found, f"{where}.{key} is gone"
            assert_contains(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, (f, e) in enumerate(zip(found, expected, strict=True)):
            assert_contains(f, e, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("golden", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_golden_file(golden, tmp_path):
    path = Path(shutil.copy(golden, tmp_path))
    expected = json.loads(golden.with_name(golden.name + ".expected.json").read_text())
    assert_contains(load_script().findings(path), expected)


def test_every_kind_of_file_has_a_golden_one_in_each_version():
    for version in GOLDEN.glob("v*"):
        assert {p.suffix for p in FILES if p.parent == version} >= {".xws", ".xwp", ".xwl"}, version
