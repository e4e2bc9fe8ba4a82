"""python -m experiments RESULTS...: the measured parts of docs/experiments.md from results directories."""

from __future__ import annotations

from pathlib import Path

import click

from crosswind.tools.experiment.evaluation import evaluate
from experiments.page import stored, write_sections
from support.preload import ROOT


@click.command()
@click.argument("directories", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(directories: tuple[Path, ...]) -> None:
    """Write the parts of these results; without any, those of the stored results anew."""
    try:
        write_sections([evaluate(directory) for directory in directories] or stored(ROOT), ROOT)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
