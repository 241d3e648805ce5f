"""The application: routes behind the gate, and the seam where further surfaces join.

from sleuth import Engine
from sleuth.surfaces.http import ServerSettings, create_app
app = create_app(Engine.open(".sleuth"), ServerSettings())  # any ASGI server runs it
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from sleuth import platform
from sleuth.engine import Engine
from sleuth.extensions import loaded
from sleuth.surfaces.http import ask, code, documents, jobs, search, status
from sleuth.surfaces.http.answers import ProblemDocument, logger
from sleuth.surfaces.http.connections import MOST_HEAD, MOST_HEADERS
from sleuth.surfaces.http.gate import Gate
from sleuth.surfaces.http.routes import JsonRouter, writes
from sleuth.surfaces.http.service import Call, CurrentCall, Service
from sleuth.surfaces.http.settings import ServerSettings
from sleuth.surfaces.operations import Operation, operations

ROUTERS = tuple(noun.router for noun in (search, ask, documents, jobs, code, status))

Warmer: TypeAlias = Callable[[Call, str], object]
"""Does once what a request does, with a call of nobody and a query that finds something."""

Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, slots=True)
class Extension:
    """A further surface on the same server: the page at `/`, MCP at `/mcp`.

    Attributes:
        install: adds its routes or mounts to the application, and returns what loads ahead of the first request what
            they need, or None. Its requests pass the gate: in a handler `call_of(request)` gives the request's key,
            filter and queues.
        public: paths of it that need no key.
        answers: paths of it that a model may answer, which have the deadline of answers.
        lifespan: runs while the server does.
    """

    install: Callable[[FastAPI, Service], Warmer | None]
    public: Collection[str] = ()
    answers: Collection[str] = ()
    lifespan: Lifespan | None = None


def create_app(engine: Engine, settings: ServerSettings, *, extensions: Sequence[Extension] = ()) -> FastAPI:
    """Return the application over an open engine, which stays open when the application ends."""
    import sleuth

    service = Service(engine, settings)
    warmers: list[Warmer] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(warm(service, warmers))
        async with AsyncExitStack() as stack:
            for extension in extensions:
                if extension.lifespan is not None:
                    await stack.enter_async_context(extension.lifespan())
            yield
        warming.cancel()
        await service.jobs.stop()
        service.close()

    app = FastAPI(
        title="Sleuth",
        version=sleuth.__version__,
        summary="Finds the passages that answer a question.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts of others
        redoc_url=None,
        openapi_url="/openapi.json",
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        redirect_slashes=False,
    )
    app.state.service = service

    routers = [*ROUTERS, *loaded("routers", JsonRouter), operations_router()]
    for router in routers:
        app.routes.extend(router.routes)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    for extension in extensions:
        warmer = extension.install(app, service)
        if warmer is not None:
            warmers.append(warmer)
    gate: ASGIApp = Gate(
        AsyncExitStackMiddleware(app.router),  # closes the files of forms
        service,
        public=frozenset(status.PUBLIC).union(*(extension.public for extension in extensions)),
        answers=frozenset().union(*(part.answers for part in (*routers, *extensions))),
        uploads=frozenset().union(*(router.uploads for router in routers)),
        dialects={path: router.dialect for router in routers for path in router.paths},
    )
    if settings.cors:
        gate = CORSMiddleware(
            gate,
            allow_origins=list(settings.cors),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "prefer"],
            expose_headers=["x-request-id", "retry-after", "location"],
        )
    app.middleware_stack = gate  # in place of FastAPI's, which would answer errors before the gate
    return app


def operations_router() -> JsonRouter:
    """Return a router with POST /v1/NAME for each operation of a package."""

    def handler_of(operation: Operation) -> Callable[..., Mapping[str, Any]]:
        def answer(body: BaseModel, call: CurrentCall) -> Mapping[str, Any]:
            return operation.function(call.engine, **dict(body))

        answer.__name__, answer.__doc__ = operation.name, operation.function.__doc__
        answer.__annotations__ = {"body": operation.model, "call": CurrentCall}
        return writes(answer) if operation.writes else answer

    router = JsonRouter("operations")
    for operation in operations().values():
        result = operation.signature.return_annotation
        router.post(f"/v1/{operation.name}", response_model=result)(handler_of(operation))
    return router


_WARMING_SECONDS = 60.0
"""For each warmer: twice what a request has by default, since it loads models first."""
_QUERY_CHARACTERS = 100
LOCAL = frozenset({"docs", "code"})
"""Kinds of sources that are on this machine: a server asks no service before somebody asks it."""


async def warm(service: Service, warmers: Sequence[Warmer]) -> None:
    """Load in the background what requests need; the service is ready after the last warmer, also where one failed."""

    def sample_query() -> str:
        """Return the first words of a document of the index, or a common word."""
        for document in service.engine.list_documents(limit=1).documents:
            for item in service.engine.get(document.id)[:1]:
                return item.text[:_QUERY_CHARACTERS]
        return "main"

    def find(call: Call, query: str) -> None:
        body = search.SearchBody(query=query, k=1, snippets=True)
        search.search_page(body, call, body.stated())

    try:
        query = await service.warming.run(sample_query)
        for warmer in (find, *warmers):
            try:
                call = Call(service, time.monotonic() + _WARMING_SECONDS)
                await service.warming.run(warmer, call, query)
            except Exception:  # noqa: BLE001 - a request that needs it will say what is wrong
                logger.warning("warming failed", exc_info=True)
    finally:
        platform.trim()
        service.is_warm = True


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once: what FastAPI derives from the routes, and what the gate adds to each."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})[ProblemDocument.__name__] = ProblemDocument.model_json_schema()
        service: Service = app.state.service
        settings, has_keys = service.settings, service.keys is not None
        scheme = {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of the server: `Bearer sleuth_...`.",
        }
        components["securitySchemes"] = {"key": scheme}
        document["security"] = [{"key": []}] if has_keys else [{}, {"key": []}]
        for path in status.PUBLIC & document["paths"].keys():
            for operation in document["paths"][path].values():
                operation["security"] = []
        who = "A request needs a key" if has_keys else "This server has no keys: a request needs none"
        document["info"]["description"] = (
            f"{who}. A body has at most {settings.max_body:,} bytes, {settings.max_upload:,} with files; the address "
            f"and the headers {MOST_HEAD:,} bytes in {MOST_HEADERS} headers. A request has {settings.deadline:g} s, "
            f"one that a model may answer {settings.answer_deadline:g} s. {settings.threads} requests run at a time "
            f"in each worker and {settings.queue} wait; one more is a 503 with `retry-after`, and so is the ninth job "
            "that waits. A key may have a rate: one request more in a minute is a 429 with `retry-after`."
        )
        app.openapi_schema = document
    return app.openapi_schema
