"""The tools of `sleuth mcp` as plain calls, from which adapters make the tools of their framework."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sleuth.engine import Workspace
from sleuth.protocols import Closing
from sleuth.surfaces.mcp import Tools, ToolSchema


class AgentTools(Closing):
    """The tools over one index folder. Safe to share between threads; a context manager that closes the index.

    Args:
        index: the index folder, as `sleuth index` makes it.
        root: the folder whose documents and code are asked about; None for all that the index holds.
    """

    def __init__(self, index: str | Path, root: str | Path | None = None) -> None:
        self._workspace = Workspace(Path(index), None if root is None else Path(root))
        self._tools = Tools(self._workspace)

    @property
    def schemas(self) -> list[ToolSchema]:
        """The tools: name, description and JSON Schema of the arguments."""
        return list(self._tools.schemas.values())

    def call(self, name: str, /, **arguments: Any) -> str:
        """Run a tool and return its answer, one JSON object.

        Raises:
            SleuthError: what is wrong with the call, in words for the model.
        """
        return self._tools.call(name, arguments)

    def close(self) -> None:
        """Close the index."""
        self._workspace.close()
