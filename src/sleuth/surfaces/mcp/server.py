"""Serves the tools and the documents over the official SDK."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from sleuth.errors import SleuthError
from sleuth.remote import in_thread
from sleuth.surfaces.mcp.schemas import INSTRUCTIONS, TOOLS

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from sleuth.surfaces.mcp.tools import Tools

    Context = ServerRequestContext[Any, Any]

T = TypeVar("T")

PAGE = 100
"""Documents that one list of resources holds."""

SCHEME = "sleuth:///"
TEMPLATE = "sleuth:///{+id}"


class Runner(Protocol):
    """Runs a function in a thread, for a request."""

    async def __call__(self, context: Context, function: Callable[..., T], /, *args: Any) -> T:
        """Return what the function returns."""


async def run_in_thread(_: Context, function: Callable[..., T], /, *args: Any) -> T:
    """Runs a function in another thread; its computation ends when the request is cancelled."""
    return await in_thread(function, *args)


def build_server(
    tools_of: Callable[[Context], Tools], *, version: str, run: Runner = run_in_thread
) -> Server[Any]:
    """Return a server of the SDK.

    Args:
        tools_of: returns the tools for the sender of a request; called in the event loop, so it must not block.
        run: runs their functions.
    """

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = tools_of(context)
        tools.prepare()
        return types.ListToolsResult(tools=_tools(tools.names))

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tools = tools_of(context)
        try:
            text = await run(context, tools.call, params.name, params.arguments or {})
        except (SleuthError, TypeError) as error:
            return types.CallToolResult(content=[_text(str(error))], is_error=True)
        return types.CallToolResult(content=[_text(text)])

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        tools = tools_of(context)
        cursor = params.cursor if params is not None else None
        documents, following = await run(context, _documents, tools, cursor)
        return types.ListResourcesResult(resources=documents, next_cursor=following)

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        tools = tools_of(context)
        uri = str(params.uri)
        if not uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"uri must begin with {SCHEME}, got {uri!r}")
        try:
            text = await run(context, tools.read, unquote(uri.removeprefix(SCHEME)))
        except SleuthError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from error
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "sleuth",
        version=version,
        title="Sleuth",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=read_resource,
    )


async def _list_templates(
    _: Context, __: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        name="document",
        title="A document, file or passage",
        uri_template=TEMPLATE,
        description="By the id that search gives, or by path, as sleuth:///src/app.py:10-40.",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _tools(names: Collection[str]) -> list[types.Tool]:
    hints = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            annotations=hints,
        )
        for tool in TOOLS
        if tool.name in names
    ]


def _documents(tools: Tools, cursor: str | None) -> tuple[list[types.Resource], str | None]:
    """Return one page of the documents, and the cursor of the next page."""
    first = int(cursor) if cursor and cursor.isdecimal() else 0
    documents = tools.documents()
    resources = [
        types.Resource(
            uri=SCHEME + quote(document.id, safe="/:@"),
            name=document.id,
            title=document.title or None,
            mime_type="text/plain",
            size=document.metadata.get("size"),
        )
        for document in documents[first : first + PAGE]
    ]
    following = first + PAGE
    return resources, str(following) if following < len(documents) else None
