"""What is not documented does not exist: verbs and their options, variables, metrics, links."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from crosswind.profile.metrics import METRICS
from crosswind.tools.cli import VERBS, main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "tests" / "README.md"])
SOURCES = [p for folder in ("libprofiler", "wrappers") for p in (ROOT / folder).rglob("*.[ch]")]
PYTHON = [
    p for f in ("libprofiler/python", "db", "collector", "analysis", "web", "tools") for p in (ROOT / f).rglob("*.py")
]
VARIABLE = re.compile(r"\bCROSSWIND_[A-Z][A-Z_]*\b")
BUILD_ONLY = {"CROSSWIND_TESTS", "CROSSWIND_SANITIZE"}  # options of CMake


def section(page: str, title: str) -> str:
    """The text below the heading `title`, up to the next of the same level."""
    match = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert match, f"no section {title!r}"
    return match[1]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_is_documented(verb):
    text = section((DOCS / "commands.md").read_text(), verb)
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    missing = [
        "/".join(parameter.opts)
        for parameter in command.params
        if isinstance(parameter, click.Option) and not any(name in text for name in parameter.opts)
    ]
    assert not missing, f"docs/commands.md does not name {', '.join(missing)} of {verb}"


def test_commands_page_names_no_option_that_is_gone():
    text = (DOCS / "commands.md").read_text()
    for verb in VERBS:
        command = main.get_command(click.Context(main), verb)
        known = {name for parameter in command.params for name in parameter.opts} | {"--help", "--json"}
        usage = re.search(rf"^`crosswind {verb}\b([^`]*)`", section(text, verb), re.MULTILINE)
        assert usage, verb
        assert set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", usage[1])) <= known, verb


def options_of_the_library() -> set[str]:
    """The names in the option table, read from its source."""
    return set(re.findall(r'OPTION\("(\w+)"', (ROOT / "libprofiler" / "config.c").read_text()))


def test_every_option_of_the_library_is_documented():
    documented = set(re.findall(r"`([A-Z_]+)`", (DOCS / "environment.md").read_text()))
    options = options_of_the_library()
    assert len(options) > 10, "the option table was not found"
    assert options <= documented, options - documented


def test_no_variable_is_used_that_is_not_documented():
    documented = set(VARIABLE.findall((DOCS / "environment.md").read_text()))
    used = {name for path in PYTHON for name in re.findall(r"""["'](CROSSWIND_[A-Z_]+)["']""", path.read_text())}
    used |= {name for path in SOURCES for name in re.findall(r'"(CROSSWIND_[A-Z_]+)"', path.read_text())}
    assert used <= documented, used - documented


def test_no_variable_is_documented_that_does_not_exist():
    documented = set(VARIABLE.findall((DOCS / "environment.md").read_text())) - BUILD_ONLY
    scripts = [*(ROOT / "tools").rglob("*.sh"), *(ROOT / "tests").rglob("*.py")]
    used = {name for path in [*SOURCES, *PYTHON, *scripts] for name in VARIABLE.findall(path.read_text())}
    assert documented <= used, documented - used


def test_every_metric_is_documented():
    page = (DOCS / "metrics.md").read_text()
    missing = [m.name for m in METRICS if f"`{m.name}`" not in page]
    assert not missing


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"}
    missing = [page for page in sorted(pages) if f"({page})" not in index]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        path = (page.parent / unquote(target.partition("#")[0])).resolve()
        assert path.exists(), f"{page.name}: {target}"
        assert path.is_relative_to(ROOT), f"{page.name}: {target} leads out of the repository"


@pytest.mark.parametrize("page", ["architecture.md"])
def test_every_file_that_a_page_names_exists(page):
    """Names such as `libprofiler/slice.c` in the text."""
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|h|py|toml|md|map))`", (DOCS / page).read_text())
    assert len(named) > 20
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
