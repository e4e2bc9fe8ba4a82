"""The picture of the system's page as numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from flask.testing import FlaskClient

from support.profiles import FIRST_SLICE, SLICE_NS

__all__ = ["START_MS", "picture"]

START_MS = FIRST_SLICE * SLICE_NS // 10**6  # of the made profiles


def picture(client: FlaskClient, query: str) -> tuple[dict[str, Any], np.ndarray]:
    """The answer, and its cells as values in the metric's unit: NaN where nothing ran."""
    answer = client.get(f"/system/grid.json?{query}")
    assert answer.status_code == 200, answer.text
    shades = np.frombuffer(base64.b64decode(answer.json["shades"]), dtype=np.uint8).astype(float)
    shades = shades.reshape(len(answer.json["rows"]), answer.json["columns"])
    values = np.where(shades == 0, np.nan, (shades - 1) / 254 * answer.json["metric"]["top"])
    return answer.json, values
