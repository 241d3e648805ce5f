"""Arguments of a wrong type or value raise an error with name, value and rule before anything is done."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine
from sleuth.ingest import ReadOptions
from sleuth.settings import IndexSettings


@pytest.mark.parametrize("path", [7, None, b"index", ["index"], "a\0b", "\ud800"], ids=repr)
def test_paths_of_an_index(path: Any) -> None:
    """An invalid path of an index is refused."""
    with pytest.raises(ArgumentError, match="path must be the path of a folder, as text or a Path, got "):
        Engine.open(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (7, "settings must be IndexSettings or a mapping of names to values, got 7"),
        ({"analyzer": "klingon"}, "analyzer must be one of .*, got 'klingon'"),
        ({"chunk_size": 10**12}, "chunk_size must be from 8 to 1,000,000, got 1000000000000"),
        ({"k1": math.inf}, "k1 must be 0 or more, got inf"),
        ({"analyser": "code"}, "'analyser'"),
        ({"chunk_size": 64, "chunk_overlap": 30}, "must be from 0 to a quarter of chunk_size, got 30"),
    ],
)
def test_settings_make_no_index(tmp_path: Path, settings: Any, message: str) -> None:
    """Refused settings create no folder."""
    with pytest.raises(ArgumentError, match=message):
        Engine.open(tmp_path / "new", create=True, settings=settings)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [("chunk_size", "a", "int"), ("chunk_size", True, "int"), ("k1", "x", "float"), ("embedder", 3, "str")],
)
def test_types_of_settings(name: str, value: Any, kind: str) -> None:
    """Settings are checked in every way to create them."""
    for make in (lambda values: IndexSettings(**values), IndexSettings.from_dict):
        with pytest.raises(ArgumentError, match=f"{name} must be of type {kind}, got {value!r}"):
            make({name: value})


def test_a_small_chunk_size_takes_its_overlap_along(tmp_path: Path) -> None:
    """The default overlap shrinks with the chunk size, also when the index is opened again."""
    for _ in range(2):
        with Engine.open(tmp_path / "i", create=True, embedder="", settings={"chunk_size": 100}) as engine:
            assert (engine.settings.chunk_size, engine.settings.chunk_overlap) == (100, 25)
    assert IndexSettings.from_dict({"chunk_size": 200}).chunk_overlap == 40


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([7], "documents must hold Documents, got 7"),
        ([Document("x", 5, id="a")], "metadata must be a mapping, got 5, in the document 'a'"),  # type: ignore[arg-type]
        ([Document(None, id="a")], "page_content must be a string, got None, in the document 'a'"),  # type: ignore[arg-type]
        ([Document("x", {1: 2}, id="a")], "names that are strings, got 1, in the document 'a'"),  # type: ignore[dict-item]
        ([Document("x", {"n": math.inf}, id="a")], "a JSON value, .*, in the document 'a'"),
        ([Document("x", id="")], "id .* must be a string that is not blank"),
        ([Document("x", {"source": 3})], "must be a string that is not blank, got 3"),
        ([Document("\ud800", id="a")], "lone surrogates, .*, in the document 'a'"),
    ],
)
def test_a_document_that_cannot_be_kept_is_named(engine: Engine, documents: Any, message: str) -> None:
    """An invalid document among thousands is named."""
    others = [Document(f"text {i}", {"n": i}, id=f"d{i}") for i in range(10)]
    with pytest.raises(ArgumentError, match=message):
        engine.add([*others, *documents, *others])
    assert engine.documents() == []


@pytest.mark.parametrize("depth", [3_000, 501, 0], ids=["deepest", "deep", "circular"])
def test_metadata_without_end(engine: Engine, depth: int) -> None:
    """Metadata that is nested too deeply, or contains itself, is refused."""
    metadata: dict[str, Any] = {}
    if not depth:
        metadata["self"] = metadata
    for _ in range(depth):
        metadata = {"in": metadata}
    with pytest.raises(ArgumentError, match=r"metadata must be .*, in the document 'a'"):
        engine.add([Document("x", metadata, id="a")])


@pytest.mark.parametrize("timeout", [-1, math.nan, "1", None, True])
def test_timeouts(engine: Engine, timeout: Any) -> None:
    """A timeout must be a number of seconds from 0 on."""
    calls: list[Callable[[], Any]] = [
        lambda: engine.add([Document("x", id="a")], timeout=timeout),
        lambda: engine.delete(["a"], timeout=timeout),
    ]
    for call in calls:
        with pytest.raises(
            ArgumentError, match=f"timeout must be a number of seconds of 0 or more, got {timeout!r}"
        ):
            call()


def test_listeners_are_callable_and_long_values_are_shortened(engine: Engine) -> None:
    """A listener that cannot be called, or that a stream itself is, is refused, and no message repeats a text whole."""
    detail = engine.search("cats", on_sources=5).detail
    assert detail is not None and detail.message == "on_sources must be callable, got 5"
    with pytest.raises(ArgumentError, match="on_text must be left out of a stream"):
        engine.stream_search("cats", on_text=print)
    with pytest.raises(ArgumentError, match=r"boost must .*x … x.*") as refused:
        engine.retrieve("cats", boost="x" * 60_000)
    assert len(str(refused.value)) < 3_000


@pytest.mark.parametrize("paths", [None, 7, b"docs", [None], [7], ["\ud800"]], ids=repr)
def test_paths_to_read(engine: Engine, paths: Any) -> None:
    """An invalid path to read is refused."""
    with pytest.raises(ArgumentError, match="paths must be "):
        engine.index(paths)


def test_options_of_reading(engine: Engine, tmp_path: Path) -> None:
    """A value that is neither `ReadOptions` nor a mapping, and an unknown name, are refused."""
    with pytest.raises(ArgumentError, match="options must be ReadOptions, a mapping or None, got 'hidden'"):
        engine.index([tmp_path], options="hidden")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"options must be among include, .*, got 'hiden'"):
        engine.index([tmp_path], options={"hiden": True})


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ({"include": 5}, "a list of strings"), ({"exclude": [5]}, "strings"),
        ({"metadata_fields": 5}, "a list of strings"), ({"id_field": 5}, "a string or None"),
        ({"hidden": "no"}, "True or False"), ({"max_bytes": "x"}, "an int of 0 or more"),
        ({"max_bytes": 1.5}, "an int of 0 or more"), ({"workers": True}, "an int of 0 or more"),
        ({"metadata": 5}, "a mapping"), ({"metadata": {"x": {1, 2}}}, "JSON value"),
        ({"metadata": {1: 2}}, "names that are strings"),
    ],
)  # fmt: skip
def test_read_options(option: dict[str, Any], rule: str) -> None:
    """Each invalid option is named with its rule, before files are read."""
    with pytest.raises(ArgumentError, match=rf"{next(iter(option))}(\[.x.\])? must \w+ (a )?{rule}"):
        ReadOptions(**option)


def test_ids(engine: Engine) -> None:
    """Invalid ids are named as the caller wrote them."""
    bad: Any
    for bad in (7, None, b"a"):
        with pytest.raises(ArgumentError, match=f"^id must be a string, got {bad!r}"):
            engine.get(bad)
        with pytest.raises(ArgumentError, match=f"^each of ids must be a string, got {bad!r}"):
            engine.delete(["a", bad])
    for bad in (b"ab", "ab"):
        with pytest.raises(ArgumentError, match=f"^ids must be a list of document ids, got {bad!r}"):
            engine.delete(bad)


def test_snippets_of_no_query(engine: Engine) -> None:
    """The query of a snippet must be a string."""
    engine.add([Document("some words", id="a")])
    with pytest.raises(ArgumentError, match="query must be a string, got None"):
        engine.snippet(None, engine.get("a")[0])  # type: ignore[arg-type]


def test_a_document_of_anything_prints() -> None:
    """Errors show any object in place of a document."""
    assert repr(Document(None)) == "Document(page_content='None...', metadata={})"  # type: ignore[arg-type]
