"""`sleuth mcp` as an agent starts it: a process with pipes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio


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


def test_the_process_ends_with_its_input(quiet_project: Path) -> None:
    """When the agent closes the pipe, the server exits and prints nothing."""
    result = subprocess.run(
        [sys.executable, "-m", "sleuth", "mcp"],
        cwd=quiet_project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
