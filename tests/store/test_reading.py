"""Rows are read as they were written or not at all, and a reader keeps its version without a transaction."""

import copy
import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.errors import IndexDamagedError
from sleuth.store import DocumentBatch, Json, text_hash
from sleuth.store.passages.blocks import Passages
from sleuth.store.passages.records import coded, encode, use_tables
from sleuth.store.store import Store
from sleuth.types import Chunk, RetrievedItem
from tests.examples import examples
from tests.store.words import add, put, put_one

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
FACTS: dict[str, Any] = {"metadata": {"x": 1}, "source": "s", "title": "t"}
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
            facts: dict[str, Any] = {"metadata": metadata, "source": source or "s", "title": title}
            put_one(writer, name, text_hash(name), parts, **facts)
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


def test_rows_that_are_lost_or_damaged(store: Store) -> None:
    """A missing key and metadata that is not JSON are damage."""
    add(store, "a", "one", metadata={"x": 1})
    with store.reader() as snapshot:
        key = snapshot.chunks_of("a")[0].key
        for call in (snapshot.rows, snapshot.passages, snapshot.order):
            with pytest.raises(IndexDamagedError, match="a passage of 'a' is not as it was written"):
                call([key, 77])
        assert snapshot.rows([]) == []
    batch = DocumentBatch()
    batch.add_passages(["b"], ["00"], ["two"], metadata=[Json({}, "{x")], sources=[None], titles=[""])
    records = encode(batch, np.array([5]), 7)
    with pytest.raises(LookupError, match="5"):
        Passages([(range(5, 6), *records, -1, 0)], 7).rows([5])


def test_a_changed_byte_is_never_shown(store: Store, tmp_path: Path) -> None:
    """Whichever bit of the passages is changed: what is read is as it was written, or an error; from a file too."""
    more = Chunk("two", 3, 6, 2, 2, page=4, fields={"heading": "h"}, metadata={"y": 2})
    with store.writer() as writer:
        put_one(writer, "a", text_hash("a"), [Chunk("one", 0, 3, 1, 1), more], **FACTS)
    with store.reader() as snapshot:
        keys = [row.key for row in snapshot.chunks_of("a")]
        rows = snapshot.rows(keys)
        (view,) = snapshot.segments("passages")
        salt = snapshot._connection.salt
    offsets, records = view.arrays["offsets"], view.arrays["records"]
    assert Passages([(view.key_list, offsets, records, -1, 0)], salt).rows(keys) == rows
    (tmp_path / "file").write_bytes(b"head" + bytes(records))
    with (tmp_path / "file").open("r+b") as file:
        passages = Passages([(view.key_list, offsets, np.zeros_like(records), file.fileno(), 4)], salt, 0)
        assert passages.rows(keys) == passages.rows(keys[1:] + keys)[1:] == rows  # read from the file
        file.truncate(4 + int(offsets[1]))
        assert passages.rows(keys[:1]) == rows[:1] and passages.damaged(np.array(keys)) == [1]
    shown = 0
    for place, bit in product(range(len(records)), range(8)):
        changed = records.copy()
        changed[place] ^= 1 << bit
        passages = Passages([(view.key_list, offsets, changed, -1, 0)], salt)
        for key, row in zip(keys, rows, strict=True):
            for read, expected in ((passages.rows, row), (passages.order, ("a", row.n))):
                try:
                    assert read([key]) == [expected]
                    shown += 1
                except LookupError:
                    continue
        assert passages.damaged(np.array(keys))
    assert 0 < shown < 16 * len(records)


@given(st.lists(TEXTS | st.sampled_from(["The text of ", "a passage\n", "漢字", "x" * 9000])).map("".join))
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    """A text is kept as symbols where these are shorter, and as it is elsewhere."""
    batch = DocumentBatch()
    batch.add_passages(["a"], ["00"], [text], metadata=[None], sources=[None], titles=[""])
    offsets, records = encode(batch, np.array([1]), 3)
    raw = text.encode()
    assert records.tobytes().endswith(min(raw, coded(raw), key=len))
    (row,) = Passages([(range(1, 2), offsets, records, -1, 0)], 3).rows([1])
    assert row.text == text


def test_the_table_of_symbols_is_that_of_every_index() -> None:
    """What texts are written with never changes."""
    assert coded(b"The text of a passage is read by itself.").hex() == "a5e9b98337eeeeb627086a7b311c77"


@pytest.mark.parametrize("offsets", [[0, 0, 9], [0, 1 << 63, 9], [9, 0, 9], [1, 5, 1 << 40], [0, 3, 2]])
def test_offsets_out_of_bounds_are_damage(offsets: list[int]) -> None:
    """A record is looked for within the records alone."""
    passages = Passages([(range(1, 3), np.array(offsets, np.uint64), np.zeros(9, np.uint8), -1, 0)], 0)
    assert passages.damaged(np.array([1, 2, 3])) == [0, 1, 2]


@given(st.binary(max_size=200), st.data())
def test_any_bytes_are_read_or_refused(content: bytes, data: st.DataObject) -> None:
    """Records that nobody wrote end in no crash."""
    rows = data.draw(st.integers(1, 4))
    ends = sorted(data.draw(st.lists(st.integers(0, len(content)), min_size=rows, max_size=rows)))
    segment = (range(1, rows + 1), np.array([0, *ends], np.uint64), np.frombuffer(content, np.uint8), -1, 0)
    assert Passages([segment], 0).damaged(np.arange(1, rows + 1)) == list(range(rows))


def test_checksums_are_the_same_on_every_machine() -> None:
    """Records are equal with and without the processor's instruction, and their checksums are those of CRC-32C."""
    batch = DocumentBatch()
    ids, texts = [f"é{n}" for n in range(20)], ["x" * n for n in range(20)]
    batch.add_passages(ids, ["00"] * 20, texts, metadata=[None] * 20, sources=[None] * 20, titles=[""] * 20)
    by_instruction = encode(batch, np.arange(1, 21), 9)[1].tobytes()
    try:
        use_tables(portable=True)
        assert encode(batch, np.arange(1, 21), 9)[1].tobytes() == by_instruction
    finally:
        use_tables(portable=False)
    start = crc_of((1).to_bytes(8, "little"), 9)
    head = bytes(
        [0, *crc_of(b"\4\0\0\0\xc3\xa90", start).to_bytes(4, "little"), 4, 0, 0, 0, 0xC3, 0xA9, 0x30]
    )
    assert by_instruction.startswith(head)


def crc_of(content: bytes, start: int = 0) -> int:
    """Return the CRC-32C of bytes, bit by bit."""
    checksum = ~start & 0xFFFFFFFF
    for byte in content:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
    return ~checksum & 0xFFFFFFFF


@pytest.mark.parametrize(
    "change",
    ["chunks = 2", "checksum = 0", "content_hash = x'01'", "id = 'b'", "source = 'b'", "title = 'b'",
     "metadata = '{\"x\": 2}'", "metadata = '{\"x\": 1}' || char(10)", "chunks = 'x'"],
)  # fmt: skip
def test_a_changed_document_is_not_shown(store: Store, change: str) -> None:
    """A document with other values than were written is an error; its passages are read as they were written."""
    with store.writer() as writer:
        put_one(writer, "a", text_hash("a"), [Chunk("one", 0, 3, 1, 1)], **FACTS)
    with store.reader() as snapshot:
        rows = snapshot.chunks_of("a")
    with store._connection(write=True) as connection:
        assert connection.execute(f"UPDATE documents SET {change} WHERE id = 'a'").rowcount == 1
    with store.reader() as snapshot:
        assert snapshot.rows([rows[0].key]) == rows
        for call in (snapshot.stream, snapshot.documents, lambda: snapshot.documents_at([rows[0].key])):
            with pytest.raises(IndexDamagedError):
                list(call())


def test_items_equal_validated_ones(store: Store) -> None:
    """A hit is the item that its values make when they are validated, with more in `extra` as without."""
    with store.writer() as writer:
        put_one(writer, "a", text_hash("a"), [Chunk("one", 0, 3, 1, 1)], **FACTS)
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
    # Types of an id and its key, the id; then the key.
    file, entry = store.path / "record.sqlite", b"\x13\x01six"
    content = file.read_bytes()
    assert content.count(entry + b"\3") == 1
    file.write_bytes(content.replace(entry + b"\3", entry + b"\2"))
    with Store.open(store.path) as damaged, damaged.reader() as snapshot:
        assert [row.text for row in snapshot.chunks_of("one")] == ["text of one"]
        for call in (snapshot.chunks_of, snapshot.chunk_values, snapshot.document):
            with pytest.raises(IndexDamagedError, match="six is not as it was written"):
                call("six")
