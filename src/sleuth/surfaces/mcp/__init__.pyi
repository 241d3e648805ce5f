from sleuth.surfaces.mcp.clients import CLIENTS as CLIENTS
from sleuth.surfaces.mcp.clients import Client as Client
from sleuth.surfaces.mcp.clients import install as install
from sleuth.surfaces.mcp.clients import uninstall as uninstall
from sleuth.surfaces.mcp.http import mcp_extension as mcp_extension
from sleuth.surfaces.mcp.schemas import TOOLS as TOOLS
from sleuth.surfaces.mcp.server import build_server as build_server
from sleuth.surfaces.mcp.tools import Tools as Tools
from sleuth.surfaces.mcp.workspace import Workspace as Workspace

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.surfaces.freshness import Stale as Stale
from sleuth.surfaces.mcp.budget import tokens_of as tokens_of
from sleuth.surfaces.mcp.edits import remove_json as remove_json
from sleuth.surfaces.mcp.edits import remove_toml as remove_toml
from sleuth.surfaces.mcp.edits import set_json as set_json
from sleuth.surfaces.mcp.edits import set_toml as set_toml
from sleuth.surfaces.mcp.schemas import INSTRUCTIONS as INSTRUCTIONS
