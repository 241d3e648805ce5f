"""Serves one client over standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

import sleuth
from sleuth.surfaces.mcp.server import build_server

if TYPE_CHECKING:
    from sleuth.surfaces.mcp.workspace import Workspace


LIMIT = "MAX_MCP_OUTPUT_TOKENS"
"""Environment variable with which agents limit the answers of all servers."""


def serve(workspace: Workspace) -> None:
    """Answer until standard input ends."""
    try:
        anyio.run(_serve, workspace)
    finally:
        workspace.close()


async def _serve(workspace: Workspace) -> None:
    from sleuth.surfaces.mcp.tools import Tools

    tools = Tools(workspace, most_tokens=most_tokens())
    server = build_server(lambda _: tools, version=sleuth.__version__)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def most_tokens() -> int | None:
    """Return the limit that the agent sets for answers; None without one, and for a value that is not a number."""
    value = os.environ.get(LIMIT, "")
    return int(value) if value.isdecimal() and int(value) else None
