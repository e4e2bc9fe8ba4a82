"""Imports point one way: profile <- db <- collector; profile, db <- analysis <- tools, web. Read from the source."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "profile": set(),
    "db": {"profile"},
    "collector": {"profile", "db"},
    "analysis": {"profile", "db"},
    "web": {"profile", "db", "analysis"},
    "tools": {"profile", "db", "analysis", "collector", "web"},
}
FOLDERS = {
    package.removeprefix("crosswind."): ROOT / folder
    for package, folder in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-dir"
    ].items()
}


def sources(package):
    """The package's own modules; sub-packages that pyproject lists apart are part of it too."""
    return sorted(p for p in FOLDERS[package].rglob("*.py") if "build" not in p.parts)


def imported_packages(path):
    """(line, package below crosswind, or "" for crosswind itself) of every import, also of those inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "crosswind":
                yield node.lineno, name.split(".")[1] if "." in name else ""


def violations(package, paths):
    allowed = MAY_IMPORT[package] | {package}
    return [
        f"{path.name}:{line} imports crosswind.{other}"
        for path in paths
        for line, other in imported_packages(path)
        if other not in allowed
    ]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package):
    assert sources(package), f"no source of crosswind.{package} in {FOLDERS[package]}"
    assert violations(package, sources(package)) == []


def test_every_package_is_listed_here():
    assert {name.split(".")[0] for name in FOLDERS} == MAY_IMPORT.keys()


def test_no_circle():
    """Whoever may be imported may not import back."""
    for package, allowed in MAY_IMPORT.items():
        assert not any(package in MAY_IMPORT[other] for other in allowed)


@pytest.mark.parametrize(
    "line",
    [
        "import crosswind.collector.once",
        "from crosswind.collector import collect_once",
        "from crosswind import collector",
        "def f():\n    from crosswind.collector.spool import find_spools",
        "import crosswind.web as w, os",
    ],
)
def test_the_check_sees_every_form_of_import(tmp_path, line):
    path = tmp_path / "module.py"
    path.write_text(line)
    assert len(violations("analysis", [path])) == 1


def test_relative_imports_stay_in_their_package():
    """`from ..db import x` would slip through the check above, so it is not allowed at all above one level."""
    climbing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in MAY_IMPORT
        for path in sources(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level > 1
    ]
    assert climbing == []
