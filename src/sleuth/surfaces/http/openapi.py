"""The OpenAPI document: what FastAPI derives from the routes, and what the gate adds to each of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sleuth.surfaces.http.fields import described
from sleuth.surfaces.http.problems import ProblemDocument


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            routes=app.routes,
            tags=app.openapi_tags,
        )
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})[ProblemDocument.__name__] = ProblemDocument.model_json_schema()
        if app.state.service.keys is not None:
            components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}]
        app.openapi_schema = described(document)
    return app.openapi_schema
