"""Which routes are answered without FastAPI's layers."""

from __future__ import annotations

from sleuth.surfaces.http import ROUTERS, direct_routes


def test_searches_are_answered_directly() -> None:
    """Requests for hits have fixed paths and JSON bodies, so that the gate calls their handlers itself."""
    paths = {path for method, path in direct_routes(ROUTERS) if method == "POST"}
    assert paths >= {
        "/v1/search",
        "/v1/code/search",
        "/v1/documents",
        "/v1/facets",
        "/v1/embeddings",
        "/retrieval",
    }
