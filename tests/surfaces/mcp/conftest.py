"""A small repository with documents and two commits, indexed, and a client of the SDK for its server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from sleuth import Engine, index_path, open_code

pytest.importorskip("mcp")

from mcp import Client

from sleuth.surfaces.mcp import Tools, Workspace, build_server

LIMITS = "# Limits\n\nTokens are refilled every second.\n\n## Burst\n\nA burst takes what there is.\n"
BUCKET = '''"""Token buckets."""


class TokenBucket:
    """Limits how often something happens."""

    def refill(self, seconds: Any) -> Any:
        """Add the tokens of some seconds."""
        self.tokens += seconds * self.rate
'''
SHOP = """from bucket import TokenBucket


def serve(request: Any) -> Any:
    bucket = TokenBucket()
    bucket.refill(1)
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git as a person without settings."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_project(root: Path) -> Path:
    """A repository of two commits whose documents and code are indexed in `.sleuth`."""
    (root / "docs").mkdir(parents=True)
    (root / "src").mkdir()
    (root / ".gitignore").write_text(".sleuth\n", "utf-8")
    (root / "docs" / "limits.md").write_text(LIMITS, "utf-8")
    (root / "src" / "bucket.py").write_text(BUCKET.replace("refill", "replenish"), "utf-8")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets replenish")
    git(root, "tag", "v1")
    (root / "src" / "bucket.py").write_text(BUCKET, "utf-8")
    (root / "src" / "shop.py").write_text(SHOP, "utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets refill", "-m", "Customers call it that.")
    index = root / ".sleuth"
    with Engine.open(index, create=True) as engine:
        engine.index([root / "docs"])
    with open_code(index, create=True) as storage:
        index_path(storage, root, revision="v1", workers=1)
        index_path(storage, root, workers=1)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh project that a test may change."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def quiet_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that no test changes."""
    return make_project(tmp_path_factory.mktemp("mcp") / "project")


@pytest.fixture
def workspace(quiet_project: Path) -> Iterator[Workspace]:
    """The quiet project's index, asked about from its root."""
    opened = Workspace(quiet_project / ".sleuth", quiet_project)
    yield opened
    opened.close()


Work = Callable[[Client], Awaitable[Any]]


def with_client(workspace: Workspace, work: Work) -> Any:
    """Run some work with a client of the SDK that is connected to a server over a workspace."""

    async def run() -> Any:
        tools = Tools(workspace)
        async with Client(build_server(lambda _: tools, version="1")) as client:
            return await work(client)

    return anyio.run(run)


def call(workspace: Workspace, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool by the SDK's client; the answer is one text that holds a JSON object."""

    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(workspace, work)
    assert not result.is_error, result.content[0].text
    assert len(result.content) == 1
    answer = json.loads(result.content[0].text)
    assert isinstance(answer, dict)
    return answer


def refusal(workspace: Workspace, tool: str, /, **arguments: Any) -> str:
    """The message of a call that is refused."""

    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(workspace, work)
    assert result.is_error
    return str(result.content[0].text)
