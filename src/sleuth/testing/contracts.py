"""Contract suites: test classes to inherit from, one per protocol.

class TestMyRetriever(RetrieverContract):
    query = "rate limits"

    def make(self) -> Retriever:
        return MyRetriever(...)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from sleuth.errors import ArgumentError
from sleuth.protocols import Embedder, Reranker, Retriever
from sleuth.types import Explanation, Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.ingest import IndexReport, Source


def raises(error: type[BaseException], call: Callable[[], Any]) -> bool:
    """Return whether the call raises this error; any other error is raised."""
    try:
        call()
    except error:
        return True
    return False


class RetrieverContract:
    """What every `Retriever` keeps.

    Attributes:
        query: finds at least two items.
        most: a k above the number of items.
    """

    query = "query"
    most = 10_000

    def make(self) -> Retriever:
        """Return a retriever to test."""
        raise NotImplementedError

    def test_protocol(self) -> None:
        """It is a Retriever, and gives a Ranking of items with distinct ids."""
        retriever = self.make()
        assert isinstance(retriever, Retriever)
        ranking = retriever.retrieve(self.query, self.most)
        assert isinstance(ranking, Ranking)
        assert len(ranking) >= 2
        assert all(isinstance(item, RetrievedItem) for item in ranking)
        assert len({item.id for item in ranking}) == len(ranking)

    def test_best_first_ties_by_id(self) -> None:
        """Scores never rise, and equal scores come by id; explanations, where given, have the score as their value."""
        ranking = self.make().retrieve(self.query, self.most)
        order = [(-item.score, item.id) for item in ranking if item.score is not None]
        assert order == sorted(order)
        for item in ranking:
            assert item.explanation is None or isinstance(item.explanation, Explanation)
            assert item.explanation is None or item.explanation.value == item.score

    def test_k(self) -> None:
        """At most k items, and those for k are the head of those for more."""
        retriever = self.make()
        ranking = retriever.retrieve(self.query, self.most)
        for k in (0, 1, 2, len(ranking) - 1, len(ranking), len(ranking) + 1):
            head = retriever.retrieve(self.query, k)
            assert [(item.id, item.score) for item in head] == [(item.id, item.score) for item in ranking[:k]]

    def test_numpy_k(self) -> None:
        """An integer of NumPy is a count like any other."""
        retriever = self.make()
        head = retriever.retrieve(self.query, np.int64(2))  # type: ignore[arg-type]
        assert [item.id for item in head] == [item.id for item in retriever.retrieve(self.query, 2)]

    def test_wrong_k(self) -> None:
        """A k that is no count is refused."""
        retriever = self.make()
        for bad in (-1, 1.5, "3", None, True, np.True_, np.int64(-1)):
            assert raises(ArgumentError, partial(retriever.retrieve, self.query, bad)), bad  # type: ignore[arg-type]

    def test_threads(self) -> None:
        """Many threads at once get what one gets."""
        retriever = self.make()
        expected = [(item.id, item.score) for item in retriever.retrieve(self.query, 5)]
        with ThreadPoolExecutor(8) as pool:
            rankings = list(pool.map(lambda _: retriever.retrieve(self.query, 5), range(32)))
        assert all([(item.id, item.score) for item in ranking] == expected for ranking in rankings)


class EmbedderContract:
    """What every `Embedder` keeps."""

    texts: Sequence[str] = ("one text", "another text", "one text", "ünïcödé 漢字", "a\nb")

    def make(self) -> Embedder:
        """Return an embedder to test."""
        raise NotImplementedError

    def test_protocol(self) -> None:
        """It is an Embedder with a fingerprint that does not change."""
        embedder = self.make()
        assert isinstance(embedder, Embedder)
        assert embedder.fingerprint == self.make().fingerprint != ""

    def test_one_finite_vector_per_text(self) -> None:
        """Texts get vectors of one length, all finite; no texts get none."""
        embedder = self.make()
        vectors = np.asarray(embedder.embed_documents(list(self.texts)), np.float32)
        assert vectors.ndim == 2
        assert len(vectors) == len(self.texts)
        assert np.isfinite(vectors).all()
        assert len(embedder.embed_documents([])) == 0
        assert np.asarray(embedder.embed_query("one text"), np.float32).shape == vectors.shape[1:]

    def test_equal_texts_get_equal_vectors(self) -> None:
        """The same text has the same vector, beside others or alone; other texts have others."""
        embedder = self.make()
        vectors = np.asarray(embedder.embed_documents(list(self.texts)), np.float32)
        assert np.allclose(vectors[0], vectors[2], atol=1e-5)  # in another batch, sums round otherwise
        assert np.allclose(embedder.embed_documents([self.texts[0]])[0], vectors[0], atol=1e-5)
        assert not np.allclose(vectors[0], vectors[3], atol=1e-3)  # other texts differ by more than rounding


class RerankerContract:
    """What every `Reranker` keeps."""

    def make(self) -> Reranker:
        """Return a reranker to test."""
        raise NotImplementedError

    def test_subset_best_first(self) -> None:
        """It returns items that it was given, each once, best first, ties by id."""
        reranker = self.make()
        items = [RetrievedItem(id=name, text=f"text {name}", score=1.0) for name in "dbca"]
        ranking = reranker.rerank("text a", items)
        assert {item.id for item in ranking} <= set("abcd")
        assert len({item.id for item in ranking}) == len(ranking)
        order = [(-(item.score or 0.0), item.id) for item in ranking]
        assert order == sorted(order)
        assert len(reranker.rerank("text a", [])) == 0


class Killed(BaseException):
    """Ends a run where it is: nothing after its last commit stays."""


class SourceContract:
    """What every `Source` keeps that has at least three files, each a document of its own.

    Attributes:
        renames: whether a file that changes is another one, with a name of its own.
    """

    renames = False

    def make(self) -> Source:
        """Return a new source over the files as they are now."""
        raise NotImplementedError

    def change(self) -> None:
        """Change one file, delete another and add a third."""
        raise NotImplementedError

    def index(self, engine: Engine, **options: Any) -> IndexReport:
        """Bring an index up to date with the source."""
        with closing(self.make()) as source:
            return engine.index([source], **options)

    def entries(self) -> list[Any]:
        """Return what it lists where nothing is known."""
        with closing(self.make()) as source:
            return list(source.list(lambda name: None))

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Open an empty index."""
        from sleuth.engine import Engine

        with TemporaryDirectory() as folder, Engine.open(folder, create=True, embedder="") as engine:
            yield engine

    def texts(self, engine: Engine) -> list[tuple[str, str]]:
        """Return ids and texts of all passages."""
        return sorted((item.id, item.text) for one in engine.documents() for item in engine.get(one.id))

    def test_lists_the_same_twice(self) -> None:
        """Files come in one order, with versions, under distinct printable names below its own."""
        name, entries = self.make().name, self.entries()
        assert entries == self.entries()
        assert len({entry.source for entry in entries}) == len(entries) >= 3
        for entry in entries:
            assert entry.etag
            assert entry.source.startswith(f"{name}/" if name else "")
            assert entry.source.isprintable()

    def test_reads_what_it_lists(self) -> None:
        """A listed file can be read; one that is not there raises FileNotFoundError."""
        with closing(self.make()) as source, TemporaryDirectory() as folder:
            path = Path(folder, "file")
            listed: Any = source.list(lambda name: None)
            for entry in listed:
                source.read(entry, path)
                assert path.stat().st_size
            suffix = PurePath(entry.source).suffix
            name = f"{entry.source.removesuffix(suffix)}00{suffix}"
            missing_entry = replace(entry, file=f"{folder}/absent", source=name, content=None)
            assert raises(FileNotFoundError, lambda: source.read(missing_entry, path))

    def test_changes_and_deletes(self) -> None:
        """What is as before is not read, what changed is, and what is gone is deleted when pruning."""
        with self.engine() as engine, self.engine() as fresh:
            assert self.index(engine).added == len(self.entries()) == len(engine.documents())
            again = self.index(engine, prune=True)
            assert (again.read, again.pruned, again.added, again.updated) == (0, 0, 0, 0)
            self.change()
            changed = self.index(engine)
            counts = (2, 2, 0, 2) if self.renames else (2, 1, 1, 1)
            assert (changed.read, changed.added, changed.updated, changed.gone) == counts
            assert [self.index(engine, prune=True).pruned for _ in range(2)] == [counts[-1], 0]
            self.index(fresh)
            assert self.texts(engine) == self.texts(fresh)

    def test_goes_on_after_a_kill(self) -> None:
        """What was committed is not read again, and the index is as if nothing had been."""
        kind = type(self.make())
        listing = kind.list

        def killed(source: Any, known: Any) -> Iterator[Any]:
            for number, entry in enumerate(listing(source, known)):
                if number == 2:
                    raise Killed
                yield entry

        with self.engine() as engine, self.engine() as fresh:
            with patch.object(kind, "batch", 1), patch("sleuth.ingest.documents.COMMIT_SECONDS", 0.0):
                with patch.object(kind, "list", killed):
                    assert raises(Killed, lambda: self.index(engine))
                assert len(engine.documents()) == 2
                assert self.index(engine).read == len(self.entries()) - 2
            self.index(fresh)
            assert self.texts(engine) == self.texts(fresh)

    def test_tells_who_may_read(self) -> None:
        """Each document has the principals of its file, where the source knows them, whatever the file says."""
        with self.engine() as engine:
            self.index(engine)
            principals = {one.source: one.metadata.get("principals") for one in engine.documents()}
            for entry in self.entries():
                assert principals[engine.files.name_of(entry.source)] == (entry.metadata or {}).get(
                    "principals"
                )
