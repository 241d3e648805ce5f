"""The protocol's official conformance tests run against `/mcp`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.surfaces.mcp.http import mcp_extension
from tests.surfaces.http.conftest import serving

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
