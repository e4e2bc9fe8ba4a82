"""Who asks, and what that lets them see."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from crosswind.db.scope import JobScope

__all__ = ["Role", "Viewer"]


class Role(IntEnum):
    """What somebody is to the site; each may do what those before may."""

    USER = 0
    LEAD = 1
    SUPPORT = 2
    ADMIN = 3


@dataclass(frozen=True)
class Viewer:
    """Whoever made a request. projects: the accounts of the batch system whose jobs a lead sees. single: the only
    person there is. token_scopes: what a token may be used for; None: no token was used.
    """

    name: str
    role: Role
    projects: tuple[str, ...] = ()
    single: bool = False
    token_scopes: frozenset[str] | None = None

    @property
    def names_others(self) -> bool:
        """Whether jobs of others, their users, commands and nodes may be shown."""
        return self.role >= Role.SUPPORT

    @property
    def scope(self) -> JobScope:
        """The jobs that may be seen whole."""
        return JobScope.EVERYTHING if self.names_others else JobScope(user=self.name, accounts=self.projects)
