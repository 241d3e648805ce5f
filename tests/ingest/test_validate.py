"""The content hash of a document, and which documents are refused."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.ingest.validate import content_hash, prepare
from sleuth.types import Document

values = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.lists(st.text()))
metadata = st.dictionaries(st.text(), values)


@given(st.text(), metadata)
def test_order_and_volatile_keys_do_not_count(text: str, fields: dict[str, object]) -> None:
    """Key order, modification time, size and id do not change the hash."""
    backwards = dict(reversed(fields.items()))
    volatile = {"modified": "2020-01-01T00:00:00Z", "size": 7, "content_hash": "x"}
    stable = {key: value for key, value in fields.items() if key not in volatile}
    assert content_hash(Document(text, fields)) == content_hash(Document(text, backwards))
    assert content_hash(Document(text, stable)) == content_hash(Document(text, stable | volatile, id="a"))


@given(st.text(), metadata, st.text(), metadata)
def test_text_and_metadata_count(
    text: str, fields: dict[str, object], text2: str, fields2: dict[str, object]
) -> None:
    """Another text, value or key changes the hash."""
    one, two = Document(text, fields), Document(text2, fields2)
    unchanged = [
        {k: repr(v) for k, v in f.items() if k not in ("modified", "size", "content_hash")}
        for f in (fields, fields2)
    ]
    assert (content_hash(one) == content_hash(two)) == (text == text2 and unchanged[0] == unchanged[1])


def test_known_value() -> None:
    """The hash is stable across versions, since an index stores it."""
    assert content_hash(Document("text", {"b": 1, "a": ["ü"]})) == "f4e3e1ad948561c020fbbe89ec1ee2a8"


def test_what_json_cannot_hold() -> None:
    """Values of other types and lone surrogates are hashed too."""
    one, two = (Document("\ud800", {"a": {1}, "b": b"x"}) for _ in range(2))
    assert content_hash(one) == content_hash(two)


texts = st.text(st.characters(exclude_categories=()), max_size=3)
any_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.integers(0, 3), inner, max_size=3),
)


@given(texts, st.dictionaries(texts | st.just("source"), any_values, max_size=3))
def test_a_document_is_prepared_or_refused(text: str, fields: dict[str, object]) -> None:
    """Whatever a document holds, it is kept under its id or refused with one kind of error."""
    with suppress(ArgumentError):
        assert prepare(Document(text, fields, id="a")).id == "a"
