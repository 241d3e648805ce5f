"""Logging: silent by default, a logger for each family, and no text of a query above DEBUG."""

import logging
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.llm import OllamaEmbedder
from sleuth.logs import logger_of
from sleuth.testing.ollama import OllamaServer
from sleuth.vector_store import Retriever, SleuthVectorStore
from tests.commands import python

WORD = "xylophone"


def test_loggers_have_names_of_families() -> None:
    """Every logger is `sleuth.` and the name of a room."""
    source = Path(__file__).parents[1] / "src" / "sleuth"
    texts = {path: path.read_text("utf8") for path in source.rglob("*.py")}
    getters = [path for path, text in texts.items() if "getLogger(__name__)" in text]
    assert getters == []
    assert logger_of("web").name == "sleuth.web"


def test_families_tell_what_they_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Store, legs, models and vector stores log their steps; queries and texts are not in their records."""
    (tmp_path / "a.txt").write_text(f"The {WORD} plays.")
    with caplog.at_level(logging.DEBUG, "sleuth"), OllamaServer() as server:
        embedder = OllamaEmbedder("nomic-embed-text", base_url=server.url)
        with Engine.open(tmp_path / "index", create=True, embedder=embedder) as engine:
            engine.add([Document(f"A {WORD} plays.", {"source": "b"})])
            Retriever(SleuthVectorStore(engine, embedder), embedder).retrieve(WORD, k=1)
            engine.index([tmp_path / "a.txt"])
            engine.retrieve(WORD, filter=f"title:{WORD}")
            engine.search(WORD)
    assert "1 documents added" in caplog.text
    families = {"store", "lexical", "dense", "llm", "vector_store"}
    assert families <= {record.name.removeprefix("sleuth.") for record in caplog.records}
    assert WORD not in caplog.text


def test_a_repair_on_opening_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A segment that is missing when an index is opened is a warning of the store."""
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        engine.add(Document(f"Word{n} of {n * 7919}.", {"source": str(n)}) for n in range(3000))
    segments = list((tmp_path / "index").rglob("lexical-*.seg"))
    assert segments
    for segment in segments:
        segment.unlink()
    Engine.open(tmp_path / "index").close()
    levels = [record.levelname for record in caplog.records if record.name == "sleuth.store"]
    assert levels == ["WARNING"] * len(segments)


def test_nothing_is_printed_by_default() -> None:
    """A warning of Sleuth's does not reach standard error of a program that configures no logging."""
    script = "from sleuth.logs import logger_of; logger_of('web').error('lost')"
    result = python(script)
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)
