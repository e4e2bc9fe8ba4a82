"""`crosswind info`: what is installed and where."""

from __future__ import annotations

import platform
from pathlib import Path

import click

from crosswind.tools.cli import package_version
from crosswind.tools.errors import CommandError
from crosswind.tools.library import find_library
from crosswind.tools.output import print_json

__all__ = ["info_command"]


@click.command("info")
@click.option("--lib", is_flag=True, help="Print the library's path and nothing else, for module files and scripts.")
@click.option("--version", "only_version", is_flag=True, help="Print the version and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def info_command(lib: bool, only_version: bool, as_json: bool) -> None:
    """Say what is installed: the library's path, the version, the package's folder.

    \b
    Example: export LD_PRELOAD=$(crosswind info --lib)
    """
    if lib:
        click.echo(find_library())
    elif only_version:
        click.echo(package_version())
    elif as_json:
        print_json(installation())
    else:
        for name, value in installation().items():
            click.echo(f"{name:<10} {value if value is not None else 'not found: run `make build`'}")


def installation() -> dict[str, str | None]:
    """Version, library (None: not found), folder of the command line, interpreter."""
    try:
        library = str(find_library())
    except CommandError:
        library = None
    return {
        "version": package_version(),
        "library": library,
        "package": str(Path(__file__).resolve().parent),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
