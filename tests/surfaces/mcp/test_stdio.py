"""The server of agents as they start it: over pipes, and at `/mcp`, where the official conformance tests run too."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from sleuth.surfaces.mcp.http import mcp_extension
from tests.commands import python
from tests.surfaces.http.conftest import serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


def test_a_client_over_pipes(quiet_project: Path) -> None:
    """A session of the SDK connects, searches from the project's folder, and ends the process."""
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp_types import TextContent

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "sleuth", "mcp"], cwd=quiet_project, env=dict(os.environ)
    )

    async def session() -> tuple[str, list[str], dict[str, object]]:
        with anyio.fail_after(60):
            async with (
                stdio_client(server) as (incoming, outgoing),
                ClientSession(incoming, outgoing) as client,
            ):
                greeting = await client.initialize()
                tools = await client.list_tools()
                result = await client.call_tool("search", {"query": "how are tokens refilled"})
                assert isinstance(result.content[0], TextContent)
                async with anyio.create_task_group() as tasks:  # a pasted token holds nobody up
                    tasks.start_soon(client.call_tool, "search", {"query": "YWJjZGVm" * 312})
                    await client.send_ping()
                return (
                    greeting.server_info.name,
                    [t.name for t in tools.tools],
                    json.loads(result.content[0].text),
                )

    name, tools, answer = anyio.run(session)
    assert name == "sleuth"
    assert tools[0] == "search"
    assert answer["indexed_root"] == str(quiet_project)
    assert answer["results"]


@pytest.mark.parametrize(("is_ctrl_c", "code"), [(False, 0), (True, 130)])
def test_the_process_ends(quiet_project: Path, is_ctrl_c: bool, code: int) -> None:
    """When the agent closes the pipe, or by Ctrl-C while it is open, the server exits and prints nothing."""
    command, pipe = [sys.executable, "-m", "sleuth", "mcp"], subprocess.PIPE
    with subprocess.Popen(command, cwd=quiet_project, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(json.dumps(PING).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"] == {}
        process.send_signal(signal.SIGINT) if is_ctrl_c else process.stdin.close()
        assert (process.wait(60), process.stdout.read(), process.stderr.read()) == (code, b"", b"")


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
    modules = python(STARTED, tmp_path / "index").stdout.split()
    assert "sleuth.surfaces.mcp.http" in modules
    assert not {"mcp", "mcp_types", "mcp.types", "httpx", "sleuth.engine.codebase"} & set(modules)


def test_first_requests_at_once_are_all_answered(quiet_project: Path) -> None:
    """Requests that arrive while the SDK loads wait for it, and each gets its answer; no stream begins beside them."""
    with (
        serving(quiet_project / ".sleuth", extensions=[mcp_extension()]) as started,
        ThreadPoolExecutor(6) as threads,
    ):
        answers = threads.map(lambda _: started.client.post("/mcp", json=PING, headers=ACCEPT), range(6))
        assert [answer.json()["result"] for answer in answers] == [{}] * 6
        with started.client.stream("GET", "/mcp", headers=ACCEPT) as stream:
            assert (stream.status_code, stream.headers["allow"]) == (405, "POST")


FOLDER = Path(__file__).parents[3] / "build" / "conformance" / "node_modules"
NODE = FOLDER / ".bin" / "node"
SUITE = FOLDER / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

SCENARIOS = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]
"""Those that any server can pass: others call tools, prompts and resources that only a server for tests has."""


@pytest.fixture(scope="module")
def address(quiet_project: Path) -> Iterator[str]:
    """Return the address at which agents are served over HTTP."""
    if not NODE.exists() or not SUITE.exists():
        pytest.skip("the conformance package is not installed: `make agents`")
    with serving(
        quiet_project / ".sleuth", extensions=[mcp_extension()], sources=("docs", "code")
    ) as started:
        yield f"{started.url}/mcp"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_pass(address: str, scenario: str) -> None:
    """The scenario ends without a failed check."""
    command = [str(NODE), str(SUITE), "server", "--url", address, "--scenario", scenario]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout
    assert "0 failed" in result.stdout
