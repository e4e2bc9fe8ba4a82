"""What every answer carries so that a hostile job name stays text and the page loads nothing from elsewhere; and the
check that a form came from one of our own pages.
"""

from __future__ import annotations

from flask import Flask, Response, request
from flask_wtf import CSRFProtect
from flask_wtf.csrf import generate_csrf
from markupsafe import Markup

__all__ = ["CONTENT_SECURITY_POLICY", "init_app"]

# No inline script and no inline style: scripts, styles and data come from this server only. Images may be `data:`
# and `blob:` because plotly.js draws a plot into one when it is saved as a picture.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def init_app(app: Flask) -> None:
    """Add the headers to every answer, error pages and static files included; check every request that is no read."""
    app.after_request(_add_headers)
    app.config.update(WTF_CSRF_TIME_LIMIT=None)  # as long as the session
    CSRFProtect(app)
    app.jinja_env.globals["csrf_field"] = _csrf_field


def _csrf_field() -> Markup:
    """The hidden field that every form with method post carries."""
    return Markup('<input type="hidden" name="csrf_token" value="{}">').format(generate_csrf())


def _add_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint not in ("static", "assets.plotly_js"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
