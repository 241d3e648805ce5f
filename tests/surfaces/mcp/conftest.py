"""Fixtures: an indexed project, and a client of the SDK for its server."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import pytest

from sleuth.engine import Workspace
from sleuth.filters import as_filter
from sleuth.surfaces.mcp import Tools, build_server
from tests.surfaces.project import make_project

if TYPE_CHECKING:
    from mcp import Client


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a new project that a test may change."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def quiet_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that no test changes."""
    return make_project(tmp_path_factory.mktemp("mcp") / "project")


@pytest.fixture
def open_workspace() -> Any:
    """Open workspaces and close them at the end of the test."""
    with ExitStack() as stack:
        yield lambda *places, **options: stack.enter_context(Workspace(*places, **options))


@pytest.fixture
def workspace(quiet_project: Path, open_workspace: Any) -> Workspace:
    """Return a workspace over the quiet project, from its root."""
    opened: Workspace = open_workspace(quiet_project / ".sleuth", quiet_project)
    return opened


@pytest.fixture
def limited(workspace: Workspace, open_workspace: Any) -> Any:
    """Return the workspace of a client that sees the documents of a filter alone."""
    places = (workspace.index, workspace.root)
    return lambda filter: open_workspace(*places, refresh=False, scope=as_filter(filter), within=())


@pytest.fixture
def saved(project: Path, open_workspace: Any) -> Any:
    """Write files of the project, and return a workspace whose index has them."""

    def save(**texts: str) -> Workspace:
        for name, text in texts.items():
            (project / name).write_text(text, "utf-8")
        opened: Workspace = open_workspace(project / ".sleuth", project)
        opened.refresher.check(20.0)
        return opened

    return save


Work: TypeAlias = "Callable[[Client], Awaitable[Any]]"


def with_client(workspace: Workspace, work: Work) -> Any:
    """Run a function with a client of the SDK that is connected to a server over a workspace."""

    from mcp import Client

    async def run() -> Any:
        tools = Tools(workspace)
        async with Client(build_server(lambda _: tools)) as client:
            return await work(client)

    return anyio.run(run)


def call(workspace: Workspace, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool with the SDK's client; the response is one text with a JSON object."""

    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(workspace, work)
    assert not result.is_error, result.content[0].text
    assert len(result.content) == 1
    answer = json.loads(result.content[0].text)
    assert isinstance(answer, dict)
    return answer


def refusal(workspace: Workspace, tool: str, /, **arguments: Any) -> str:
    """Return the message of a refused call."""

    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(workspace, work)
    assert result.is_error
    return str(result.content[0].text)


def path_of(result: dict[str, Any]) -> str:
    """Return the file of a result, by its id."""
    return str(result["id"]).partition("#")[0].partition(":")[0]


def pages(workspace: Workspace, tool: str, /, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Yield the answers to a call, from one cursor to the next."""
    answer = call(workspace, tool, **arguments)
    yield answer
    while answer["cursor"] is not None:
        answer = call(workspace, tool, **arguments, cursor=answer["cursor"])
        yield answer
