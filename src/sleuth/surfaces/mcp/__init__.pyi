from sleuth.surfaces.mcp.clients import CLIENTS as CLIENTS
from sleuth.surfaces.mcp.clients import Client as Client
from sleuth.surfaces.mcp.clients import client_named as client_named
from sleuth.surfaces.mcp.clients import present_clients as present_clients
from sleuth.surfaces.mcp.http import mcp_extension as mcp_extension
from sleuth.surfaces.mcp.installation import Edit as Edit
from sleuth.surfaces.mcp.installation import install as install
from sleuth.surfaces.mcp.installation import uninstall as uninstall
from sleuth.surfaces.mcp.schemas import TOOLS as TOOLS
from sleuth.surfaces.mcp.server import build_server as build_server
from sleuth.surfaces.mcp.tools import Tools as Tools
from sleuth.surfaces.mcp.workspace import Workspace as Workspace

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.surfaces.mcp.budget import tokens_of as tokens_of
from sleuth.surfaces.mcp.clients import Scope as Scope
from sleuth.surfaces.mcp.edits import read_json as read_json
from sleuth.surfaces.mcp.edits import remove_json as remove_json
from sleuth.surfaces.mcp.edits import remove_toml as remove_toml
from sleuth.surfaces.mcp.edits import set_json as set_json
from sleuth.surfaces.mcp.edits import set_toml as set_toml
from sleuth.surfaces.mcp.schemas import ToolSchema as ToolSchema
from sleuth.surfaces.mcp.stdio import LIMIT as LIMIT
from sleuth.surfaces.mcp.stdio import most_tokens as most_tokens
