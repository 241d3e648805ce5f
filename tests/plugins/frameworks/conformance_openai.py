"""LangChain's `OpenAIEmbeddings`, as the guide makes it, works with our server: `make conformance`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.http.conftest import make_index, serving

pytest.importorskip("langchain_openai", reason="installed by `make conformance`")


def test_the_client_of_the_guide_embeds(tmp_path: Path) -> None:
    """The example of docs/how-to/clients-of-others.md gets the vector of the index's embedder."""
    guide = (Path(__file__).parents[3] / "docs/how-to/clients-of-others.md").read_text()
    match = re.search(r"```python\n(from langchain_openai .*?)```", guide, re.DOTALL)
    assert match
    values: dict[str, Any] = {}
    with serving(make_index(tmp_path / ".sleuth")) as served:
        exec(match[1].replace("http://localhost:8321", served.url), values)  # noqa: S102
        assert served.engine.embedder is not None
        expected = served.engine.embedder.embed_documents(["how often are tokens refilled"])[0]
    assert values["vector"] == pytest.approx(list(expected), abs=1e-5)
