"""The page of one job: what it lost and when, over its background, with everything behind it in tabs.

arguments   what the addresses of this page may ask for
page        the HTML: identity, verdict, footprint, and one tab
stack       the stacked plots over one time axis; figure.json, plot.csv and plot.json answer from it
heat        process or node by slice, as an image
tables_csv  the numbers behind the heat map and the segments' figures
clusters    segments: boxes, when they were hit, a histogram with its threshold
nodes       what the agents of the job's nodes saw
coverage    how much of the machine was profiled, slice by slice
footprint   the bars on top: the one table of thresholds
"""

from __future__ import annotations

from crosswind.web.pages.job import clusters, export, figure, heat, page, tables_csv  # noqa: F401 (their routes)
from crosswind.web.pages.job.arguments import blueprint

__all__ = ["blueprint"]
