"""The query parameters of a page, checked against their schema."""

from __future__ import annotations

from typing import Any

from flask import abort, request
from marshmallow import Schema, ValidationError

__all__ = ["arguments_or_400"]


def arguments_or_400(schema: Schema) -> dict[str, Any]:
    """The query parameters, checked. Ends the request with 400 and a sentence that names what is wrong."""
    try:
        return schema.load(request.args.to_dict())
    except ValidationError as error:
        named = error.normalized_messages().items()
        problems = "; ".join(f"{name}: {' '.join(map(str, texts))}" for name, texts in named)
        abort(400, description=f"The address asks for something that there is not ({problems[:300]}).")
