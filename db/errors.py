"""The errors that users of the database meet. Each message is one line that names the thing and the way out."""

from __future__ import annotations

__all__ = ["DatabaseError", "RefusedProfile"]


class DatabaseError(Exception):
    """The database cannot be opened or used; the message says why and what to do."""


class RefusedProfile(ValueError):
    """A profile says something impossible, so nothing of it is loaded; the message says what."""
