"""`crosswind run`: a program under the library, its spool files merged into a profile at its end."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import click

from crosswind.tools.child import CommandNotRun, end_like, run_child
from crosswind.tools.errors import CommandError
from crosswind.tools.library import find_library
from crosswind.tools.output import one_line, step
from crosswind.tools.profiling import MAX_JOB_ID, make_spool, profiled_environment

__all__ = ["run_command", "slice_length_ms"]

# The library knows the same variables (libprofiler/config.c); the first that is set names the job.
JOB_ID_VARIABLES = ("CROSSWIND_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
SLICE_PATTERN = re.compile(r"(\d+)(ms|s)?")


class SliceLength(click.ParamType):
    """A length of time as the library reads it: `4s`, `500ms`; 100 ms to 1 h."""

    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text itself, if it is good."""
        try:
            slice_length_ms(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--slice", "slice_length", type=SliceLength(), help="Length of a slice, such as 4s or 500ms.  [4s]")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The profile to write.")
@click.option("--digest", type=click.Choice(["short", "full", "off"]), help="What to print at the end of an MPI job.")
@click.option(
    "--spool", type=click.Path(file_okay=False, path_type=Path), help="Where spool files go while it runs.  [/dev/shm]"
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run_command(
    ctx: click.Context,
    slice_length: str | None,
    output: Path | None,
    digest: str | None,
    spool: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND (mpirun, srun or any program) under Crosswind.

    At its end the profile is in crosswind-JOB.xwp, and the exit code is COMMAND's.

    Spool files are node-local: this sees the processes of this node. Ranks on other nodes write to their own
    nodes, where a site's collector finds them; Open MPI's mpirun does not even hand the environment on to other nodes.

    \b
    Example: crosswind run -o melt.xwp -- mpirun -n 4 lmp -in in.melt
    """
    library = find_library()
    job_id = _job_id()
    target = _target(output, job_id)
    directory = make_spool(spool)
    environment = profiled_environment(os.environ, library, directory, job_id, slice_length, digest)
    try:
        status = run_child(command, environment)
    except CommandNotRun as error:
        shutil.rmtree(directory, ignore_errors=True)
        click.echo(f"crosswind run: {one_line(command[0])}: {error}", err=True)
        ctx.exit(error.exit_code)
    _write_profiles(directory, target)
    ctx.exit(end_like(status))


def slice_length_ms(text: str) -> int:
    """A slice's length as the library reads it, in milliseconds. ValueError: it is none."""
    match = SLICE_PATTERN.fullmatch(text)
    length = int(match[1]) * (1 if match[2] == "ms" else 1000) if match else 0
    if not 100 <= length <= 3_600_000:
        raise ValueError(f"{text!r} is no length of time between 100ms and 3600s")
    return length


def _job_id() -> str:
    for name in JOB_ID_VARIABLES:
        value = os.environ.get(name, "")
        if 0 < len(value) <= MAX_JOB_ID:
            return value
    return f"local-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


def _target(output: Path | None, job_id: str) -> Path:
    """The file to write. A name of our own choice never replaces a file. Fails now rather than after hours."""
    if output is None:
        stem = "crosswind-" + re.sub(r"[^\w.-]", "_", job_id, flags=re.ASCII)
        numbers = iter(range(2, 1_000_000))
        output = Path(f"{stem}.xwp")
        while output.exists():
            output = Path(f"{stem}-{next(numbers)}.xwp")
    output = output.absolute()
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise CommandError(f"{output.parent}: cannot write there: name another file with -o")
    return output


def _write_profiles(spool: Path, target: Path) -> None:
    """Merge, write, say where, remove the spool directory. A failure here must not hide COMMAND's exit code."""
    from crosswind.profile.merge import merge_directory
    from crosswind.profile.store import write_profile

    try:
        with step("crosswind run: merging"):
            profiles = merge_directory(spool)
            for number, profile in enumerate(profiles):
                path = target if number == 0 else target.with_stem(f"{target.stem}-step{one_line(profile.job.step)}")
                write_profile(profile, path)
                count = sum(process.count for process in profile.processes)
                click.echo(f"crosswind run: profile of {count} process{'es' * (count != 1)} in {path}", err=True)
    except Exception as error:  # whatever it is, the spool files stay and the exit code is COMMAND's
        click.echo(f"crosswind run: no profile written ({one_line(error)}): spool files stay in {spool}", err=True)
        return
    if not profiles:
        click.echo(
            "crosswind run: no profile: no process left counts (static, set-user-ID and 32-bit programs are not seen, "
            "nor what ends within seconds without I/O or by a signal)",
            err=True,
        )
    shutil.rmtree(spool, ignore_errors=True)
