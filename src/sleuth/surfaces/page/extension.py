"""Adds the page to a server."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sleuth.surfaces.http import Extension, Service
from sleuth.surfaces.http.warming import Warmer
from sleuth.surfaces.page import files
from sleuth.surfaces.page.handlers import PageHandlers

GETS = (
    "/",
    "/browse",
    "/contents",
    "/docs",
    "/source",
    "/symbol",
    "/original",
    "/picture",
    "/answer",
    "/suggest",
)
METHODS = dict.fromkeys(GETS, "GET") | dict.fromkeys(("/change", "/sign-in", "/sign-out"), "POST")
"""Of each path; its handler has the name of the path."""


def page_extension() -> Extension:
    """Return the page at `/`. Its requests need no `Authorization`; readers sign in with their key."""
    return Extension(_install, public=(*METHODS, *files.PATHS), answers=("/answer",))


def _install(app: FastAPI, service: Service) -> Warmer:
    page = PageHandlers(service)
    for path, method in METHODS.items():
        handler = page.results if path == "/" else getattr(page, path[1:].replace("-", "_"))
        app.router.add_route(path, handler, methods=[method], include_in_schema=False)
    for path in files.PATHS:
        app.router.add_route(path, partial(files.answer, path), methods=["GET"], include_in_schema=False)
    default = app.router.default

    async def answer_without_route(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            await (await page.not_found(request))(scope, receive, send)
        else:
            await default(scope, receive, send)

    app.router.default = answer_without_route
    return page.warm
