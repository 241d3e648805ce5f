"""The tools of `sleuth mcp` in LangGraph and Pydantic AI, with scripted models: `make conformance`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelResponse,
    RunContext,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from sleuth import Engine
from sleuth.plugins.frameworks.langgraph import SleuthToolkit
from sleuth.plugins.frameworks.pydantic_ai import SleuthToolset
from tests.documents import NEWS
from tests.documents import news as engine
from tests.surfaces.project import make_project

__all__ = ["engine"]

ROOT = Path(__file__).parents[3]
NAMES = ["search", "fetch", "definitions", "references", "grep", "history", "status"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed repository with documents."""
    return make_project(tmp_path_factory.mktemp("project") / "shop")


@pytest.fixture
def tools(project: Path) -> Iterator[dict[str, BaseTool]]:
    """The tools of LangChain, by name."""
    with SleuthToolkit(project / ".sleuth", project) as toolkit:
        yield {tool.name: tool for tool in toolkit.get_tools()}


def test_the_tools_of_langchain_are_those_of_the_server(tools: dict[str, BaseTool]) -> None:
    """Names, required arguments and answers are those of `sleuth mcp`, sync and async."""
    assert sorted(tools) == sorted(NAMES)
    assert tools["search"].tool_call_schema["required"] == ["query"]  # type: ignore[index]
    answer = tools["search"].invoke({"query": "when are tokens refilled", "k": 1})
    assert json.loads(answer)["results"][0]["title"]
    call = {"id": "docs/limits.md"}
    answers = [tools["fetch"].invoke(call), asyncio.run(tools["fetch"].ainvoke(call))]
    first, second = [
        json.loads(each)["text"] for each in answers
    ]  # whether files are stale may be told later
    assert first == second


def test_a_wrong_call_of_langchain_is_answered(tools: dict[str, BaseTool]) -> None:
    """The reason goes to the model as the answer of the tool, marked as an error."""
    call = {"name": "fetch", "args": {"id": "docs/missing.md"}, "id": "1", "type": "tool_call"}
    message = tools["fetch"].invoke(call)
    assert isinstance(message, ToolMessage)
    assert message.status == "error"
    assert "docs/missing.md" in message.text


def test_the_agent_of_the_example_uses_every_tool() -> None:
    """`examples/agent_langgraph.py` runs, and each tool answers without an error."""
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / "agent_langgraph.py"], capture_output=True, text=True, check=True
    )
    kind_and_text = [line.partition(": ")[::2] for line in run.stdout.splitlines()]
    answers = {kind: text for kind, text in kind_and_text if kind in NAMES}
    assert sorted(answers) == sorted(NAMES)
    assert all(text.startswith("{") for text in answers.values())
    assert kind_and_text[-1][0] == "ai"


def test_an_agent_of_pydantic_ai_calls_the_tools(project: Path) -> None:
    """The model sees the tools with their schemas, gets their answers, and may mend a wrong call."""
    seen: list[AgentInfo] = []
    calls = [
        ToolCallPart("fetch", {"id": "docs/missing.md"}),
        ToolCallPart("fetch", {"id": "docs/limits.md"}),
        ToolCallPart("search", {"query": "when are tokens refilled"}),
    ]

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        place = len(seen) - 1
        return ModelResponse([calls[place] if place < len(calls) else TextPart("Every second.")])

    toolset = SleuthToolset(project / ".sleuth", project)
    result = Agent(FunctionModel(model), toolsets=[toolset]).run_sync("When are tokens refilled?")
    toolset.close()
    assert result.output == "Every second."
    assert sorted(tool.name for tool in seen[0].function_tools) == sorted(NAMES)
    parts = [part for message in result.all_messages() for part in message.parts]
    refusal, *answers = [part for part in parts if isinstance(part, ToolReturnPart)]
    assert refusal.outcome == "retried"
    assert "docs/missing.md" in str(refusal.content)
    passage, ranking = [json.loads(str(part.content)) for part in answers]
    assert "every second" in passage["text"]
    assert ranking["results"]


async def test_a_view_of_the_toolset_is_streamed(project: Path) -> None:
    """Some of the tools, under other names, answer in a run whose text comes bit by bit."""

    async def model(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if answers:
            yield str(json.loads(str(answers[0].content))["title"])
        else:
            yield {0: DeltaToolCall("docs_fetch", json.dumps({"id": "docs/limits.md"}))}

    toolset = SleuthToolset(project / ".sleuth", project)
    view = toolset.filtered(lambda _, tool: tool.name == "fetch").prefixed("docs")
    async with Agent(FunctionModel(stream_function=model), toolsets=[view]).run_stream("?") as run:
        assert await run.get_output() == "Limits"
    toolset.close()


def test_an_engine_is_a_dependency_of_an_agent(engine: Engine) -> None:
    """A tool of the application's own searches the engine that a run is given, also in a run that goes on."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        (part, *_) = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)] or [None]
        question = {"query": "who broke into the bank"}
        return ModelResponse([TextPart(str(part.content)) if part else ToolCallPart("retrieve", question)])

    agent = Agent(FunctionModel(model), deps_type=Engine)

    @agent.tool
    async def retrieve(context: RunContext[Engine], query: str) -> str:
        """Return the best passage."""
        (hit,) = await context.deps.aretrieve(query, 1)
        return str(hit.text)

    first = agent.run_sync("Who?", deps=engine)
    again = agent.run_sync("And who?", deps=engine, message_history=first.new_messages())
    assert first.output == again.output == NEWS[2]


@pytest.mark.parametrize("kind", [SleuthToolkit, SleuthToolset])
def test_a_wrong_argument_is_named(project: Path, kind: Any) -> None:
    """An option that neither ours nor the framework's class has is refused by name."""
    with pytest.raises(TypeError, match="retrievers"):
        kind(project / ".sleuth", retrievers=[])
