"""A codebook returns texts unchanged, and reports damage as an error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import IndexDamagedError
from sleuth.store import Store, text_hash
from sleuth.store.record import LONGEST_SYMBOL, MOST_SYMBOLS, Codebook, codebook, decode_all
from tests.store.words import SumsLeg, faults, read

RNG = random.Random(3)
WORDS = ["".join(RNG.choices("etaoinshrdlu", k=RNG.randint(2, 9))) for _ in range(3000)]


def prose(n: int, seed: int = 1, words: list[str] = WORDS) -> list[str]:
    """Return texts of 60 words each."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(words, k=60)) for _ in range(n)]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebook, "LEARNING_BYTES", 50_000)


BOOK = Codebook(codebook.train("\n".join(prose(300)).encode()))


@given(st.lists(st.text(st.characters(codec="utf-8"))), st.integers(0, 255))
def test_any_text_comes_back(texts: list[str], mark: int) -> None:
    """Encoding and decoding returns any text; a text that would not become shorter stays a string."""
    for text, coded in zip(texts, BOOK.encode(texts, mark), strict=True):
        if isinstance(coded, bytes):
            assert coded[0] == mark
            assert len(coded) < len(text.encode())
            assert BOOK.decode(coded) == text
        else:
            assert coded is text


def test_prose_shrinks() -> None:
    """Texts like the learned ones take less than half of their bytes, long ones too."""
    for texts in (prose(100, seed=2), [" ".join(prose(500, seed=2))]):
        coded = BOOK.encode(texts, 1)
        assert sum(map(len, coded)) < 0.5 * sum(map(len, texts))
        assert [BOOK.decode(item) if isinstance(item, bytes) else item for item in coded] == texts


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(coded: bytes) -> None:
    """Bytes that encode no text raise a ValueError."""
    try:
        text = BOOK.decode(coded)
    except ValueError:
        return
    assert isinstance(text, str)


def test_a_symbol_ends_within_its_text() -> None:
    """A symbol that ends with a zero byte is not found where the text ends before it."""
    book = Codebook([*(bytes([value]) for value in range(256)), b"abcd", b"abc\0"])
    (coded,) = book.encode(["abcd" * 20 + "abc"], 7)
    assert isinstance(coded, bytes)
    assert book.decode(coded) == "abcd" * 20 + "abc"


def test_symbols_are_checked() -> None:
    """A codebook needs every single byte, and refuses symbols that are too long, too many or repeated."""
    single = [bytes([value]) for value in range(256)]
    longest = b"x" * LONGEST_SYMBOL
    assert Codebook([*single, longest]).encode(["x" * 30], 7) == [b"\x07" + b"\xf0\x10" * 2]
    for symbols in (
        single[:-1],
        [*single, longest + b"x"],
        [*single, b""],
        [*single, b"ab", b"ab"],
        [*single[1:], b"ab"],
    ):
        with pytest.raises(ValueError, match="symbols must be"):
            Codebook(symbols)
    with pytest.raises(ValueError, match="symbols must be"):
        Codebook([i.to_bytes(3, "big") for i in range(MOST_SYMBOLS + 1)])


def test_large_batches_are_coded_and_each_kind_gets_its_book(store: Store) -> None:
    """The record is smaller than the texts; another kind of text gets its own codebook, the same kind does not."""
    other = ["".join(RNG.choices("αβγδεζηθικ", k=6)) for _ in range(500)]
    batches = {"a": prose(400, 5), "b": prose(400, 6), "c": prose(400, 7, other), "d": prose(3, 8)}
    for name, texts in batches.items():
        with store.writer() as writer:
            ids = [f"{name}{i:05}" for i in range(len(texts))]
            assert writer.put_passages(ids, texts, [text_hash(text) for text in texts]) == len(texts)
    with store._connection() as connection:
        kinds = connection.execute(
            "SELECT substr(d.id, 1, 1), typeof(text), hex(substr(text, 1, 1)), count(*) FROM chunks c "
            "JOIN documents d ON d.key = c.key GROUP BY 1, 2, 3"
        ).fetchall()
    assert {(name, kind, book): n for name, kind, book, n in kinds if n > 10} == {
        ("a", "blob", "01"): 400, ("b", "blob", "01"): 400, ("c", "blob", "02"): 400,
    }  # fmt: skip
    with store._connection() as connection:
        stored_bytes = connection.execute("SELECT sum(length(CAST(text AS BLOB))) FROM chunks").fetchone()[0]
    assert stored_bytes < 0.6 * sum(len(text.encode()) for texts in batches.values() for text in texts)
    assert sorted(read(store).values()) == sorted(text for texts in batches.values() for text in texts)
    assert faults(store) == []


def test_a_book_of_an_abandoned_transaction_is_forgotten(store: Store) -> None:
    """A codebook that was not committed does not decode texts of the next one with its number."""
    for texts, commit in ((prose(400, 1, WORDS[:100]), False), (prose(400, 2, WORDS[100:]), True)):
        ids = [f"d{i}" for i in range(len(texts))]
        try:
            with store.writer() as writer:
                writer.put_passages(ids, texts, [text_hash(text) for text in texts])
                writer._pending.flush()
                if not commit:
                    raise InterruptedError  # noqa: TRY301
        except InterruptedError:
            pass
    assert sorted(read(store).values()) == sorted(texts)
    assert faults(store) == []


def filled(store: Store) -> list[str]:
    """Return a closed store with texts that are encoded with a codebook."""
    texts = prose(400)
    with store.writer() as writer:
        writer.put_passages([f"d{i}" for i in range(len(texts))], texts, [text_hash(text) for text in texts])
    return texts


OWN = "UPDATE codebooks SET symbols = substr(symbols, 1, 4000)"
COPY = "UPDATE meta SET value = substr(value, 1, 4000) WHERE name = 'codebook 1'"


@pytest.mark.parametrize("damage", [OWN, COPY])
def test_a_book_is_kept_twice(store: Store, damage: str) -> None:
    """A damaged copy of a codebook loses no text; it is found, and `repair` writes it again."""
    texts = filled(store)
    with store._connection(write=True) as connection:
        assert connection.execute(damage).rowcount == 1
    store.close()
    with Store.open(store.path) as again:
        again.attach([SumsLeg()])
        assert sorted(read(again).values()) == sorted(texts)
        assert any("a copy of codebook 1" in fault for fault in faults(again))
        assert "codebooks [1]" in " ".join(repair.why for repair in again.repair())
        assert faults(again) == []
        assert sorted(read(again).values()) == sorted(texts)


def test_a_zeroed_page_of_a_book_costs_no_text(store: Store) -> None:
    """Texts are read even if SQLite cannot read the first copy of the codebook."""
    texts = filled(store)
    with store._connection(write=True) as connection:
        (content,) = connection.execute("SELECT symbols FROM codebooks").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    store.compact()
    store.close()
    file = store.path / "record.sqlite"
    data = bytearray(file.read_bytes())
    page = data.index(content[5000:5050]) // size * size
    data[page : page + size] = bytes(size)
    file.write_bytes(data)
    with Store.open(store.path) as again:
        again.attach([SumsLeg()])
        assert sorted(read(again).values()) == sorted(texts)


def test_a_lost_book_is_found(store: Store) -> None:
    """Without a valid copy of its codebook, reading a text raises an error."""
    filled(store)
    with store._connection(write=True) as connection:
        connection.execute(OWN)
        connection.execute(COPY)
    store.close()
    with Store.open(store.path) as again:
        again.attach([SumsLeg()])
        assert any("texts that it wrote cannot be read" in fault for fault in faults(again))
        with pytest.raises(IndexDamagedError, match="a text that cannot be read"):
            read(again)


def test_decode_all_stays_within_its_bytes() -> None:
    """Sizes beyond the bytes, and numbers of unknown codebooks, are refused."""
    texts = [prose(1)[0], "é"]
    coded = BOOK.encode(texts, 1)
    written = [item if isinstance(item, bytes) else item.encode() for item in coded]
    stored, sizes = b"".join(written), list(map(len, written))
    kinds = [int(isinstance(item, bytes)) for item in coded]
    assert kinds == [1, 0]
    assert decode_all(stored, sizes, kinds, {1: BOOK}) == texts
    for wrong in ([len(stored), 1], [-1, 1], [0, 1]):
        with pytest.raises(ValueError, match="within"):
            decode_all(stored, wrong, kinds, {1: BOOK})
    with pytest.raises(KeyError, match="1"):
        decode_all(stored, sizes, kinds, {})
