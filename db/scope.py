"""Which jobs somebody may see, as a condition that every query for a page or the API carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import ColumnElement, false, or_, select, true

from crosswind.db import schema
from crosswind.db.batch_schema import batch_job, batch_step

__all__ = ["JobScope"]


@dataclass(frozen=True)
class JobScope:
    """The jobs of one user and of some accounts of the batch system; or all of them (`JobScope.EVERYTHING`).

    Nobody (`JobScope()`) sees nothing: the empty name is no user's.
    """

    user: str = ""
    accounts: tuple[str, ...] = ()
    everything: bool = False

    EVERYTHING: ClassVar[JobScope]

    def condition(self) -> ColumnElement[bool]:
        """Holds for the rows of schema.job that may be seen."""
        if self.everything:
            return true()
        parts = [schema.job.c.user == self.user] if self.user else []
        if self.accounts:
            of_accounts = (
                select(batch_step.c.job_key)
                .join(batch_job, batch_job.c.key == batch_step.c.batch_key)
                .where(batch_job.c.account.in_(self.accounts))
            )
            parts.append(schema.job.c.key.in_(of_accounts))
        return or_(false(), *parts)


JobScope.EVERYTHING = JobScope(everything=True)
