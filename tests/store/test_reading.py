"""Rows are read in one statement, and a reader keeps its version without a transaction."""

from __future__ import annotations

import copy
import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.errors import IndexDamagedError
from sleuth.store import text_hash
from sleuth.store.record import scan
from sleuth.store.store import Store
from sleuth.types import Chunk, RetrievedItem
from tests.examples import examples
from tests.store.words import put

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
METADATA = st.dictionaries(TEXTS.map("m".__add__), VALUES, max_size=3)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        TEXTS, st.tuples(TEXTS, TEXTS, METADATA, st.lists(st.tuples(TEXTS, METADATA), min_size=1, max_size=3))
    )
)
def test_whatever_rows_hold(
    store: Store, documents: dict[str, tuple[str, str, dict[str, Any], list[tuple[str, dict[str, Any]]]]]
) -> None:
    """Ids, titles, texts and metadata of any characters are returned unchanged."""
    with store.writer() as writer:
        writer.delete(list(documents))
        for name, (source, title, metadata, chunks) in documents.items():
            parts = [Chunk(text, 0, len(text), 1, 1, metadata=own) for text, own in chunks]
            writer.put(name, text_hash(name), parts, metadata=metadata, source=source or "s", title=title)
    with store.reader() as snapshot:
        for name, (source, title, metadata, chunks) in documents.items():
            rows = snapshot.chunks_of(name)
            assert [row.text for row in rows] == [text for text, _ in chunks]
            for row, item, (_, own) in zip(
                rows, snapshot.items([row.key for row in rows], [1.0] * len(rows)), chunks, strict=True
            ):
                place = {"source": source or "s", "start_line": 1, "end_line": 1}
                expected = {**place, **({"title": title} if title else {}), **metadata, **own}
                assert row.metadata == item.metadata == expected
                checked = RetrievedItem(id=row.id, text=row.text, metadata=expected, score=1.0)
                assert item == checked
                assert item.model_dump(exclude_unset=True) == checked.model_dump(exclude_unset=True)
                assert (row.id, item.id, item.text) == (f"{name}#{row.n}", row.id, row.text)
            assert snapshot.order([row.key for row in rows]) == [(name, row.n) for row in rows]


def test_more_than_one_value_can_hold(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that together exceed SQLite's maximum value size are read in parts."""
    texts = [f"{i} " * 400 for i in range(40)]
    with store.writer() as writer:
        for i, text in enumerate(texts):
            put(writer, f"d{i}", text)
    with store.reader() as snapshot:
        keys = [snapshot.chunks_of(f"d{i}")[0].key for i in range(40)]
        snapshot._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
        assert [row.text for row in snapshot.rows(keys)] == texts


def test_a_reader_keeps_its_version(store: Store) -> None:
    """A commit during a read is visible only to the next reader."""
    with store.writer() as writer:
        put(writer, "a", "one")
    with store.reader() as snapshot:
        with store.writer() as writer:
            put(writer, "a", "two")
            put(writer, "b", "three")
        assert [row.text for row in snapshot.chunks_of("a")] == ["one"]
        assert snapshot.chunks_of("b") == []
        assert snapshot.counts().documents == 1
        with store.reader() as newer:
            assert newer.version == snapshot.version + 1
            assert [row.text for row in newer.chunks_of("a")] == ["two"]
        assert [row.text for row in snapshot.chunks_of("a")] == ["one"]
    with store.reader() as snapshot:
        assert [row.text for row in snapshot.chunks_of("a")] == ["two"]


def test_rows_that_are_lost_or_damaged(store: Store) -> None:
    """A missing key and metadata that is not JSON are damage."""
    with store.writer() as writer:
        put(writer, "a", "one", metadata={"x": 1})
    with store.reader() as snapshot:
        key = snapshot.chunks_of("a")[0].key
        with pytest.raises(IndexDamagedError, match="has lost the row 77"):
            snapshot.rows([key, 77])
        with pytest.raises(IndexDamagedError, match="has lost the row 77"):
            snapshot.order([77])
        assert snapshot.rows([]) == []
    with store._connection(write=True) as connection:
        connection.execute("UPDATE documents SET metadata = '{x'")
    with store.reader() as snapshot, pytest.raises(IndexDamagedError, match="not as it was written"):
        snapshot.rows([key])


CHANGES = {
    "chunks": [
        "page = 7", "start = start + 1", "line = 2", "lines = 1", "checksum = checksum + 1", "text = 'two'", "text = 7",
        "fields = '{}'", "metadata = '{\"x\": 1}'", "metadata = 'null, null, null, null'", "line = 'a'", "start = 0.5",
    ],
    "documents": [
        "size = 3", "modified_ns = 1", "checksum = 0", "content_hash = x'01'", "id = 'b'", "source = 'b'",
        "title = 'b'",
        "metadata = '{\"x\": 2}'", "metadata = '{\"x\": 1}' || char(10)", "modified_ns = 'x'",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("table", "change"), [(table, each) for table in CHANGES for each in CHANGES[table]])
def test_a_changed_row_is_not_shown(store: Store, table: str, change: str) -> None:
    """A hit whose chunk or document has other values than were written is an error, wherever rows are read."""
    with store.writer() as writer:
        for name in ("a", "c"):
            writer.put(
                name, text_hash(name), [Chunk("one", 0, 3, 1, 1)], metadata={"x": 1}, source="s", title="t"
            )
    with store.reader() as snapshot:
        keys = [snapshot.chunks_of(name)[0].key for name in ("a", "c")]
    with store._connection(write=True) as connection:
        assert connection.execute(f"UPDATE {table} SET {change} WHERE key = ?", (keys[0],)).rowcount == 1
    with store.reader() as snapshot:
        assert snapshot.items(keys[1:], [1.0])[0].text == "one"
        for call in (snapshot.rows, lambda keys: snapshot.items(keys, [1.0] * len(keys))):
            with pytest.raises(IndexDamagedError):
                call(keys)
        with pytest.raises(IndexDamagedError):
            list(snapshot.stream())
        if table == "documents":
            with pytest.raises(IndexDamagedError):
                snapshot.documents_at(keys)


def test_items_equal_validated_ones(store: Store) -> None:
    """A hit is the item that its values make when they are validated, with more in `extra` as without."""
    with store.writer() as writer:
        writer.put("a", text_hash("a"), [Chunk("one", 0, 3, 1, 1)], metadata={"x": 1}, source="s", title="t")
    with store.reader() as snapshot:
        [hit] = snapshot.items([snapshot.chunks_of("a")[0].key], [1.5])
    metadata = {"source": "s", "start_line": 1, "end_line": 1, "title": "t", "x": 1}
    validated = RetrievedItem(id="a#0", text="one", metadata=metadata, score=1.5)
    copies = {"copies": ["b#0"]}
    pairs = [
        (hit, validated),
        (hit.with_extra(**copies), validated.model_copy(update={"extra": copies})),
        (copy.deepcopy(hit), validated),
    ]
    for item, other in pairs:
        assert item == other and item.model_dump_json() == other.model_dump_json()
        assert item.model_dump() == other.model_dump() and item.model_fields_set == other.model_fields_set
    assert hit.extra == {}


@pytest.mark.parametrize("page", [1, 2, 7, 100])
def test_documents_by_id_are_read_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    """Keys of a range are in order of id for any page size."""
    monkeypatch.setattr(scan, "_PAGE", page)
    names = ["b", "", "a\0", "a", "ä", "Z", "a\0b", "\U0001f600", "10", "9"]
    with store.writer() as writer:
        for name in names:
            put(writer, name, f"text of {name!r}")
    with store.reader() as snapshot:
        keys = {name: snapshot.chunks_of(name)[0].key for name in names}
        for first, last in ((1, 10), (3, 8), (4, 4), (11, 20)):
            expected = [keys[name] for name in sorted(names) if first <= keys[name] <= last]
            pages = list(scan._documents_by_id(snapshot._connection, first, last))
            assert [key for some in pages for key in some.tolist()] == expected
            assert all(0 < len(some) <= page for some in pages)


@pytest.mark.parametrize("change", ["vector = x'00'", "vector = 7", "checksum = checksum + 1"])
def test_a_damaged_vector_is_absent(store: Store, change: str) -> None:
    """A cached vector that was changed counts as never put, so it is made again."""
    with store.writer() as writer:
        writer.put_embeddings("model", {"00": bytes(8), "01": bytes(8)})
    with sqlite3.connect(store.path / "record.sqlite") as connection:
        assert connection.execute(f"UPDATE embeddings SET {change} WHERE hash = x'01'").rowcount == 1
    connection.close()
    with store.reader() as snapshot:
        assert snapshot.embeddings("model", ["00", "01"]) == {"00": bytes(8)}


def test_an_id_that_leads_to_another_document(store: Store) -> None:
    """A damaged index of ids gives no document the text of another one."""
    with store.writer() as writer:
        for name in ("one", "two", "six"):
            put(writer, name, f"text of {name}")
    store.close()
    file, entry = (
        store.path / "record.sqlite",
        b"\x13\x01six",
    )  # types of an id and its key, the id; then the key
    content = file.read_bytes()
    assert content.count(entry + b"\3") == 1
    file.write_bytes(content.replace(entry + b"\3", entry + b"\2"))
    with Store.open(store.path) as damaged, damaged.reader() as snapshot:
        assert [row.text for row in snapshot.chunks_of("one")] == ["text of one"]
        for call in (snapshot.chunks_of, snapshot.chunk_values, snapshot.document):
            with pytest.raises(IndexDamagedError, match="six is not as it was written"):
                call("six")
    with (
        Store.open(store.path) as damaged,
        damaged.writer() as writer,
        pytest.raises(IndexDamagedError, match="six is not as it was written"),
    ):
        writer.touch("six", 5, 5)
