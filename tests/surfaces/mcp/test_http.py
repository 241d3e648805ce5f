"""`/mcp` loads the SDK when it is first asked."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sleuth.surfaces.mcp.http import mcp_extension
from tests.surfaces.http.conftest import serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}

STARTED = """
import asyncio, sys
from sleuth import Engine
from sleuth.surfaces.http import ServerSettings, create_app
from sleuth.surfaces.mcp.http import mcp_extension

async def begin_and_end(app):
    async with app.router.lifespan_context(app):
        pass

with Engine.open(sys.argv[1], create=True) as engine:
    asyncio.run(begin_and_end(create_app(engine, ServerSettings(), extensions=[mcp_extension()])))
print(*sys.modules)
"""


def test_a_server_starts_with_what_it_needs(tmp_path: Path) -> None:
    """A server that nobody has asked loads neither the SDK of agents, nor httpx, nor what opens indexes of code."""
    command = [sys.executable, "-c", STARTED, str(tmp_path / "index")]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "sleuth.surfaces.mcp.http" in modules
    assert not {"mcp", "mcp_types", "mcp.types", "httpx", "sleuth.engine.codebase"} & set(modules)


def test_first_requests_at_once_are_all_answered(quiet_project: Path) -> None:
    """Requests that arrive while the SDK loads wait for it, and each gets its answer."""
    with (
        serving(quiet_project / ".sleuth", extensions=[mcp_extension()]) as started,
        ThreadPoolExecutor(6) as threads,
    ):
        answers = threads.map(lambda _: started.client.post("/mcp", json=PING, headers=ACCEPT), range(6))
        assert [answer.json()["result"] for answer in answers] == [{}] * 6
