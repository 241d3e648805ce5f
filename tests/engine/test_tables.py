"""`Engine.add` takes tables: rows become documents. Those of other packages are tested by `make conformance`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.errors import ArgumentError, MissingPackageError
from tests.documents import stored

ROWS: list[dict[str, Any]] = [
    {"name": 1, "body": "A bucket is refilled.", "year": 2021, "tenant": "acme", "x": None},
    {"name": 2, "body": "A link.", "tenant": "acme", "x": float("nan")},
]
EXPECTED = {
    "1": ("A bucket is refilled.", {"year": 2021, "tenant": "acme"}),
    "2": ("A link.", {"tenant": "acme"}),
}


def test_rows_become_documents(hybrid: Engine) -> None:
    """Text and id have columns, the others are metadata, None and NaN are no value, also as an id."""
    assert hybrid.add(ROWS, id_field="name").added == 2
    assert stored(hybrid) == EXPECTED
    assert hybrid.add(iter(ROWS), text_field="body", id_field="name").unchanged == 2
    assert hybrid.add([{"text": text, "id": float("nan")} for text in ("One.", "Two.")]).added == 2


def test_a_scoped_view_takes_rows(hybrid: Engine) -> None:
    """Rows out of the scope are refused, as documents are."""
    view = hybrid.scoped("tenant:acme")
    view.add(ROWS, id_field="name")
    assert set(stored(view)) == {"1", "2"}
    with pytest.raises(ArgumentError, match="scope"):
        view.add([{"text": "A cat.", "tenant": "zoo"}])


def test_a_path_of_rows_is_a_table(hybrid: Engine, tmp_path: Path) -> None:
    """JSON lines are read, by their path as a text or an object; other bytes and another kind of file are named."""
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8-sig")
    assert hybrid.add(path, id_field="name").added == 2
    assert hybrid.add(str(path), id_field="name").unchanged == 2
    with pytest.raises(ArgumentError, match=r"must be a file of \.parquet, .*got 'A text\.'"):
        hybrid.add("A text.")
    for content in (b'{"text": "caf\xe9"}', b'{"text": "a", "x": ' + b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ArgumentError, match=r"line 1 of .* must be JSON"):
            hybrid.add(path)


def test_the_column_of_texts_is_one_of_known_names_or_named(hybrid: Engine) -> None:
    """The first known name is taken; a table without one lists its columns; documents need none."""
    hybrid.add([{"content": "A cat.", "text": "A dog.", "id": "a"}])
    assert stored(hybrid)["a"] == ("A dog.", {"content": "A cat."})
    with pytest.raises(ArgumentError, match=r"text_field must name .* one of \['id', 'passage'\]"):
        hybrid.add([{"passage": "A cat.", "id": "b"}])
    assert hybrid.add([{"passage": "A cat.", "id": "b"}], text_field="passage").added == 1
    assert hybrid.add([Document("A cow.", id="c")], text_field="passage").added == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        *((table, "must") for table in (3, {"text": "x"}, ["text"], [{"text": None}], Document("x"))),
        ([{"text": "one"}, {"text": 7}], r"row 2 must have a 'text', got 7 and the fields \['text'\]"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, message: str, tmp_path: Path) -> None:
    """A number, a single row or document, and texts are named; of a row without a text also number and columns."""
    with Engine.open(tmp_path / "index", create=True) as engine, pytest.raises(ArgumentError, match=message):
        engine.add(table)


def test_a_frame_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What gives an Arrow stream is read by pyarrow; where it is missing, the error has the command."""

    class Frame:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise AssertionError

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refusal = pytest.raises(MissingPackageError, match=r"pip install 'sleuth\[tables\]'")
    with Engine.open(tmp_path / "index", create=True) as engine, refusal:
        engine.add(Frame())
