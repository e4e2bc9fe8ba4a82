"""python -m accuracy.real: the study on real programs, and the section of docs/estimator.md that is made of it."""

from __future__ import annotations

from pathlib import Path

import click
from accuracy.real.execution import RunFailed
from accuracy.real.page import write_section
from accuracy.real.programs import PROGRAMS, Program
from accuracy.real.schedule import LEVELS, study_runs, verdict_runs
from accuracy.real.study import Study

from support.preload import ROOT

DEFAULT_PROGRAMS = "lammps,lammps-phases,hpcc,cg"
VERDICT_PROGRAM = "lammps"


def chosen(names: str) -> list[Program]:
    """The programs of a list that can run here; each other one is named on stderr. UsageError: an unknown name."""
    unknown = [name for name in names.split(",") if name not in PROGRAMS]
    if unknown:
        raise click.UsageError(f"no program {unknown[0]!r}; there are: {', '.join(PROGRAMS)}")
    found = []
    for program in (PROGRAMS[name] for name in names.split(",")):
        if missing := program.missing():
            click.echo(f"LEFT OUT: {missing}", err=True)
        else:
            found.append(program)
    return found


@click.command()
@click.option("--programs", default=DEFAULT_PROGRAMS, show_default=True, help=f"Of {', '.join(PROGRAMS)}.")
@click.option("--levels", default=",".join(f"{x:g}" for x in LEVELS), show_default=True, help="Percent to inject.")
@click.option("--runs", default=4, show_default=True, help="Of each program and level.")
@click.option("--seconds", default=10.0, show_default=True, help="How long a run without interference takes.")
@click.option("--ranks", default=2, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the order of runs and of all delays.")
@click.option("--verdict/--no-verdict", default=True, help="Ten runs of LAMMPS with 20 % and ten without.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=ROOT / "build" / "accuracy-real",
    help="Results and finished runs; what is there is not made again.  [build/accuracy-real]",
)
@click.option("--estimate-again", is_flag=True, help="Make no runs; estimate those that were kept anew.")
@click.option("--markdown", is_flag=True, help="Make no runs; write figures and the section of docs/estimator.md.")
def main(
    programs: str, levels: str, runs: int, seconds: float, ranks: int, seed: int, verdict: bool, directory: Path,
    estimate_again: bool, markdown: bool,
) -> None:  # fmt: skip
    """Real programs with known interference: what was added, and what the estimators find.

    Can be stopped at any time: the next call goes on.
    """
    try:
        study = Study(directory.resolve(), ranks=ranks, seconds=seconds, seed=seed)
        if estimate_again:
            study.evaluate_again()
        elif markdown:
            write_section(study.results, ROOT)
        else:
            make_runs(study, chosen(programs), [float(level) for level in levels.split(",")], runs, verdict)
    except (OSError, RunFailed, ValueError) as error:
        raise click.ClickException(str(error)) from None


def make_runs(study: Study, programs: list[Program], levels: list[float], runs: int, verdict: bool) -> None:
    """Make what is missing. RunFailed: a program could not be calibrated, or a run failed."""
    plan = list(study_runs(programs, levels, runs, study.seed))
    if verdict and any(program.name == VERDICT_PROGRAM for program in programs):
        plan += verdict_runs(PROGRAMS[VERDICT_PROGRAM], study.seed)
    study.calibrate(program.name for program in programs)
    if failed := study.make(plan):
        raise RunFailed(f"{', '.join(failed)} failed: the next call tries again")


if __name__ == "__main__":
    main()
