"""Who may open what: a row for every route and method of the dashboard. A route without a row fails test_access.py.

{key} is the key of a job, {number} that of a token. A row's path asks for something that exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["ROUTES", "Kind", "Route"]


class Kind(Enum):
    """Who may open a route."""

    PUBLIC = "whoever reaches the server"
    VIEWER = "whoever is signed in; it shows what is theirs"
    JOB = "whoever may see the job: its owner, who leads its project, staff; 404 for all others"
    SUPPORT = "support and admin; 403 for all others"
    ADMIN = "admin; 403 for all others"
    FORM = "whoever is signed in and sends a form of ours; 400 without its token"
    SUPPORT_FORM = "support and admin with a form of ours; 400 without its token"


@dataclass(frozen=True)
class Route:
    """A path and its query. token_scope: what a token needs; empty: closed to tokens."""

    kind: Kind
    path: str
    token_scope: str = ""


_WHEN = "from=1759999900000&to=1760000600000"

ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "static"): Route(Kind.PUBLIC, "/static/style.css"),
    ("GET", "assets.plotly_js"): Route(Kind.PUBLIC, "/assets/plotly-0.min.js"),
    ("GET", "health.healthz"): Route(Kind.PUBLIC, "/healthz"),
    ("GET", "jobs.index"): Route(Kind.VIEWER, "/"),
    ("GET", "jobs.as_csv"): Route(Kind.VIEWER, "/jobs.csv"),
    ("GET", "job.page"): Route(Kind.JOB, "/jobs/{key}"),
    ("GET", "job.figure"): Route(Kind.JOB, "/jobs/{key}/figure.json"),
    ("GET", "job.clusters"): Route(Kind.JOB, "/jobs/{key}/clusters.json"),
    ("GET", "job.clusters_csv"): Route(Kind.JOB, "/jobs/{key}/clusters.csv"),
    ("GET", "job.heat"): Route(Kind.JOB, "/jobs/{key}/heat.json"),
    ("GET", "job.heat_csv"): Route(Kind.JOB, "/jobs/{key}/heat.csv"),
    ("GET", "job.plot_csv"): Route(Kind.JOB, "/jobs/{key}/plot.csv?plot=cpu"),
    ("GET", "job.plot_json"): Route(Kind.JOB, "/jobs/{key}/plot.json?plot=cpu"),
    ("GET", "lookup.page"): Route(Kind.JOB, "/jobs/{key}/lookup"),
    ("GET", "lookup.document"): Route(Kind.JOB, "/jobs/{key}/lookup.json"),
    ("GET", "lookup.figure"): Route(Kind.JOB, "/jobs/{key}/lookup/figure.json"),
    ("GET", "lookup.other_side"): Route(Kind.JOB, "/jobs/{key}/lookup/other-side.json"),
    ("GET", "lookup.index"): Route(Kind.VIEWER, "/lookup"),
    ("GET", "lookup.range_document"): Route(Kind.VIEWER, f"/lookup.json?resource=fs:net&{_WHEN}"),
    ("GET", "lookup.range_figure"): Route(Kind.VIEWER, f"/lookup/figure.json?resource=fs:net&{_WHEN}"),
    ("GET", "compare.index"): Route(Kind.VIEWER, "/compare"),
    ("GET", "system.index"): Route(Kind.VIEWER, "/system"),
    ("GET", "system.grid"): Route(Kind.VIEWER, "/system/grid.json"),
    ("POST", "events.add"): Route(Kind.SUPPORT_FORM, "/system/events"),
    ("POST", "events.change"): Route(Kind.SUPPORT_FORM, "/system/events/{number}"),
    ("POST", "events.remove"): Route(Kind.SUPPORT_FORM, "/system/events/{number}/remove"),
    ("GET", "access_log.index"): Route(Kind.ADMIN, "/admin/log"),
    ("GET", "tokens.index"): Route(Kind.VIEWER, "/tokens"),
    ("POST", "tokens.make"): Route(Kind.FORM, "/tokens"),
    ("POST", "tokens.revoke"): Route(Kind.FORM, "/tokens/{number}/revoke"),
    ("GET", "sign_in.begin"): Route(Kind.PUBLIC, "/sign-in"),
    ("GET", "sign_in.callback"): Route(Kind.PUBLIC, "/sign-in/callback"),
    ("POST", "sign_in.sign_out"): Route(Kind.FORM, "/sign-out"),
    ("GET", "api-docs.openapi_json"): Route(Kind.VIEWER, "/api/v1/openapi.json", "any"),
    ("GET", "api.Jobs"): Route(Kind.VIEWER, "/api/v1/jobs", "read:jobs"),
    ("GET", "api.Job"): Route(Kind.JOB, "/api/v1/jobs/{key}", "read:jobs"),
    ("GET", "api.Access"): Route(Kind.JOB, "/api/v1/jobs/{key}/access", "read:jobs"),
    ("GET", "api.Timeline"): Route(Kind.JOB, "/api/v1/jobs/{key}/timeline", "read:jobs"),
    ("GET", "api.Untrusted"): Route(Kind.JOB, "/api/v1/jobs/{key}/untrusted", "read:jobs"),
    ("GET", "api.Background"): Route(Kind.JOB, "/api/v1/jobs/{key}/background", "read:background"),
    ("GET", "series.Names"): Route(Kind.VIEWER, "/api/v1/series/names", "read:jobs"),
    ("GET", "series.OfJob"): Route(Kind.JOB, "/api/v1/series/job?job={key}&name=cpu", "read:jobs"),
    ("GET", "series.OfBackground"): Route(
        Kind.JOB, "/api/v1/series/background?job={key}&name=write_disk&resource=fs:disk", "read:background"
    ),
    ("GET", "series.OfSystem"): Route(
        Kind.VIEWER, f"/api/v1/series/system?resource=fs:net&name=write_net&{_WHEN}", "read:system"
    ),
}
