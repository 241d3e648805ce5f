"""The application: routes behind the gate, and the seam where further surfaces join.

from sleuth import Engine
from sleuth.surfaces.http import ServerSettings, create_app
app = create_app(Engine.open(".sleuth"), ServerSettings())  # any ASGI server runs it
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from fastapi import FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sleuth.extensions import loaded
from sleuth.surfaces.http import ask, code, documents, jobs, search, status
from sleuth.surfaces.http.gate import Gate
from sleuth.surfaces.http.openapi import describe
from sleuth.surfaces.http.problems import EXPECTED
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Service, call_of
from sleuth.surfaces.http.warming import Warmer, warm

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.surfaces.http.settings import ServerSettings

ROUTERS = tuple(noun.router for noun in (search, ask, documents, jobs, code, status))

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


class _Application(FastAPI):
    """FastAPI behind the gate, which also precedes FastAPI's own middleware.

    Attributes:
        outermost: what gets every request first.
    """

    outermost: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.outermost(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the gate let in, as FastAPI does."""
        await super().__call__(scope, receive, send)


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

    app = _Application(
        title="Sleuth",
        version=sleuth.__version__,
        summary="Finds the passages that answer a question.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts of others
        redoc_url=None,
        openapi_url="/openapi.json",
        telemetry={"tracing": False, "metrics": False},
        redirect_slashes=False,
    )
    app.state.service = service

    async def answer_error(request: Request, error: Exception) -> Response:
        return gate.written(call_of(request).refusal_of(error), request.scope)

    for kind in (*EXPECTED, Exception):
        app.add_exception_handler(kind, answer_error)
    routers = [*ROUTERS, *loaded("routers", JsonRouter)]
    for router in routers:
        app.include_router(router)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    for extension in extensions:
        warmer = extension.install(app, service)
        if warmer is not None:
            warmers.append(warmer)
    gate = app.outermost = Gate(
        app.answer,
        service,
        public=frozenset(status.PUBLIC).union(*(extension.public for extension in extensions)),
        answers=frozenset().union(*(part.answers for part in (*routers, *extensions))),
        uploads=frozenset().union(*(router.uploads for router in routers)),
        dialects={path: router.dialect for router in routers for path in router.paths},
    )
    if settings.cors:
        app.outermost = CORSMiddleware(
            app.outermost,
            allow_origins=list(settings.cors),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "prefer"],
            expose_headers=["x-request-id", "retry-after", "location"],
        )
    return app
