"""Sleuth for agents of LangGraph and LangChain: the tools of `sleuth mcp` as tools of LangChain.

from langgraph.prebuilt import create_react_agent
from sleuth.plugins.frameworks.langgraph import SleuthToolkit

with SleuthToolkit(".sleuth") as toolkit:
    agent = create_react_agent(model, toolkit.get_tools())
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sleuth.errors import SleuthError, requires
from sleuth.plugins.frameworks.agents import AgentTools
from sleuth.remote import in_thread
from sleuth.surfaces.mcp import ToolSchema

with requires("langchain-core", "langchain", "tools of LangChain and LangGraph"):
    from langchain_core.tools import BaseTool, StructuredTool, ToolException


class SleuthToolkit(AgentTools):
    """The tools over one index folder; a context manager that closes the index.

    A call that Sleuth refuses answers with the reason, so that the model can mend it.
    """

    def get_tools(self) -> list[BaseTool]:
        """Return the tools, sync and async."""
        return list(map(self._tool, self.schemas))

    def _tool(self, schema: ToolSchema) -> BaseTool:
        def answer(**arguments: Any) -> str:
            try:
                return self.call(schema.name, **arguments)
            except SleuthError as error:
                raise ToolException(str(error)) from error

        async def aanswer(**arguments: Any) -> str:
            return await in_thread(partial(answer, **arguments))

        return StructuredTool(
            name=schema.name,
            description=schema.description,
            args_schema=schema.input_schema,
            func=answer,
            coroutine=aanswer,
            handle_tool_error=True,
        )
