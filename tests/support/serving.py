"""An application on a loopback port, for a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from flask import Flask
from werkzeug.serving import make_server


@contextmanager
def serving(app: Flask) -> Iterator[str]:
    """Its address, while several threads answer there."""
    server = make_server("127.0.0.1", 0, _at_once(app), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _at_once(app: Flask) -> Any:
    """The application with answers whose files are closed before they are sent: werkzeug's server leaves them open
    where a browser goes away in the middle, and the warning would fail whichever test runs then.
    """

    def answer(environ: Any, start_response: Any) -> list[bytes]:
        parts: Any = app(environ, start_response)
        if not hasattr(parts, "close"):
            return [b"".join(parts)]
        with closing(parts):
            return [b"".join(parts)]

    return answer
