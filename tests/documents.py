"""What tests of adapters share: it runs the examples of the guides, and lists what an index holds."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sleuth import Document, Engine, default_embedder
from tests.commands import python

DOCS = Path(__file__).parents[1] / "docs" / "how-to"
GUIDES = [DOCS / f"{name}.md" for name in ("frameworks", "data-frames", "gpu-or-hosted-embedder")]
PLACE = ("source", "start_line", "end_line")
"""Metadata that every passage gets."""


NEWS = (
    "I had pancakes with eggs for breakfast this morning.",
    "The weather tomorrow will be cloudy and cool.",
    "Robbers broke into the city bank and stole a million.",
    "The stock market is down today.",
    "That film about the sea was wonderful.",
    "The weather forecast for tomorrow: clouds, cool.",
)
"""What peers and Sleuth search, so that their results can be compared."""
QUERY = "will it rain tomorrow"


def meaning(text: str) -> list[float]:
    """Return the vector that the default embedder gives a text."""
    return [float(value) for value in default_embedder().embed_documents([text])[0]]


def check_examples(heading: str, folder: Path) -> None:
    """Run the Python blocks below a heading in a folder, and compare what they print with the blocks below them."""
    guides = "\n".join(path.read_text("utf8") for path in GUIDES)
    sections = re.split(r"^## ", guides, flags=re.MULTILINE)
    (text,) = (part for part in sections if part.startswith(f"{heading}\n"))
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert blocks
    for code, output in blocks:
        run = python(code, cwd=folder)
        assert run.stdout == output, run.stderr


def guide_line(beginning: str, **names: Any) -> Any:
    """Return what the line gives that docs/how-to/moving-in.md has in place of one of another package."""
    rows = re.findall(r"^\| (.+?) \|.*\| `(.+)` \|$", (DOCS / "moving-in.md").read_text("utf8"), re.MULTILINE)
    (code,) = (code for other, code in rows if other.startswith(beginning))
    return eval(code, names)  # noqa: S307


def stored(engine: Engine) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return text and own metadata of each document, all of one passage, by id."""
    passages = [item for document in engine.documents() for item in engine.get(document.id)]
    own = ({key: value for key, value in item.metadata.items() if key not in PLACE} for item in passages)
    return {item.document_id: (item.text, metadata) for item, metadata in zip(passages, own, strict=True)}


@pytest.fixture
def news(tmp_path: Path) -> Iterator[Engine]:
    """An index of the texts."""
    with Engine.open(tmp_path / ".sleuth", create=True) as engine:
        engine.add(Document(text, {"n": n}, id=str(n)) for n, text in enumerate(NEWS))
        yield engine


@pytest.fixture
def closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a model that lies on the disk must not open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def check_spelling(spelling: str, path: Path) -> None:
    """Make an index with an embedder by its spelling, open it again, and search by its vectors."""
    with Engine.open(path, create=True, embedder=spelling) as engine:
        engine.add([Document("one bucket", id="a"), Document("another text", id="b")])
    with Engine.open(path) as engine:
        (hit,) = engine.retrieve("another text", 1, legs=["dense"])
    assert hit.document_id == "b"
