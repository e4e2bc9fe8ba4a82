"""What the collector asks a batch system. Whoever knows one implements this protocol and hands it to the daemon."""

from __future__ import annotations

from typing import Protocol

__all__ = ["BatchSystem", "NoBatchSystem"]


class BatchSystem(Protocol):
    """Answers must be quick (from memory or a table): the daemon asks in each look, for each job with silent files."""

    def refresh(self) -> None:
        """Bring the answers up to date: called at the begin of each look. Raises DatabaseError."""
        ...

    def note_loaded(self) -> None:
        """Job steps were loaded: some may belong to a job that is known already."""
        ...

    def is_over(self, job_id: str, uid: int) -> bool | None:
        """Whether all processes of the job are gone: True, False, or None where the job is not known.

        It decides about processes that this machine cannot see: those of other nodes, and of an earlier boot. Of its
        own processes /proc knows better.
        """
        ...


class NoBatchSystem:
    """Knows no job: silence decides."""

    def refresh(self) -> None:
        """Nothing to do."""

    def note_loaded(self) -> None:
        """Nothing to do."""

    def is_over(self, job_id: str, uid: int) -> bool | None:
        """Not known."""
        return None
