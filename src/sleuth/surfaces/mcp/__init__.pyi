from sleuth.surfaces.mcp.schemas import ToolSchema as ToolSchema
from sleuth.surfaces.mcp.server import build_server as build_server
from sleuth.surfaces.mcp.tools import TOOLS as TOOLS
from sleuth.surfaces.mcp.tools import Tools as Tools

__all__: list[str]
