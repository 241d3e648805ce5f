"""The engine and its embedder: other vector lengths, later vectors, another embedder."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.engine.search import Searchers
from sleuth.errors import ArgumentError, EmbedderMismatchError, EmbeddingError
from sleuth.ingest.reports import IndexInterrupted
from sleuth.store import text_hash
from tests.code.conftest import write
from tests.dense.strategies import HashEmbedder
from tests.retrievers import ids
from tests.store.words import put_passages


class Changing(HashEmbedder):
    """An embedder that keeps its fingerprint when its vector length changes, and raises `down` while there is one."""

    fingerprint = "changing"
    down: Exception | None = None

    def embed_documents(self, texts: Sequence[str]) -> list:  # type: ignore[type-arg]
        if self.down is not None:
            raise self.down
        return super().embed_documents(texts)


class Cheap(HashEmbedder):
    """An embedder that is fast enough to embed within a commit."""

    fingerprint = "cheap"
    cheap = True


def newest(engine: Engine) -> Searchers:
    """Return the searchers that the next query uses."""
    with engine.store.reader() as snapshot:
        return engine.backend.searchers_of(snapshot)


class Tokens(WordLlamaEmbedder):
    """The default embedder under another name, whose tokens have no weight."""

    fingerprint = "tokens"
    token_weight = 0.0


def documents(word: str, n: int = 3) -> list[Document]:
    return [Document(f"{word}{i} {word}", id=f"{word}{i}") for i in range(n)]


def new_index(folder: Path, embedder: HashEmbedder) -> Engine:
    """Return a new index of three documents."""
    engine = Engine.open(folder / "i", create=True, embedder=embedder)
    engine.add(documents("alpha"))
    return engine


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_cheap_embedder_embeds_within_the_commit(tmp_path: Path) -> None:
    """A cheap embedder leaves nothing to embed later and has no cache; another one has both."""
    for embedder, is_cheap in ((Cheap(), True), (Changing(8), False)):
        with Engine.open(tmp_path / embedder.fingerprint, create=True, embedder=embedder) as engine:
            with engine.store.writer() as writer:
                put_passages(writer, ["a"], ["alpha"], ["00"])
            assert engine.status()["legs"]["dense"]["uncovered"] == (0 if is_cheap else 1)
            assert (engine.backend.vector_cache is None) == is_cheap


def test_tokens_are_matched_where_the_embedder_gives_them(tmp_path: Path) -> None:
    """The embedder determines how much tokens add to a score."""
    scores = []
    for embedder in (WordLlamaEmbedder(), Tokens()):
        with Engine.open(tmp_path / embedder.fingerprint[:6], create=True, embedder=embedder) as engine:
            engine.add([Document("stars are bright", id="a"), Document("a bright lamp", id="b")])
            assert engine.status()["legs"]["dense"]["fingerprint"].endswith("|tokens")
            scores.append(engine.retrieve("bright stars")[0].score or 0.0)
    assert scores[0] > scores[1]


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    """The error names both lengths, nothing is mixed, and the lexical leg still answers."""
    embedder = Changing(8)
    with new_index(tmp_path, embedder) as engine:
        embedder.dimension = 16
        with pytest.raises(EmbeddingError, match=r"8 dimensions.*got 16 from 'changing'.*--re-embed"):
            engine.add(documents("beta"))
        ranking = engine.retrieve("beta1 beta")
        assert ids(ranking)[0] == "beta1#0"
        assert [part.status for part in ranking.parts] == ["ok", "failed"]
        embedder.dimension = 8
        assert engine.embed() == 3
        assert ids(engine.retrieve("beta1 beta", 1, legs=["dense"])) == ["beta1#0"]


def test_an_index_of_mixed_vectors_is_reported(tmp_path: Path) -> None:
    """With segments of two vector lengths, the lexical leg answers, check reports them, and merging refuses."""
    embedder = Changing(8)
    with new_index(tmp_path, embedder) as engine:
        embedder.dimension = 16
        with pytest.raises(EmbeddingError):
            engine.add(documents("beta"))
        engine.searcher("dense").leg.dimension = 16
        engine.store.build("dense")
        ranking = engine.retrieve("beta1 beta")
        assert ids(ranking)[0] == "beta1#0"
        assert ranking.failures[0].error is not None
        assert "8 dimensions" in ranking.failures[0].error
        with pytest.raises(EmbeddingError, match="8 dimensions"):
            engine.nearest([1.0] * 8)
        with pytest.raises(EmbeddingError, match="8 dimensions"):
            engine.compact()
        first = engine.check()[0]
        assert (first.level, first.subject, first.remedy) == ("error", "dense", "sleuth index --re-embed")
        engine.close(finish=False)


def test_vectors_made_later_are_found(tmp_path: Path) -> None:
    """A query between a failed and a later embedding hides no vector, in no open engine."""
    embedder = Changing(8)
    with new_index(tmp_path, embedder) as engine:
        embedder.down = EmbeddingError("no answer", service="changing")
        with pytest.raises(EmbeddingError):
            engine.add(documents("beta"))
        with Engine.open(tmp_path / "i", embedder=Changing(8)) as reader:
            for index in (engine, reader):
                assert ids(index.retrieve("beta1 beta", 1, legs=["dense"])) != ["beta1#0"]
            embedder.down = None
            assert engine.embed() == 3
            for index in (engine, reader):
                assert ids(index.retrieve("beta1 beta", 1, legs=["dense"])) == ["beta1#0"]


def test_another_embedder_on_request(tmp_path: Path) -> None:
    """`re_embed` replaces embedder and vectors in one step; without it, the error says how."""
    old, new = HashEmbedder(8, "old"), HashEmbedder(16, "new")
    new_index(tmp_path, old).close()
    with pytest.raises(EmbedderMismatchError, match=r"Engine\.open\(path, embedder=\.\.\., re_embed=True\)"):
        Engine.open(tmp_path / "i", embedder=new)
    with Engine.open(tmp_path / "i", embedder=new, re_embed=True) as engine:
        assert engine.settings.embedder == "custom:hash/16/new"
        assert engine.status()["legs"]["dense"]["uncovered"] == 3
    with Engine.open(tmp_path / "i", embedder=new) as engine:  # as after a kill
        assert engine.embed() == 3
        assert ids(engine.retrieve("alpha1 alpha", 1, legs=["dense"])) == ["alpha1#0"]
        assert [finding.level for finding in engine.check(full=True) if finding.level != "ok"] == []
        with engine.store.reader() as snapshot:
            hashes = [text_hash(f"alpha{i} alpha") for i in range(3)]
            assert not snapshot.embeddings(old.fingerprint, hashes)
            assert len(snapshot.embeddings(new.fingerprint, hashes)) == 3
    with Engine.open(tmp_path / "i", embedder="wordllama", re_embed=True) as engine:
        assert ids(engine.retrieve("alpha1 alpha", 1, legs=["dense"])) == ["alpha1#0"]
    with Engine.open(tmp_path / "i", embedder="", re_embed=True) as engine:
        assert "dense" not in engine.status()["legs"]
    assert [path.name for path in (tmp_path / "i" / "segments").iterdir()] == []


@pytest.mark.parametrize("fingerprint", ["changing", "another"])
def test_an_embedder_that_does_not_answer_replaces_none(tmp_path: Path, fingerprint: str) -> None:
    """`re_embed` requests one vector before it deletes any."""
    embedder = Changing(8)
    new_index(tmp_path, embedder).close()
    down = Changing(8)
    down.down = EmbeddingError("no answer", service="changing")
    down.fingerprint = fingerprint
    with pytest.raises(EmbeddingError, match="no answer"):
        Engine.open(tmp_path / "i", embedder=down, re_embed=True)
    with Engine.open(tmp_path / "i", embedder=embedder) as engine:
        assert len(engine.retrieve("alpha1", legs=["dense"])) == 3


def test_a_model_that_changed_is_embedded_again(tmp_path: Path) -> None:
    """`re_embed` with the same embedder deletes its cached vectors too."""
    embedder = Changing(8)
    new_index(tmp_path, embedder).close()
    embedder.dimension = 16
    with Engine.open(tmp_path / "i", embedder=embedder, re_embed=True) as engine:
        engine.add(documents("beta"))
        assert len(engine.retrieve("beta1 beta", legs=["dense"])) == 6
        assert [finding.level for finding in engine.check() if finding.level != "ok"] == []


def test_vectors_of_texts_that_are_gone_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index keeps few vectors of texts that it does not hold any more, and all of those that it holds."""
    monkeypatch.setattr("sleuth.engine.embedders.SPARE_VECTORS", 5)
    embedder = HashEmbedder(8)
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        for n in range(12):
            engine.add([*documents("alpha"), Document(f"changed {n}", id="changing")])
        with engine.store.reader() as snapshot:
            assert 4 <= snapshot.count_embeddings(embedder.fingerprint) <= 2 * 4 + 5
        embedded = sum(embedder.calls)
        engine.delete(["alpha0"])
        engine.add(documents("alpha"))
        assert sum(embedder.calls) == embedded


def test_a_kill_while_embedders_change_leaves_one_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the commit of a change fails, nothing of it is visible; otherwise all of it is."""
    old, new = HashEmbedder(8, "old"), HashEmbedder(16, "new")
    new_index(tmp_path, old).close()
    with monkeypatch.context() as kill:
        kill.setattr("sleuth.store.catalogue.manifest.purge_tombstones", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Engine.open(tmp_path / "i", embedder=new, re_embed=True)
    with Engine.open(tmp_path / "i", embedder=old) as engine:
        assert ids(engine.retrieve("alpha1 alpha", 1, legs=["dense"])) == ["alpha1#0"]


def test_progress_of_embedding(tmp_path: Path) -> None:
    """Progress reports embedded and total passages after each batch."""
    reports: list[tuple[int, int]] = []
    write(tmp_path / "docs", {f"{i}.txt": f"text number {i}" for i in range(10)})
    embedder = HashEmbedder()
    embedder.batch_size = 4  # type: ignore[attr-defined]
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        engine.index([tmp_path / "docs"], embedding=lambda *now: reports.append(now))
    assert reports == [(4, 10), (8, 10), (10, 10), (10, 10)]


def test_ctrl_c_while_embedding_keeps_what_was_made(tmp_path: Path) -> None:
    """Ctrl-C while embedding is reported as while reading, and finished batches are not repeated."""
    write(tmp_path / "docs", {f"{i}.txt": f"text number {i}" for i in range(10)})
    embedder = HashEmbedder()
    embedder.batch_size = 4  # type: ignore[attr-defined]
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        with pytest.raises(IndexInterrupted) as caught:
            engine.index([tmp_path / "docs"], embedding=interrupt)
        assert caught.value.report.interrupted
        assert caught.value.report.documents == 10
        embedder.calls.clear()
        engine.index([tmp_path / "docs"])
        assert sum(embedder.calls) == 6


def test_searchers_are_kept_while_rows_and_segments_are(tmp_path: Path) -> None:
    """A commit of cached vectors does not make queries rebuild their searchers; an add of many rows makes new ones."""
    with new_index(tmp_path, HashEmbedder()) as engine:
        engine.retrieve("alpha")
        before = newest(engine)
        assert engine.backend.vector_cache is not None
        engine.backend.vector_cache.put("other", {text_hash("a"): b"\0" * 4})
        engine.retrieve("alpha")
        assert newest(engine) is before
        engine.add([Document(str(i)) for i in range(1_000)])
        opened = engine.backend._searchers.get(None)
        assert getattr(opened, "version", 0) == engine.store.version > before.version


@pytest.mark.parametrize("fingerprint", [None, 7, lambda: "mine"], ids=["none", "int", "method"])
def test_a_fingerprint_must_be_text(tmp_path: Path, fingerprint: object) -> None:
    """An embedder whose fingerprint is not a string is refused before an index is made."""
    embedder = type("Mine", (), {"fingerprint": fingerprint})()
    with pytest.raises(ArgumentError, match="must be an Embedder, with a str as its `fingerprint`"):
        Engine.open(tmp_path / "ix", create=True, embedder=embedder)
    assert not (tmp_path / "ix").exists()


@pytest.mark.parametrize("method", ["embed_query", "embed_documents", "knowledge", "has_meaning", "salience"])
def test_words_answer_where_a_cheap_embedder_fails(
    tmp_path: Path, method: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searching and answering go on by words when an embedder of one's own raises in any of its methods."""

    def fail(*arguments: object) -> None:
        raise ConnectionError(method)

    embedder = Cheap()
    with Engine.open(tmp_path / "index", create=True, embedder=embedder) as engine:
        engine.add(
            [Document("The bucket holds fifty tokens.", id="a"), Document("Cats sleep all day.", id="b")]
        )
        monkeypatch.setattr(embedder, method, fail, raising=False)
        assert engine.retrieve("bucket tokens")[0].id == "a#0"
        answer = engine.search("How many tokens does the bucket hold?", return_mode="with_items")
        assert answer.is_ok()
        assert "fifty" in answer.response
        engine.retrieve("zqxw blorf")
        assert "ConnectionError" in caplog.text


@pytest.mark.parametrize(
    "error", [ConnectionError("refused"), KeyError("model"), TimeoutError("late")], ids=repr
)
def test_failed_vectors_say_that_the_words_are_committed(tmp_path: Path, error: Exception) -> None:
    """A call whose vectors fail says that the words are committed and how to go on; doing so mends it."""
    embedder = Changing(8)
    with Engine.open(tmp_path / "index", create=True, embedder=embedder) as engine:
        embedder.down = error
        (tmp_path / "file.md").write_text("pear")
        calls: list[Callable[[], object]] = [
            lambda: engine.add(documents("apple")),
            lambda: engine.update({"year": 2020}, ["apple0"]),
            lambda: engine.index([tmp_path / "file.md"]),
        ]
        for call in calls:
            with pytest.raises(
                EmbeddingError, match=r"documents are committed .*Engine\.embed\(\)"
            ) as caught:
                call()
            assert str(error) in str(caught.value)
        assert ids(engine.retrieve("apple1", legs=["lexical"])) == ["apple1#0"]
        assert len(engine.get("file.md")) == 1
        embedder.down = None
        assert engine.embed() == 4
        assert not [finding for finding in engine.check() if finding.level == "error"]
