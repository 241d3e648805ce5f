"""Adds the page to a server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sleuth.surfaces.http import Extension
from sleuth.surfaces.page import files
from sleuth.surfaces.page.handlers import PageHandlers

if TYPE_CHECKING:
    from fastapi import FastAPI

    from sleuth.surfaces.http import Service, Warmer

PATHS = ("/", "/source", "/symbol", "/original", "/picture", "/answer", "/sign-in", "/sign-out")


def page_extension() -> Extension:
    """Return the page at `/`. Its requests need no `Authorization`; readers sign in with their key."""
    return Extension(_install, public=(*PATHS, *files.PATHS))


def _install(app: FastAPI, service: Service) -> Warmer:
    page = PageHandlers(service)
    routes = {
        "/": (page.results, "GET"),
        "/source": (page.source, "GET"),
        "/symbol": (page.symbol, "GET"),
        "/original": (page.original, "GET"),
        "/picture": (page.picture, "GET"),
        "/answer": (page.answer, "GET"),
        "/sign-in": (page.sign_in, "POST"),
        "/sign-out": (page.sign_out, "POST"),
    }
    for path, (endpoint, method) in routes.items():
        app.router.add_route(path, endpoint, methods=[method], include_in_schema=False)
    for path in files.PATHS:
        app.router.add_route(path, partial(files.answer, path), methods=["GET"], include_in_schema=False)
    return page.warm
