"""The first k results are the same for each greater k, page by page, in each source and over all.

Doors give what Python gives for each k (`test_one_answer.py`), and so hold the same law.
"""

import ast
import json
import shutil
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, Sources, index_path, open_code, open_sources
from sleuth.cluster import ShardedEngine
from tests.commands import sleuth
from tests.examples import EXPLORING
from tests.surfaces.test_one_answer import Place, every_door

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = (
    "asyncio", "collections", "concurrent", "email", "html", "http", "json", "logging", "urllib", "xml",
)  # fmt: skip
DOCUMENTS = 1_200
KS = (1, 2, 3, 5, 10, 11, 20, 50, 100) if EXPLORING else (1, 3, 10, 100)
QUESTIONS = (
    "how to write a custom encoder", "TextWrapper", "parse a date header of a mail",
    "what happens when the connection is closed", "where are cookies kept", "function that quotes a url",
    "HTTPServer", "set_payload", "how do I log to a file", "the wait until a future is done",
    "split a string into lines", "read a chunk of bytes and decode it",
    "why is an exception raised for a bad value", "json.JSONDecoder.decode",
    "class that handles multipart messages", "return the number of items", "close", "deprecated alias",
)  # fmt: skip
SOME = QUESTIONS if EXPLORING else QUESTIONS[::3]
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {}, "without copies": {"fold_copies": True}, "boosted": {"boost": {"module:email*": 2.0}},
    "folded": {"collapse": "module"}, "sorted": {"sort": "source"},
}  # fmt: skip
OF_DOCUMENTS: Mapping[str, Mapping[str, Any]] = {
    "vectors": {"legs": ["dense"]}, "words": {"legs": ["lexical"]}, "ranks": {"fusion": "rrf(pool=40)"},
    "a small pool": {"fusion": "minmax(pool=30)"}, "in common": {"min_score": 0.2},
    "unlimited": {"per_document": 0},
}  # fmt: skip


def docstrings() -> Iterator[Document]:
    """Yield what functions and classes of the standard library say of themselves; some of it stands there twice."""
    for path in sorted(LIBRARY.glob("*.py")) + [
        p for name in PACKAGES for p in sorted((LIBRARY / name).rglob("*.py"))
    ]:
        module = str(path.relative_to(LIBRARY))
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            text = ast.get_docstring(node)
            if text and len(text) > 60:
                metadata = {"source": module, "title": node.name, "module": module}
                yield Document(text, metadata, id=f"{module}:{node.lineno}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of 1,200 documents and of a repository of some 200 files."""
    home = tmp_path_factory.mktemp("library")
    documents = [document for document, _ in zip(docstrings(), range(DOCUMENTS), strict=False)]
    assert len(documents) == DOCUMENTS
    with Engine.open(home / ".sleuth", create=True) as engine:
        engine.add(documents)
    for name in PACKAGES:
        shutil.copytree(
            LIBRARY / name, home / "code" / name, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    with open_code(home / ".sleuth", create=True) as storage:
        index_path(storage, home / "code")
    return home


@pytest.fixture(scope="module")
def sources(home: Path) -> Iterator[Sources]:
    with open_sources(home / ".sleuth", ["docs", "code"], deadline=None) as sources:
        yield sources


def assert_prefixes(lists: Mapping[int, Sequence[Any]], what: str) -> None:
    """Each list is the beginning of the longest one, and as long as was asked for, or all there is."""
    longest = lists[max(lists)]
    for k, ids in lists.items():
        assert ids == longest[:k], f"{what}, k={k}"


@pytest.mark.parametrize("names", [["docs"], ["code"], ["docs", "code"]], ids="+".join)
@pytest.mark.parametrize("options", OPTIONS)
def test_of_sources(sources: Sources, names: list[str], options: str) -> None:
    """One source or several, with and without what rearranges results: ids and scores of the first k are the same."""
    for question in SOME:
        hits = {k: sources.retrieve(question, k, sources=names, **OPTIONS[options]) for k in KS}
        assert_prefixes({k: [(i.id, i.score) for i in ranking] for k, ranking in hits.items()}, question)


@pytest.mark.parametrize("options", OF_DOCUMENTS)
def test_of_documents(home: Path, options: str) -> None:
    """With other legs, fusions and limits, and for more results than a pool has."""
    with Engine.open(home / ".sleuth") as engine:
        for question in SOME:
            hits = {k: engine.retrieve(question, k, **OF_DOCUMENTS[options]) for k in (*KS, 230, 600)}
            assert_prefixes({k: [(i.id, i.score) for i in ranking] for k, ranking in hits.items()}, question)
            scores = [item.score for item in hits[600] if item.score is not None]
            assert scores == sorted(scores, reverse=True)


def test_over_shards(home: Path, tmp_path: Path) -> None:
    """Over four shards the first results do not depend on k either."""
    with ShardedEngine.open(tmp_path / "shards", create=True, shards=4) as engine:
        engine.add([document for document, _ in zip(docstrings(), range(DOCUMENTS), strict=False)])
        for question in SOME:
            hits = {k: engine.retrieve(question, k) for k in (*KS, 230)}
            assert_prefixes({k: [(i.id, i.score) for i in ranking] for k, ranking in hits.items()}, question)


@pytest.fixture(scope="module")
def place(home: Path) -> Iterator[Place]:
    with every_door(home / ".sleuth") as opened:
        yield opened


@pytest.mark.parametrize("query", QUESTIONS[::4])
def test_page_by_page(place: Place, query: str) -> None:
    """Pages of five over HTTP are the first twenty results."""
    ids: list[str] = []
    cursor = None
    for _ in range(4):
        body = {"query": query, "k": 5, "sources": ["docs", "code"], "cursor": cursor}
        answer = place.server.client.post("/v1/search", json=body).json()
        ids += [item["id"] for item in answer["items"]]
        cursor = answer["next_cursor"]
    assert ids == [item.id for item in place.sources.retrieve(query, 20)]


@pytest.mark.parametrize(
    "question", [*QUESTIONS[::5], "who is the king of France", "doctor cures sick people"]
)
def test_the_grade_does_not_depend_on_k(place: Place, question: str) -> None:
    """An answer from 1, 5, 10 or 20 passages has one grade in Python, the shell, over HTTP and MCP."""
    grades = set()
    for k in (1, 5, 10, 20):
        body = {"query": question, "k": k, "sources": ["docs"]}
        asked = sleuth("ask", "--json", "--in", "docs", "-k", str(k), question, cwd=place.root)
        searched = place.tools.call("search", body)
        grades |= {
            place.sources.search(question, k, sources=["docs"]).extra["grade"],
            json.loads(asked.stdout)["extra"]["grade"],
            place.server.client.post("/v1/ask", json=body).json()["grade"],
            json.loads(searched)["grade"],
        }
    assert len(grades) == 1
