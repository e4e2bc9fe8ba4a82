"""A name that somebody we trust vouches for, and what the site's settings let its bearer see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from crosswind.web.identity.roles import Role, Viewer
from crosswind.web.identity.settings import Settings

__all__ = ["Person", "Refused", "person_of", "role_of", "viewer_of"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}")
_MOST_GROUPS = 1000


class Refused(Exception):
    """A request that nobody trustworthy vouches for; the message says why, for the log and the person."""


@dataclass(frozen=True)
class Person:
    """A login name of the cluster, and the groups that the settings give something to."""

    name: str
    groups: tuple[str, ...] = ()


def person_of(name: object, groups: Iterable[object], settings: Settings, *, strip_domain: bool) -> Person:
    """Somebody by the name that was vouched for. Raises Refused where it is no login name."""
    text = name if isinstance(name, str) else ""
    if strip_domain:
        text = text.partition("@")[0]
    if not _NAME.fullmatch(text):
        raise Refused("the name that you signed in with is no login name of this site")
    used = _groups_used(settings)
    known = (group for group in islice(groups, _MOST_GROUPS) if isinstance(group, str) and group in used)
    return Person(text, tuple(known))


def viewer_of(person: Person, settings: Settings) -> Viewer:
    """What a person may see."""
    names = _names(person)
    accounts = {account for name in names for account in settings.projects.get(name, ())}
    return Viewer(person.name, role_of(person, settings), tuple(sorted(accounts)))


def role_of(person: Person, settings: Settings) -> Role:
    """The highest role that the settings give to a person or one of the groups."""
    names = _names(person)
    if names & set(settings.roles.admin):
        return Role.ADMIN
    if names & set(settings.roles.support):
        return Role.SUPPORT
    return Role.LEAD if names & settings.projects.keys() else Role.USER


def _names(person: Person) -> set[str]:
    """As the settings write them."""
    return {person.name, *(f"@{group}" for group in person.groups)}


def _groups_used(settings: Settings) -> set[str]:
    names = {*settings.roles.admin, *settings.roles.support, *settings.projects}
    return {name[1:] for name in names if name.startswith("@")}
