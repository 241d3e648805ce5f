"""An agent of LangGraph that answers with Sleuth's tools. A script takes the part of the model: nothing is downloaded.

pip install 'sleuth[hybrid,langgraph]' && python examples/agent_langgraph.py

With a model, everything but `Script` stays: `init_chat_model("openai:gpt-5").bind_tools(tools)`.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from sleuth import Engine, index_path, open_code
from sleuth.plugins.frameworks.langgraph import SleuthToolkit

QUESTION = "When are tokens refilled, and who calls the method that does it?"
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("status", {}),
    ("search", {"query": QUESTION, "k": 3}),
    ("fetch", {"id": "limits.md"}),
    ("definitions", {"name": "TokenBucket.refill"}),
    ("references", {"name": "refill"}),
    ("grep", {"pattern": "bucket\\.refill"}),
    ("history", {"name": "TokenBucket.refill"}),
)
"""What the script calls, one tool after the other."""
FILES = {
    "limits.md": "# Limits\n\nTokens are refilled every second.\n",
    "bucket.py": "class TokenBucket:\n    def refill(self, seconds):\n        self.tokens += seconds\n",
    "shop.py": "from bucket import TokenBucket\n\n\ndef serve():\n    bucket = TokenBucket()\n    bucket.refill(1)\n",
}


class Script(BaseChatModel):
    """A chat model that calls the tools of STEPS in turn, and then answers with what it read."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        if len(answers) < len(STEPS):
            name, arguments = STEPS[len(answers)]
            call = {"name": name, "args": arguments, "id": f"call-{len(answers)}", "type": "tool_call"}
            message = AIMessage(content="", tool_calls=[call])
        else:
            message = AIMessage(
                content="Every second (limits.md); serve() in shop.py calls TokenBucket.refill."
            )
        return ChatResult(generations=[ChatGeneration(message=message)])


def make_index(folder: Path) -> Path:
    """Write a small repository, index its documents and its code, and return the index folder."""
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", *FILES], ["commit", "-qm", "Buckets refill"]):
        subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True)
    index = folder / ".sleuth"
    with Engine.open(index, create=True) as engine:
        engine.index([folder / "limits.md"])
    with open_code(index, create=True) as storage:
        index_path(storage, folder, workers=1)
    return index


def conversation(toolkit: SleuthToolkit) -> Iterator[BaseMessage]:
    """Run the agent, and yield its messages."""
    tools, model = toolkit.get_tools(), Script()

    def answer(state: MessagesState) -> dict[str, Sequence[BaseMessage]]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    state = graph.compile().invoke({"messages": [HumanMessage(QUESTION)]}, {"recursion_limit": 50})
    yield from state["messages"]


def main() -> None:
    """Print the conversation."""
    with tempfile.TemporaryDirectory() as folder, SleuthToolkit(make_index(Path(folder)), folder) as toolkit:
        for message in conversation(toolkit):
            if isinstance(message, ToolMessage):
                print(f"{message.name}: {message.text[:300]}")
            elif message.text:
                print(f"{message.type}: {message.text}")


if __name__ == "__main__":
    main()
