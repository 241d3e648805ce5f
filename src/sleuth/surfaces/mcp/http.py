"""Serves agents at `/mcp` of the HTTP server, by streamable HTTP, behind the same keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import JSONResponse
from starlette.routing import Route

from sleuth.errors import ArgumentError, SleuthError
from sleuth.surfaces.http import Extension, Refusal, Service, passage_url
from sleuth.surfaces.http.service import call_of
from sleuth.surfaces.http.tokens import AGENTS_PATH, METADATA

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from sleuth.surfaces.mcp.server import Context
    from sleuth.surfaces.mcp.tools import Tools

T = TypeVar("T")

METADATA_PATHS = (METADATA, f"{METADATA}{AGENTS_PATH}")


def mcp_extension() -> Extension:
    """MCP at `/mcp`. Each request stands alone, so any worker may answer it.

    The first request loads the SDK, which takes a third of what a server takes to start.
    """
    endpoint = _Endpoint()
    return Extension(endpoint.install, public=METADATA_PATHS, lifespan=endpoint.running)


class _Endpoint:
    """What Starlette calls as an application, not as a function of a request."""

    def install(self, app: FastAPI, service: Service) -> None:
        """Add the routes of a service."""
        self._service = service
        # Nothing is told between requests: a client that gets a stream for that would wait in it until its deadline.
        app.router.routes.append(Route(AGENTS_PATH, endpoint=self, methods=["POST"]))
        if service.tokens is not None:
            metadata = service.tokens.metadata
            for path in METADATA_PATHS:
                app.router.routes.append(Route(path, lambda _: JSONResponse(metadata)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._is_asked.set()
        manager = await asyncio.shield(self._manager)  # a client that leaves does not end it for others
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests for the length of a block."""
        self._is_asked = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] = asyncio.Future()
        sessions = asyncio.create_task(self._run())
        try:
            yield
        finally:
            sessions.cancel()
            with suppress(asyncio.CancelledError):
                await sessions

    async def _run(self) -> None:
        """Run the manager of sessions from the first request on, in a task that begins and ends it."""
        await self._is_asked.wait()
        try:
            manager = await self._service.warming.run(session_manager, self._service)
        except Exception as error:  # noqa: BLE001 - raised again in each request
            self._manager.set_exception(error)
            return
        async with manager.run():
            self._manager.set_result(manager)
            await asyncio.Event().wait()  # until the server ends


def session_manager(service: Service) -> StreamableHTTPSessionManager:
    """Return the manager of MCP sessions for a service, whose tools see only what the key of a caller may see.

    An error becomes an ArgumentError with the text that this caller may read.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from sleuth.surfaces.mcp.server import build_server
    from sleuth.surfaces.mcp.tools import Tools

    def tools_of(context: Context) -> Tools:
        request: Any = context.request
        call = call_of(request)
        return Tools(call.workspace, url_of=partial(passage_url, str(request.base_url)))

    async def run(context: Context, function: Callable[..., T], /, *args: Any) -> T:
        request: Any = context.request
        call = call_of(request)
        try:
            return await call.read(function, *args)
        except (SleuthError, Refusal) as error:
            raise ArgumentError(str(call.refusal_of(error).detail)) from error

    server = build_server(tools_of, run=run)
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=service.settings.max_body
    )
