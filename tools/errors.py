"""How a verb fails: one line on stderr, `crosswind VERB: what: way out`, and exit code 1.

Wrong usage is click's: the usage and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from crosswind.tools.output import one_line

__all__ = ["CommandError", "one_line_errors"]

# Errors of the layers below whose message is one clear line by their own contract.
CLEAR_ERRORS = (
    ("crosswind.profile.errors", "FormatError"),
    ("crosswind.db.errors", "DatabaseError"),
    ("crosswind.db.errors", "RefusedProfile"),
    ("crosswind.collector.errors", "SpoolError"),
    ("crosswind.collector.transport.errors", "TransportError"),
    ("crosswind.analysis.errors", "InputError"),
    ("crosswind.web.identity.settings", "SettingsError"),
)


class CommandError(click.ClickException):
    """A verb cannot do what was asked. The message is one line: what, then the way out."""


class _Failure(click.ClickException):
    """What a failed verb prints."""

    def __init__(self, verb: str | None, message: str) -> None:
        super().__init__(message)
        self.verb = verb

    def show(self, file: Any = None) -> None:  # noqa: ANN401 (click's signature)
        """Print the one line on stderr."""
        click.echo(f"crosswind {self.verb or ''}: {one_line(self.message)}", err=True)


@contextmanager
def one_line_errors(ctx: click.Context) -> Iterator[None]:
    """Turn the failures of the verb that runs inside into the one line; anything unforeseen stays a traceback."""
    try:
        yield
    except (click.exceptions.Exit, click.Abort, click.UsageError, BrokenPipeError):
        raise
    except click.ClickException as error:
        raise _Failure(ctx.invoked_subcommand, error.format_message()) from error
    except OSError as error:
        raise _Failure(ctx.invoked_subcommand, _os_error_text(error)) from error
    except _clear_errors() as error:
        raise _Failure(ctx.invoked_subcommand, str(error)) from error


def _os_error_text(error: OSError) -> str:
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return ": ".join([*names, error.strerror or str(error)])


def _clear_errors() -> tuple[type[Exception], ...]:
    # A class can only have been raised if its module was imported; importing all of them here would slow `run` down.
    return tuple(getattr(sys.modules[module], name) for module, name in CLEAR_ERRORS if module in sys.modules)
