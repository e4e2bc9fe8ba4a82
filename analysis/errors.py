"""The one error that the analysis raises for data that cannot be analysed."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """The data, or what was asked of them, make no sense. The message is one clear line."""
