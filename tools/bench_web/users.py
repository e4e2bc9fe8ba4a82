"""What 50 readers do: look at the list, sort it, filter it, open a job and its plots, look up what hit it.

A locust file: `run.py` starts it. BENCH_JOBS holds the keys of the jobs that are opened.
"""

from __future__ import annotations

import os
import random

from locust import HttpUser, between, task

KEYS = [int(key) for key in os.environ.get("BENCH_JOBS", "").split(",") if key]
ORDERS = ("-start", "-interference", "-duration", "user")


class Reader(HttpUser):
    """Reads a page for a second or three, then opens the next."""

    wait_time = between(1, 3)

    @task(4)
    def job(self) -> None:
        """A job's page as a browser opens it: the page, then its plots."""
        key = random.choice(KEYS)  # noqa: S311 (which job is no secret)
        self.client.get(f"/jobs/{key}", name="job page")
        self.client.get(f"/jobs/{key}/figure.json?view=job&plots=main", name="job plots")

    @task(3)
    def jobs(self) -> None:
        """The list, in some order and at some page."""
        page = random.randint(1, 20)  # noqa: S311
        self.client.get(f"/?order={random.choice(ORDERS)}&page={page}", name="list of jobs")  # noqa: S311

    @task(1)
    def lookup(self) -> None:
        """What rose when a job lost time."""
        self.client.get(f"/jobs/{random.choice(KEYS)}/lookup", name="lookup")  # noqa: S311

    @task(1)
    def system(self) -> None:
        """The nodes over time."""
        self.client.get("/system", name="system")
