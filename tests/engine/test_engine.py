"""The engine: opening, adding, deleting, searching."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth import ArgumentError, Document, Engine, Ranking
from sleuth.dense.embedding import Reading
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.engine import Fusion, expansion
from sleuth.errors import EmbedderMismatchError, EmbeddingError, FilterError, IndexNotFoundError
from sleuth.ingest import IndexProgress
from sleuth.ingest.reports import IndexInterrupted
from sleuth.lexical.search import LexicalSearcher
from tests.code.conftest import write
from tests.embedders import Letters
from tests.engine.kinds import KINDS, new_index
from tests.retrievers import ByLength

DOCUMENTS = [
    Document("Tokens are refilled every second.", {"source": "limits.md", "year": 2021}),
    Document("A bucket holds at most fifty tokens.", {"source": "bucket.md", "year": 2020}),
    Document("Cats sleep most of the day.", {"source": "cats.md", "year": 2021, "title": "Animals"}),
]


@pytest.fixture
def engine(engine: Engine) -> Engine:
    engine.add(DOCUMENTS)
    return engine


@pytest.fixture
def hybrid(hybrid: Engine) -> Engine:
    hybrid.add(DOCUMENTS)
    return hybrid


def sources(ranking: Ranking) -> list[str]:
    return [item.metadata["source"] for item in ranking]


def test_finds_what_was_added(engine: Engine) -> None:
    """Matching passages are returned best first, with text, id and metadata."""
    ranking = engine.retrieve("refill tokens")
    assert sources(ranking) == ["limits.md", "bucket.md"]
    assert ranking[0].text == DOCUMENTS[0].page_content
    assert ranking[0].id == "limits.md#0"
    assert ranking[0].metadata["year"] == 2021
    assert ranking[0].metadata["start_line"] == 1


def test_the_title_is_searched(engine: Engine) -> None:
    """Words of the title match the passages below it."""
    assert sources(engine.retrieve("animals")) == ["cats.md"]


def test_a_title_without_text_is_found(hybrid: Engine) -> None:
    """A document with only a title is found by it; one with only a file name is not."""
    bare = Document(" ", {"title": "Rate limits"}, id="bare")
    hybrid.add([bare, Document("", {"source": "rate.md", "title": "rate"})])
    (item,) = hybrid.retrieve("rates", legs=["lexical"])
    assert (item.id, item.text, item.metadata["title"]) == ("bare#0", "", "Rate limits")
    assert hybrid.retrieve("rate limits", 1)[0].id == "bare#0"
    assert [neighbour.id for neighbour in hybrid.retrieve("rates", 1, expand="document")] == ["bare#0"]
    assert all(finding.level == "ok" for finding in hybrid.check(full=True))


def test_adding_again_costs_nothing(engine: Engine) -> None:
    """Unchanged documents are counted and make no new version."""
    version = engine.refresh()
    report = engine.add(DOCUMENTS)
    assert (report.added, report.updated, report.unchanged) == (0, 0, 3)
    assert engine.refresh() == version


def test_changed_content_replaces(engine: Engine) -> None:
    """A document with the same id replaces the old one."""
    report = engine.add([Document("Quotas are gone.", {"source": "limits.md"})])
    assert (report.added, report.updated) == (0, 1)
    assert sources(engine.retrieve("refilled every second")) == []
    assert sources(engine.retrieve("quotas")) == ["limits.md"]


def test_delete(engine: Engine) -> None:
    """Deleted documents are not found, and only existing ids are returned."""
    assert engine.delete(["limits.md", "nowhere.md"]) == ["limits.md"]
    assert sources(engine.retrieve("refill tokens")) == ["bucket.md"]


@pytest.mark.parametrize("query", ["", "   ", "unheardof", "?!", "\x00", "\ud800"])
def test_queries_without_a_known_word_find_nothing(engine: Engine, query: str) -> None:
    """Blank, unknown and odd queries give an empty lexical ranking."""
    assert len(engine.retrieve(query, legs=["lexical"])) == 0


class CloseVectors:
    """An embedder whose vectors are near to each other, as those of small encoders are; it does not tell gibberish."""

    fingerprint = "close"

    def embed_query(self, text: str) -> list[float]:
        return [1.0, len(text) / 100]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text) / 1000] for text in texts]


@pytest.mark.parametrize("embedder", [None, CloseVectors()], ids=["default", "own"])
def test_words_that_no_passage_holds_are_told_from_gibberish(
    tmp_path: Path, embedder: CloseVectors | None
) -> None:
    """Vectors answer for a word, also one that the default embedder reads in pieces, and for gibberish nothing does."""
    notes = [
        "Dogs need a walk.", "A dog that barks is bored.", "Feed your dog twice.", "Old dogs sleep a lot.",
    ]  # fmt: skip
    chosen_embedder = WordLlamaEmbedder() if embedder is None else embedder
    with Engine.open(tmp_path / "index", create=True, embedder=chosen_embedder) as engine:
        engine.add([Document(note, {"source": f"{i}.md"}) for i, note in enumerate(notes)])
        engine.wait()
        for word in ("puppies", "puppy", "puppies barking"):
            assert len(engine.retrieve(word)) == 4
        for gibberish in ("hjkl fghj", "kwmtkrjw tcrcevjtm", "qwxz"):
            assert len(engine.retrieve(gibberish)) == 0
            assert len(engine.retrieve(gibberish, legs=["dense"])) == 0


def test_meaning_alone_asks_for_one_row_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a passage holds a word of the query is known from one passage; all others are not read for it."""
    depths: list[int] = []
    pool = LexicalSearcher.pool

    def noted(searcher: LexicalSearcher, query: Any, request: Any) -> Any:
        depths.append(request.k)
        return pool(searcher, query, request)

    monkeypatch.setattr(LexicalSearcher, "pool", noted)
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add([Document(f"dogs bark, dog {n}") for n in range(5)])
        assert len(engine.retrieve("dogs", legs=["dense"])) == 5
        assert len(engine.retrieve("qwxz", legs=["dense"])) == 0
        assert len(engine.scoped("source:none").retrieve("dogs", legs=["dense"])) == 0
    assert depths == [1, 1, 1]


def test_filters_apply_before_the_cut(engine: Engine) -> None:
    """A filtered ranking has the best k among the matches."""
    assert sources(engine.retrieve("tokens", 1, filter={"year": 2020})) == ["bucket.md"]
    assert sources(engine.retrieve("tokens", filter="year>=2021")) == ["limits.md"]
    with pytest.raises(FilterError):
        engine.retrieve("tokens", filter={"year": {"$near": 2020}})


@pytest.mark.parametrize(("query", "k"), [(" ", 10), ("tokens", 0)])
def test_options_are_checked_where_nothing_is_searched(engine: Engine, query: str, k: int) -> None:
    """A filter that cannot be read, and a model that is not here, are refused for a blank query and k = 0, too."""
    with pytest.raises(FilterError):
        engine.retrieve(query, k, filter={"year": {"$near": 2020}})
    with pytest.raises(ArgumentError, match="rerank must name a model of a plugin"):
        engine.retrieve(query, k, rerank="nobody:model")


def test_explanations_add_up(engine: Engine) -> None:
    """The parts of an explanation sum to the score and name their numbers."""
    item = engine.retrieve("refill tokens", explain=True)[0]
    assert item.explanation is not None
    assert item.explanation.value == pytest.approx(item.score, rel=1e-5)
    assert sum(part.value for part in item.explanation.parts) == pytest.approx(item.score, rel=1e-5)
    assert {"tf", "df", "idf"} <= set(item.explanation.parts[0].facts)


def test_get(engine: Engine) -> None:
    """A passage or a document is returned by its id, and an empty list for an unknown id."""
    assert [item.id for item in engine.get("cats.md#0")] == ["cats.md#0"]
    assert [item.id for item in engine.get("cats.md")] == ["cats.md#0"]
    assert engine.get("dogs.md") == []


def test_snippets_mark_matches(engine: Engine) -> None:
    """The matched words of a passage are marked, in their inflected form."""
    item = engine.retrieve("refill")[0]
    snippet = engine.snippet("refill", item)
    assert [snippet.text[start:end] for start, end in snippet.spans] == ["refilled"]


def test_an_engine_goes_with_its_last_name(tmp_path: Path) -> None:
    """Nothing of its own holds an engine, so that an index in memory goes with it."""
    engine = Engine.open(tmp_path / "index", create=True)
    reference = weakref.ref(engine)
    del engine
    assert reference() is None


def test_missing_index(tmp_path: Path) -> None:
    """Opening a missing index raises an error that says so."""
    with pytest.raises(IndexNotFoundError, match="create=True"):
        Engine.open(tmp_path / "nothing")


def test_settings_are_the_indexs(tmp_path: Path) -> None:
    """An index keeps its settings; other ones are refused."""
    Engine.open(tmp_path / "i", create=True, settings={"analyzer": "plain"}).close()
    with Engine.open(tmp_path / "i") as index:
        assert index.settings.analyzer == "plain"
    with pytest.raises(ArgumentError, match="analyzer must be 'plain'"):
        Engine.open(tmp_path / "i", settings={"analyzer": "code"})


def test_folder_life(tmp_path: Path) -> None:
    """Files are read once, replaced after a change, and pruned on request."""
    files = {"a.md": "# Alpha\n\nThe first letter.\n", "b.txt": "The second letter is beta.\n"}
    rows = "name,note\nann,likes tea\nbob,likes coffee\n"
    folder = write(tmp_path / "docs", files | {"rows.csv": rows, "blob.bin": "\0\1\2\3" * 100})
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        report = engine.index([folder])
        assert (report.added, report.read) == (4, 3)
        assert any("blob.bin" in skip.source for skip in report.skipped)
        assert engine.retrieve("tea")[0].metadata["row"] is not None
        again = engine.index([folder])
        assert (again.added, again.updated, again.unchanged, again.read) == (0, 0, 4, 0)
        (folder / "rows.csv").write_text("name,note\nann,likes water and juice\n")
        (folder / "b.txt").unlink()
        third = engine.index([folder])
        assert (third.updated, third.deleted, third.pruned) == (1, 1, 0)
        assert engine.index([folder], prune=True).pruned == 1
        assert len(engine.retrieve("coffee beta")) == 0
        with pytest.raises(ArgumentError, match="paths must name files"):
            engine.index([folder / "nowhere"])


def test_hybrid_finds_by_meaning(hybrid: Engine) -> None:
    """With the default embedder a passage is found by words that it does not contain."""
    assert sources(hybrid.retrieve("kittens napping", 1)) == ["cats.md"]
    assert len(hybrid.retrieve("kittens napping", legs=["lexical"])) == 0
    assert len(hybrid.retrieve("  ")) == 0


def test_hybrid_explains_every_leg(hybrid: Engine) -> None:
    """The explanation has the token match over the fused score, and below it each leg's rank, scores, weight and
    share.
    """
    ranking = hybrid.retrieve("refill tokens", explain=True)
    assert [part.name for part in ranking.parts] == ["lexical", "dense"]
    explanation = ranking[0].explanation
    assert explanation is not None
    assert explanation.value == ranking[0].score
    (fusion,) = explanation.parts
    assert fusion.value + float(explanation.facts["gain"]) == pytest.approx(ranking[0].score)
    assert sum(part.value for part in fusion.parts) == pytest.approx(fusion.value)
    for leg in fusion.parts:
        assert {"rank", "score", "normalised", "weight", "share"} <= set(leg.facts)
        assert leg.parts


def test_tokens_are_matched_among_the_first(hybrid: Engine) -> None:
    """Token matching raises scores, keeps heads of rankings consistent, and can be disabled."""
    plain = {item.id: item.score for item in hybrid.retrieve("refill tokens", fusion="minmax(tokens=0)")}
    ranking = hybrid.retrieve("refill tokens")
    assert {item.id for item in ranking} == set(plain)
    assert all((item.score or 0) >= (plain[item.id] or 0) for item in ranking)
    for k in range(len(ranking)):
        assert [(i.id, i.score) for i in hybrid.retrieve("refill tokens", k)] == [
            (i.id, i.score) for i in ranking[:k]
        ]
    with pytest.raises(ArgumentError, match="tokens must be a number of 0 and more"):
        Fusion(tokens=-1)


def test_fusion_is_chosen_by_its_printed_form(hybrid: Engine) -> None:
    """Fusions round-trip through their printed form and change the scores; unknown ones are refused."""
    fusion = Fusion.parse("rrf(lexical=1,dense=0.5,rank_constant=10)")
    assert Fusion.parse(str(fusion)) == fusion
    top = hybrid.retrieve("tokens", 1, fusion=fusion)[0]
    assert top.score == pytest.approx(1 / 11 + 0.5 / 11, rel=0.1)
    for bad in ("best", "minmax(words=1)", "rrf(rank_constant=0)", "minmax(dense=x)"):
        with pytest.raises(ArgumentError):
            hybrid.retrieve("tokens", fusion=bad)
    with pytest.raises(ArgumentError, match="legs must be among lexical, dense"):
        hybrid.retrieve("tokens", legs=["sparse"])


class TokenLetters(Letters):
    """Letters with tokens to match."""

    token_weight = 0.3

    def read(self, texts: list[str]) -> Reading:
        vectors = np.array(self.embed_documents(texts), np.float32)
        return Reading(vectors, np.zeros(0, np.uint8), np.zeros(len(texts), np.uint16))


@pytest.mark.parametrize("kind", [Letters, TokenLetters])
def test_an_index_is_used_without_the_embedder_of_its_user(tmp_path: Path, kind: type[Letters]) -> None:
    """Words answer, `words_only` says why, vectors stay, and those of new documents are made with the embedder."""
    with Engine.open(tmp_path / "i", create=True, embedder=kind()) as engine:
        engine.add(DOCUMENTS)
        [word] = engine.retrieve("cats", 1)
        assert len(engine.retrieve("seal", legs=["dense"])) == 3
    with pytest.raises(EmbedderMismatchError, match=r"letters/26.*wordllama"):
        Engine.open(tmp_path / "i", embedder="wordllama")
    with Engine.open(tmp_path / "i") as engine:
        assert not engine.repairs
        ranking = engine.retrieve("cats", 1)
        assert [item.id for item in ranking] == [word.id]
        assert "Engine.open(path, embedder=...)" in ranking.failures[0].error
        assert "letters/26" in engine.words_only
        with pytest.raises(EmbeddingError, match=r"embedder=\.\.\."):
            engine.retrieve("cats", legs=["dense"])
        engine.add([Document("Zebras zigzag.", id="zebra")])
        engine.compact()
        assert not [finding for finding in engine.check(full=True) if finding.level == "error"]
    with Engine.open(tmp_path / "i", embedder=kind()) as engine:
        engine.embed()
        assert engine.status()["legs"]["dense"]["uncovered"] == 0
        assert [item.id for item in engine.retrieve("zzz", 1, legs=["dense"])] == ["zebra#0"]


class LettersError(Exception):
    """An error of the user's own."""


@pytest.mark.parametrize("deadline", [None, 60.0])
@pytest.mark.parametrize(
    "failure", [EmbeddingError("down"), ConnectionError("down"), ValueError("down"), LettersError("down")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_embedder_leaves_the_words(
    kind: str, failure: Exception, deadline: float | None, tmp_path: Path
) -> None:
    """Whatever an embedder raises, the dense leg is reported as failed; alone, it raises an EmbeddingError."""
    embedder = Letters()
    with new_index(kind, tmp_path / "i", embedder=embedder) as engine:
        engine.add(DOCUMENTS)
        embedder.failure = failure
        ranking = engine.retrieve("cats", deadline=deadline)
        assert sources(ranking) == ["cats.md"]
        assert [(part.name, part.status) for part in ranking.failures] == [("dense", "failed")]
        assert "down" in ranking.failures[0].error
        with pytest.raises(EmbeddingError, match="down"):
            engine.retrieve("cats", legs=["dense"], deadline=deadline)


LONG = "\n\n".join(
    f"## Part {part}\n\n"
    + " ".join(f"Sentence {n} of part {part} is about topic{part}x{n}." for n in range(40))
    for part in range(3)
)


def test_passages_grow_on_request(tmp_path: Path) -> None:
    """Neighbours, section and document are returned once, unchanged, with their lines."""
    settings = {"chunk_size": 64, "chunk_overlap": 12}
    with Engine.open(tmp_path / "i", create=True, embedder="", settings=settings) as engine:
        engine.add([Document(LONG, {"source": "long.md", "type": "markdown"})])
        (alone,) = engine.retrieve("topic1x20", 1)
        (near,) = engine.retrieve("topic1x20", 1, expand=1)
        (section,) = engine.retrieve("topic1x20", 1, expand="section")
        (whole,) = engine.retrieve("topic1x20", 5, expand="document")
        assert alone.text in near.text in LONG
        assert section.text.count("topic1x") == 40
        assert "topic0x" not in section.text
        assert whole.text == LONG
        assert whole.metadata["end_line"] == LONG.count("\n") + 1
        for options in ({}, {"boost": "source:long.md^2"}, {"legs": ["lexical"]}, {"rerank": ByLength()}):
            times = 20 if "rerank" in options else 1  # so that it has more passages than are ranked again
            longer = Document(times * LONG, {"source": "long.md", "type": "markdown"})
            engine.add([longer, Document("It is a part.", {"source": "short.md", "type": "markdown"})])
            grown = engine.retrieve("part sentence", 2, expand="document", **options)
            assert sources(grown) == ["long.md", "short.md"]
        assert sources(engine.retrieve("type:markdown", 2, expand="document", syntax=True)) == sources(grown)
        for bad in (0, -1, True, "page"):
            with pytest.raises(ArgumentError, match="expand must be"):
                engine.retrieve("part", expand=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(("overlap", "reach"), [(0, 9), (4, 9), (4, 1)])
def test_whole_sections(tmp_path: Path, overlap: int, reach: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section is complete even if it begins in a passage with the end of the previous one, or is long."""
    monkeypatch.setattr(expansion, "_REACH", reach)
    sections = [
        f"## Part {part}\n\n" + " ".join(f"On topic{part}x{n}." for n in range(count))
        for part, count in enumerate((24, 40, 40))
    ]
    settings = {"chunk_size": 64, "chunk_overlap": overlap}
    with Engine.open(tmp_path / "i", create=True, embedder="", settings=settings) as engine:
        engine.add([Document("\n\n".join(sections), {"source": "long.md", "type": "markdown"})])
        begin, end = engine.retrieve("topic1x0", 1)[0], engine.retrieve("topic1x30", 1)[0]
        assert (begin.metadata["heading"], end.metadata["heading"]) == ("Part 0", "Part 1")
        assert sections[1] in engine.retrieve("topic1x30", 1, expand="section")[0].text
        assert sections[2] == engine.retrieve("topic2x30", 1, expand="section")[0].text


def test_an_interruption_keeps_what_was_read(tmp_path: Path) -> None:
    """Ctrl-C commits and reports the files that were read; the next run reads the rest."""
    folder = write(tmp_path / "docs", {f"{number:02}.txt": f"text number {number}" for number in range(30)})

    def stop(now: IndexProgress) -> None:
        if now.files == 10:
            raise KeyboardInterrupt

    with Engine.open(tmp_path / "i", create=True, embedder="") as engine:
        with pytest.raises(IndexInterrupted) as caught:
            engine.index([folder], progress=stop)
        documents = engine.status()["documents"]
        assert caught.value.report.interrupted
        assert documents == caught.value.report.documents
        assert 9 <= documents <= 10
        assert engine.index([folder]).added == 30 - documents


@pytest.mark.parametrize("text", ["漢字仮名交文" * 900, "x" * 6_000, "word, " * 1_200 + "end"])
def test_grown_passages_hold_nothing_that_the_text_does_not(tmp_path: Path, text: str) -> None:
    """Adjacent passages are joined without a blank between them."""
    settings = {"chunk_size": 64, "chunk_overlap": 0}
    with Engine.open(tmp_path / "i", create=True, embedder="", settings=settings) as engine:
        engine.add([Document(text, id="long"), Document("start", id="other")])
        chunks = engine.get("long")
        assert len(chunks) > 2
        with engine.store.reader() as snapshot:
            assert expansion.join(snapshot.chunks_of("long")) == text
