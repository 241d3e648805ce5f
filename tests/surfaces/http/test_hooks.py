"""Hooks of plugins apply to every search that the server answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from sleuth.surfaces.cli.serve import extensions
from tests.code.conftest import write

from .conftest import Local, make_index, serving

PERMISSION = """
from sleuth.hooks import hook

@hook("indiana_jones_retrieve", priority=-1)
def only_the_zoo(result, query, k, return_mode, for_synthesize, *, rag2f):
    result.items = [item for item in result.items if item.metadata.get("tenant") == "zoo"]
    return result
"""
EVERYTHING = "tokens bucket cats"
QUESTION = "Do cats sleep most of the day, and how many tokens does a bucket hold?"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server whose plugin shows one of two tenants."""
    folder = tmp_path_factory.mktemp("guarded")
    index = make_index(folder / "index")
    write(folder / "plugins", {"permission.py": PERMISSION})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLEUTH_PLUGINS", str(folder / "plugins"))
        with serving(index, read_only=True, extensions=extensions()) as started:
            yield started


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"query": EVERYTHING}),
        ("/v1/search", {"query": EVERYTHING, "expand": "document", "snippets": True}),
        ("/v1/ask", {"query": QUESTION}),
        ("/", {"q": EVERYTHING}),
        ("/answer", {"q": QUESTION}),
    ],
)
def test_no_path_goes_around_a_permission_filter(guarded: Local, path: str, body: dict[str, Any]) -> None:
    """Searches, answers and the page show only what the plugin allows."""
    if path.startswith(("/v1", "/retrieval")):
        answer = guarded.client.post(path, json=body)
    else:
        answer = guarded.client.get(path, params=body)
    assert answer.status_code == 200, answer.text
    assert "sleep" in answer.text
    for secret in ("fifty", "refilled", "limits.md", "bucket.md"):
        assert secret not in answer.text
