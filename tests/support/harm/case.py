"""What one row of the harm suite says."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """One program that must not notice Crosswind.

    name: for the report.
    script: for bash, in an empty directory. It finds $PROGRAMS (test programs of the build), $BUILT (those of
        programs.py), $SHARED (an empty directory that every user can reach), $PYTHON, and the function as_user, which
        runs a command as an ordinary user.
    needs: commands that must be installed. builds: rows of programs.py. root: needs root. probe: a script that fails
        where this machine cannot run the case.
    status, shows: exit status without the library, and a pattern in its standard output. A case whose program did not
        run at all would pass for ever.
    leaves_nothing: why Crosswind may leave no trace of it.
    only_default: why it does not run with a helper that starts at once (by default it starts after two seconds).
    """

    name: str
    script: str
    needs: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    root: bool = False
    probe: str = ""
    status: int = 0
    shows: str = ""
    leaves_nothing: str = ""
    only_default: str = ""
