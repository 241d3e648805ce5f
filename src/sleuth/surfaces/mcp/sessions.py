"""Runs the tools for agents over streamable HTTP: one manager of sessions for a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

import sleuth
from sleuth.errors import ArgumentError, SleuthError
from sleuth.surfaces.http import Call, Refusal, Service, passage_url
from sleuth.surfaces.http.keys import Key
from sleuth.surfaces.http.service import call_of
from sleuth.surfaces.mcp.server import build_server
from sleuth.surfaces.mcp.tools import Tools
from sleuth.surfaces.mcp.workspace import Workspace

if TYPE_CHECKING:
    from sleuth.surfaces.mcp.server import Context

T = TypeVar("T")


def session_manager(service: Service) -> StreamableHTTPSessionManager:
    """Return the manager of MCP sessions for a service, whose tools see only what the key of a caller may see.

    An error becomes an ArgumentError with the text that this caller may read.
    """
    has_documents = "docs" in service.settings.sources
    workspaces: dict[tuple[str, ...], Workspace] = {}

    def workspace_of(key: Key) -> Workspace:
        workspace = workspaces.get(key.code)
        if workspace is None:
            workspace = workspaces[key.code] = Workspace(
                service.engine.path,
                refresh=False,
                engine=service.engine if has_documents else None,
                documents=has_documents,
                offers=service.offers_repository,
                within=key.code or None,
            )
            service.resources.callback(workspace.close)
        return workspace

    def tools_of(context: Context) -> Tools:
        call = _call(context)
        return Tools(
            workspace_of(call.key),
            allowed=call.key.filter,
            code=call.key.sees_code,
            url_of=partial(passage_url, str(_request(context).base_url)),
        )

    async def run(context: Context, function: Callable[..., T], /, *args: Any) -> T:
        call = _call(context)
        try:
            return await call.read(function, *args)
        except (SleuthError, Refusal) as error:
            raise ArgumentError(str(call.refusal_of(error).detail)) from error

    server = build_server(tools_of, version=sleuth.__version__, run=run)
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=service.settings.max_body
    )


def _request(context: Context) -> Any:
    return context.request


def _call(context: Context) -> Call:
    return call_of(_request(context))
