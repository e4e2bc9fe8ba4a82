"""A month that a database holds already: whether it does, and taking out again what measuring loaded into it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from site_month import Placed, Site
from sqlalchemy import Engine, delete

from crosswind.db import queries, schema
from crosswind.db.connection import reading, writing
from crosswind.db.job_writing import add_to_background, contribution, delete_rows
from crosswind.db.resources import NOWHERE

__all__ = ["check_month", "visiting"]


def check_month(engine: Engine, site: Site) -> None:
    """Raises ValueError for a database that does not hold this month, all of it and no larger one, as `fill` writes
    it: the keys of its jobs are 1 to their number.
    """
    last = len(site.jobs)
    with reading(engine) as conn:
        for key in (1, last // 2, last):
            held, job = queries.get_job(conn, key), site.jobs[key - 1]
            if held is None or (held.job_id, held.first_slice, tuple(held.hosts)) != (
                str(job.number), job.first_slice, job.hosts
            ):  # fmt: skip
                raise ValueError(
                    f"the database does not hold this month (job {key} of {last} is another one or missing): give the "
                    "scale and the seed it was filled with"
                )
        if queries.find_jobs(conn, str(site.jobs[-1].number + 1)):
            raise ValueError("the database holds a larger month: give the scale it was filled with")


@contextmanager
def visiting(engine: Engine, jobs: Collection[Placed]) -> Iterator[None]:
    """Inside, these jobs may be loaded; before (an earlier run may have been killed) and after they are not there."""
    _remove(engine, jobs)
    try:
        yield
    finally:
        _remove(engine, jobs)


def _remove(engine: Engine, jobs: Collection[Placed]) -> None:
    """Delete those of these jobs that are there, with their share of the background: as if never loaded."""
    for job in jobs:
        with writing(engine) as conn:
            for held in queries.find_jobs(conn, str(job.number)):
                profile = queries.get_profile(conn, held.key)
                assert profile is not None, "nothing else deletes jobs"  # noqa: S101
                row = queries.locked_job(conn, held.cluster, profile.job.id, profile.job.step, profile.job.uid)
                assert row is not None, "it was found in this transaction"  # noqa: S101
                share = contribution(profile, row.fed, NOWHERE)
                add_to_background(conn, {block: -values for block, values in share.items()})
                delete_rows(conn, held.key, held.first_slice * held.slice_ns)
                conn.execute(delete(schema.job).where(schema.job.c.key == held.key))
