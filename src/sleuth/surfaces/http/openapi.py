"""The OpenAPI document: what FastAPI derives from the routes, and what the gate adds to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sleuth.surfaces.http.connections import MOST_HEAD, MOST_HEADERS
from sleuth.surfaces.http.problems import ProblemDocument
from sleuth.surfaces.http.status import PUBLIC

if TYPE_CHECKING:
    from sleuth.surfaces.http.settings import ServerSettings


def _limits(settings: ServerSettings, *, has_keys: bool) -> str:
    """Return what a client must know of this server besides its operations."""
    who = "A request needs a key" if has_keys else "This server has no keys: a request needs none"
    return (
        f"{who}. A body has at most {settings.max_body:,} bytes, {settings.max_upload:,} with files; the address and "
        f"the headers {MOST_HEAD:,} bytes in {MOST_HEADERS} headers. A request has {settings.deadline:g} s, one "
        f"that a model may answer {settings.answer_deadline:g} s. {settings.threads} requests run at a time in each "
        f"worker and {settings.queue} wait; one more is a 503 with `retry-after`, and so is the ninth job that "
        "waits. A key may have a rate: one request more in a minute is a 429 with `retry-after`."
    )


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
        service = app.state.service
        scheme = {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of the server: `Bearer sleuth_...`.",
        }
        components["securitySchemes"] = {"key": scheme}
        document["security"] = [{"key": []}] if service.keys is not None else [{}, {"key": []}]
        for path in PUBLIC & document["paths"].keys():
            for operation in document["paths"][path].values():
                operation["security"] = []
        document["info"]["description"] = _limits(service.settings, has_keys=service.keys is not None)
        app.openapi_schema = document
    return app.openapi_schema
