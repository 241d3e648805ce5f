"""Sleuth in Pydantic AI: the tools of `sleuth mcp` as a toolset.

from pydantic_ai import Agent
from sleuth.plugins.frameworks.pydantic_ai import SleuthToolset

agent = Agent("openai:gpt-5", toolsets=[SleuthToolset(".sleuth")])
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from sleuth.errors import SleuthError, requires
from sleuth.plugins.frameworks.agents import AgentTools
from sleuth.remote import in_thread

with requires("pydantic-ai-slim", "pydantic-ai", "a toolset of Pydantic AI"):
    from pydantic_ai import FunctionToolset, ModelRetry, Tool


class SleuthToolset(FunctionToolset[Any]):
    """The tools over one index folder. A call that Sleuth refuses is one that the model may mend and try again.

    Args:
        index: the index folder, as `sleuth index` makes it.
        root: the folder whose documents and code are asked about; None for all that the index holds.
        options: of `FunctionToolset`, such as `max_retries`.
    """

    def __init__(self, index: str | Path, root: str | Path | None = None, **options: Any) -> None:
        self._agent_tools = AgentTools(index, root)
        tools = [
            Tool.from_schema(
                partial(self._call, schema.name), schema.name, schema.description, schema.input_schema
            )
            for schema in self._agent_tools.schemas
        ]
        super().__init__(tools, **options)

    async def _call(self, name: str, /, **arguments: Any) -> str:
        try:
            return await in_thread(partial(self._agent_tools.call, name, **arguments))
        except SleuthError as error:
            raise ModelRetry(str(error)) from error

    def close(self) -> None:
        """Close the index."""
        self._agent_tools.close()
