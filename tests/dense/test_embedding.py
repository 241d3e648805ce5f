from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.dense import DenseLeg, codes
from sleuth.dense.embedding import embed_texts
from sleuth.errors import EmbeddingError
from sleuth.store import Rows, text_hash
from sleuth.vectors import unit
from tests.dense.strategies import HashEmbedder
from tests.segments import rows_of


class DictCache:
    """A cache in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}

    def get(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        return {name: self.kept[fingerprint, name] for name in hashes if (fingerprint, name) in self.kept}

    def put(self, fingerprint: str, encodings: Mapping[str, bytes]) -> None:
        self.kept.update({(fingerprint, name): raw for name, raw in encodings.items()})

    def forget(self, fingerprint: str, texts: object) -> None:
        raise NotImplementedError


class Broken(HashEmbedder):
    """An embedder that fails after some calls, or returns invalid vectors."""

    def __init__(self, after: int = 0, gives: object = None) -> None:
        super().__init__()
        self.after = after
        self.gives = gives

    def embed_documents(self, texts: Sequence[str]) -> list[np.ndarray]:
        if len(self.calls) >= self.after:
            if self.gives is not None:
                return self.gives  # type: ignore[return-value]
            raise EmbeddingError("no answer", service="broken")
        return super().embed_documents(texts)


@given(st.lists(st.text(max_size=5), max_size=60), st.integers(1, 20), st.integers(1, 4), st.booleans())
def test_one_vector_per_text(texts: list[str], batch: int, threads: int, with_cache: bool) -> None:
    """With batches, threads and a cache, text n has the vector that the embedder returns for it."""
    embedder = HashEmbedder()
    cache = DictCache() if with_cache else None
    vectors = embed_texts(embedder, texts, cache=cache, batch_size=batch, threads=threads)
    again = embed_texts(embedder, texts, cache=cache, batch_size=batch, threads=threads)
    expected = [embedder.embed_query(text).tolist() for text in texts]
    assert vectors.tolist() == again.tolist() == expected


def test_equal_texts_are_embedded_once() -> None:
    """A repeated text is embedded once, in batches of the requested size."""
    embedder = HashEmbedder()
    embed_texts(embedder, ["a", "b", "a", "c", "b"], batch_size=2, threads=1)
    assert embedder.calls == [2, 1]


def test_cache_is_per_embedder() -> None:
    """A vector of one embedder is not returned for another."""
    cache = DictCache()
    embed_texts(HashEmbedder(seed="x"), ["a"], cache=cache)
    other = HashEmbedder(seed="y")
    vectors = embed_texts(other, ["a"], cache=cache)
    assert vectors[0].tolist() == other.embed_query("a").tolist()
    assert {name for _, name in cache.kept} == {text_hash("a")}


@pytest.mark.parametrize("threads", [1, 4])
def test_resumes(threads: int) -> None:
    """Batches that succeeded before a failure are not embedded again."""
    cache = DictCache()
    texts = [str(n) for n in range(10)]
    with pytest.raises(EmbeddingError, match="no answer"):
        embed_texts(Broken(after=3), texts, cache=cache, batch_size=2, threads=threads)
    vectors = len(cache.kept)
    embedder = HashEmbedder()
    embed_texts(embedder, texts, cache=cache, batch_size=2)
    assert sum(embedder.calls) == 10 - vectors
    assert threads > 1 or vectors == 6


def test_the_embedders_own_batch_size_is_the_unit() -> None:
    """Vectors are stored in units of the embedder's batch size."""
    embedder = HashEmbedder()
    embedder.batch_size = 3  # type: ignore[attr-defined]
    DenseLeg(embedder).build(rows_of([str(n) for n in range(7)]))
    assert sorted(embedder.calls) == [1, 3, 3]


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        ([[1.0, 2.0]], r"shape \(1, 2\) for 2 texts"), ([1.0, 2.0], r"shape \(2,\) for 2 texts"),
        ([[1.0], [float("nan")]], "not finite"), (np.array([[1.0], [1e300]]), "not finite"),
        ([[], []], r"shape \(2, 0\) for 2 texts"), ([[1.0], [1.0, 2.0]], "vectors of numbers"),
        (["a", "b"], "vectors of numbers"),
    ],
)  # fmt: skip
def test_invalid_vectors_are_refused(gives: object, message: str) -> None:
    """An embedder that does not return one finite vector per text raises an error that names it."""
    with pytest.raises(EmbeddingError, match=message) as caught:
        embed_texts(Broken(gives=gives), ["a", "b"])
    assert "hash/16/" in str(caught.value)


def test_lengths_differ() -> None:
    """Vectors of two lengths raise an error, for example from a cache that another model filled."""
    cache = DictCache()
    cache.put("hash/16/", {text_hash("a"): np.zeros(8, np.float32).tobytes()})
    with pytest.raises(
        EmbeddingError, match=r"8 dimensions.*got 16 from 'hash/16/'.*sleuth index --re-embed"
    ):
        embed_texts(HashEmbedder(), ["a", "b"], cache=cache)
    assert len(cache.kept) == 1
    assert embed_texts(HashEmbedder(), ["a", "b"], cache=cache, dimension=16).shape == (2, 16)


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-20, 1.0, 1e19, 1e30, 1e37])
def test_unit(scale: float) -> None:
    """Rows of any length are scaled to length 1; zero rows stay zero."""
    rows = np.array([[3 * scale, 4 * scale], [3, 4], [0, 0]], np.float32)
    assert unit(rows) == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8], [0, 0]]), rel=1e-6)


def test_texts_of_rows() -> None:
    """The texts of a row are joined in the order of the leg's fields; absent and empty ones are skipped."""
    rows = Rows(np.arange(2), None, {"text": ["body", "rest"], "title": ["head", ""], "path": ["p", "p"]}, ())
    assert DenseLeg(HashEmbedder()).texts(rows) == ["head body", "rest"]


def test_fingerprint_of_the_leg() -> None:
    """Another embedder changes the fingerprint."""
    assert DenseLeg(HashEmbedder()).fingerprint != DenseLeg(HashEmbedder(seed="2")).fingerprint


def test_build_keeps_unit_vectors() -> None:
    """The vectors of a segment have length 1."""
    segment = DenseLeg(HashEmbedder(100)).build(rows_of(["a", "b", ""]))
    lengths = np.linalg.norm(codes.unpack(segment.arrays["vectors"], 100), axis=1)
    assert np.allclose(lengths, [1, 1, 0])
    assert segment.meta["embedder"] == "hash/100/"
    assert segment.meta["dimension"] == 100
