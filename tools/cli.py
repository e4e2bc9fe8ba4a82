"""The `crosswind` command: the table of verbs. Exit codes: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from crosswind.tools.errors import one_line_errors

__all__ = ["VERBS", "main", "package_version"]

# verb: (module, its click command, help line). Modules are imported when used, so that `crosswind run` starts quickly.
VERBS: dict[str, tuple[str, str, str]] = {
    "run": ("crosswind.tools.run", "run_command", "Run a program under Crosswind and write its profile."),
    "show": ("crosswind.tools.show", "show_command", "Show what a profile holds."),
    "estimate": ("crosswind.tools.estimate", "estimate_command", "Estimate the interference of one run."),
    "compare": ("crosswind.tools.compare", "compare_command", "Compare several runs of one program."),
    "lookup": ("crosswind.tools.lookup", "lookup_command", "Show what rose when a job lost time."),
    "collect": (
        "crosswind.tools.collect",
        "collect_command",
        "Load finished spool files and profiles into a database.",
    ),
    "db": ("crosswind.tools.db", "db_command", "Look after a database: size, old detail, backup, space."),
    "agent": ("crosswind.tools.agent", "agent_command", "Read the node's own metrics; ship finished files."),
    "receive": ("crosswind.tools.receive", "receive_command", "Receive what the nodes' agents ship."),
    "jobs": ("crosswind.tools.jobs", "jobs_command", "List a site's jobs, those to look at first in front."),
    "servers": ("crosswind.tools.servers", "servers_command", "Compare the file servers' traffic with the jobs'."),
    "serve": ("crosswind.tools.serve", "serve_command", "Serve the dashboard."),
    "token": ("crosswind.tools.token", "token_command", "Make, list and revoke keys to the dashboard's API."),
    "access": ("crosswind.tools.access", "access_command", "Read the log of who looked at whose jobs."),
    "export": ("crosswind.tools.export", "export_command", "Write a profile for other tools."),
    "inject": ("crosswind.tools.inject", "inject_command", "Run a program held up by known interference."),
    "experiment": (
        "crosswind.tools.experiment.command",
        "experiment_command",
        "Run known programs against each other, and say what that costs.",
    ),
    "noise": ("crosswind.tools.noise", "noise_command", "Put a known load on one resource."),
    "info": ("crosswind.tools.info", "info_command", "Say what is installed: the library's path, versions."),
    "doctor": ("crosswind.tools.doctor", "doctor_command", "Check what works on this machine."),
    "demo": (
        "crosswind.tools.demo",
        "demo_command",
        "Two real jobs, one disturbs the other, and the page that shows it.",
    ),
}


class VerbGroup(click.Group):
    """The verbs of the table, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The click command of a verb; None: no such verb."""
        if cmd_name not in VERBS:
            return None
        module, attribute, _ = VERBS[cmd_name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table alone."""
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, brief) for verb, (_, _, brief) in VERBS.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (what click returns)
        """Run the verb; a failure becomes one line."""
        with one_line_errors(ctx):
            return super().invoke(ctx)


def package_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("crosswind")
    except PackageNotFoundError:
        return "unknown"


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: crosswind run -- mpirun -n 4 ./solver",
)
@click.version_option(package_version(), prog_name="crosswind")
def main() -> None:
    """How much of a job's run time other jobs cost it, and on which shared resource they met."""
