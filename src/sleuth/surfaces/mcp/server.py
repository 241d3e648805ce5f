"""Serves the tools over the official SDK; one client over standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server

import sleuth
from sleuth.errors import SleuthError
from sleuth.remote import in_thread
from sleuth.surfaces.mcp.schemas import INSTRUCTIONS

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from sleuth.engine import Workspace
    from sleuth.surfaces.mcp.tools import Tools

    Context = ServerRequestContext[Any, Any]

Runner = Callable[..., Awaitable[Any]]
"""Takes the context of a request, a function and its arguments, and returns what it returns in a thread."""


def build_server(
    tools_of: Callable[[Context], Tools],
    *,
    run: Runner = lambda _, function, *arguments: in_thread(function, *arguments),
) -> Server[Any]:
    """Return a server of the SDK.

    Args:
        tools_of: returns the tools for the sender of a request; called in the event loop, so it must not block.
        run: runs their functions; in another thread, whose computation ends when the request is cancelled.
    """

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = tools_of(context)
        tools.prepare()
        hints = types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.input_schema,
                    annotations=hints,
                )
                for tool in tools.schemas.values()
            ]
        )

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tools = tools_of(context)
        is_error = False
        try:
            text = await run(context, tools.call, params.name, params.arguments or {})
        except (SleuthError, TypeError) as error:
            text, is_error = str(error), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server(
        "sleuth",
        version=sleuth.__version__,
        title="Sleuth",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


LIMIT = "MAX_MCP_OUTPUT_TOKENS"
"""Environment variable with which agents limit the answers of all servers."""


def serve_stdio(workspace: Workspace) -> None:
    """Answer one client over standard input and output, until the input ends or Ctrl-C is pressed."""

    async def serve() -> None:
        from mcp.server.stdio import stdio_server

        from sleuth.surfaces.mcp.tools import Tools

        tools = Tools(workspace, most_tokens=most_tokens())
        server = build_server(lambda _: tools)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        # In a thread that Ctrl-C does not wait for: what reads the input ends with the input alone.
        asyncio.run(in_thread(lambda: asyncio.run(serve())))
    finally:
        workspace.close()


def most_tokens() -> int | None:
    """Return the limit that the agent sets for answers; None without one, and for a value that is not a number."""
    value = os.environ.get(LIMIT, "")
    return int(value) if value.isdecimal() and int(value) else None
