from sleuth.surfaces.mcp.clients import CLIENTS as CLIENTS
from sleuth.surfaces.mcp.clients import Client as Client
from sleuth.surfaces.mcp.clients import client_named as client_named
from sleuth.surfaces.mcp.clients import present_clients as present_clients
from sleuth.surfaces.mcp.http import mcp_extension as mcp_extension
from sleuth.surfaces.mcp.installation import Edit as Edit
from sleuth.surfaces.mcp.installation import install as install
from sleuth.surfaces.mcp.installation import uninstall as uninstall
from sleuth.surfaces.mcp.schemas import TOOLS as TOOLS
from sleuth.surfaces.mcp.schemas import ToolSchema as ToolSchema
from sleuth.surfaces.mcp.server import build_server as build_server
from sleuth.surfaces.mcp.tools import Tools as Tools
from sleuth.surfaces.mcp.workspace import Workspace as Workspace

__all__: list[str]

# Not public: for the other rooms.
from sleuth.surfaces.mcp.clients import Scope as Scope
