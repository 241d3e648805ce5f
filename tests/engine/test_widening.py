"""Queries with further words: prefixes, typing mistakes and synonyms, over each kind of index and within a scope."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, Sources
from sleuth.engine.synonyms import Synonyms
from sleuth.errors import ArgumentError
from tests.engine.kinds import KINDS, new_index

WORDS = ("bucket", "buckaroo", "bukket", "packet", "kubernetes", "javascript", "integration", "buckskin")
OWN = {"tenant": "a"}
DOCUMENTS = [
    *(
        Document(f"The {word} of text {n}.", {"source": f"{word}.md", "n": n, **OWN})
        for n, word in enumerate(WORDS)
    ),
    *(Document(f"The bucket of others {n}.", {"source": f"other-{n}.md", "n": -n, **OWN}) for n in range(5)),
    Document("The bucketmongers keep clusters of containers.", {"source": "secret.md", "tenant": "b"}),
    Document("Die Eimerkette war alt und sehr lang.", {"source": "de.md", "language": "de", **OWN}),
]
SYNONYMS = "k8s, kubernetes, clusters of containers\njs => javascript  # one way\n"


@pytest.fixture(scope="module", params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index with synonyms in its folder."""
    path = tmp_path_factory.mktemp("index") / "index"
    with new_index(request.param, path) as engine:
        engine.add(DOCUMENTS)
    (path / "synonyms.txt").write_text(SYNONYMS)
    with Engine.open(path) as engine:
        yield engine


WORDS_ALONE: dict[str, Any] = {"legs": ["lexical"], "explain": True}


def sources(engine: Engine, query: str, **options: Any) -> list[str]:
    """Return the names of documents that words find, without numbers."""
    ranking = engine.retrieve(query, 30, **WORDS_ALONE, **options)
    return list(dict.fromkeys(item.document_id.partition(".")[0].partition("-")[0] for item in ranking))


def test_a_prefix_finds_the_words_that_begin_with_it(engine: Engine) -> None:
    """In every language; without the syntax a star is no sign."""
    assert set(sources(engine, "buck*", syntax=True)) == {"bucket", "buckaroo", "buckskin", "other", "secret"}
    assert sources(engine, "eimer*", syntax=True, min_score=1) == ["de"]
    assert sources(engine, "buck*") == []
    assert engine.retrieve("zebr*", syntax=True).notes == ("no word of the passages begins with 'zebr'",)
    (note,) = engine.retrieve("buck*", syntax=True).notes
    assert note.startswith("'buck' also stands for: bucket, ")


def test_a_typing_mistake_finds_the_word(engine: Engine) -> None:
    """One edit by default and two where asked for, for a word of the query or for all."""
    assert set(sources(engine, "bucket~", syntax=True)) == {"bucket", "other", "bukket"}
    assert set(sources(engine, "javasrcipt", fuzzy=1)) == {"javascript"}
    assert sources(engine, "javasrcpt", fuzzy=1) == []
    assert sources(engine, "javasrcpt", fuzzy=2) == ["javascript"]
    assert sources(engine, "javasrcpt~2", syntax=True) == ["javascript"]
    assert sources(engine, "javasrcpt") == []


def test_the_word_itself_counts_most(engine: Engine) -> None:
    """However rare an added word is, a passage of the same length with the word itself has the better score."""
    ranking = engine.retrieve("bucket", 30, fuzzy=1, **WORDS_ALONE)
    by_id = {item.id: item for item in ranking}
    assert by_id["bucket.md#0"].score > by_id["bukket.md#0"].score > 0  # type: ignore[operator]
    plain = {item.id: item.score for item in engine.retrieve("bucket", 30, **WORDS_ALONE)}
    assert {id: by_id[id].score for id in plain} == plain


def test_explanations_say_what_a_word_was_added_for(engine: Engine) -> None:
    """The parts sum to the score, as those of other words do."""
    for query, options, reason in (
        ("bucket", {"fuzzy": 1}, "bucket (1 edit)"),
        ("bukk*", {"syntax": True}, "bukk (prefix)"),
    ):
        found = engine.retrieve(query, 30, **WORDS_ALONE, **options)
        (item,) = [item for item in found if item.id == "bukket.md#0"]
        assert item.explanation is not None
        (part,) = item.explanation.parts
        assert (part.name, part.facts["added for"]) == ("text:bukket", reason)
        assert part.value == pytest.approx(item.score)


def test_synonyms_are_searched(engine: Engine) -> None:
    """Equal words both ways, an arrow one way, phrases too; a request may leave them out."""
    assert sources(engine, "k8s") == ["kubernetes", "secret"]
    assert sources(engine, "JS text")[0] == "javascript"
    assert "packet" in sources(engine, "JS text")
    assert sources(engine, "javascript") == ["javascript"]
    assert sources(engine, "clusters of containers") == ["secret", "kubernetes"]
    assert sources(engine, "k8s", synonyms=False) == []
    assert engine.retrieve("k8s").notes == ("'k8s' also stands for: kubernetes, clusters of containers",)


def test_a_tenant_gets_words_of_its_own_passages(engine: Engine) -> None:
    """Neither hits, notes nor explanations name a word that only another tenant's passages hold."""
    with engine.scoped("tenant:a") as view:
        for query, options in (("bucke*", {"syntax": True}), ("bucketmongerz", {"fuzzy": 2}), ("k8s", {})):
            ranking = view.retrieve(query, 30, explain=True, **options)
            text = f"{ranking.notes} {[item.to_dict() for item in ranking]}"
            assert "bucketmonger" not in text.replace("bucketmongerz", "")
            assert "containers" not in text


def test_a_sorted_search_takes_further_words(engine: Engine) -> None:
    """A passage with an added word in place of the word of the query holds each word."""
    ranking = engine.retrieve("bukk~ text", 30, syntax=True, sort="-n", fuzzy=1)
    assert [item.document_id for item in ranking][:1] != []
    ranking = engine.retrieve("buckar* text", 30, syntax=True, sort="-n")
    assert [item.document_id for item in ranking] == ["buckaroo.md"]


def test_only_documents_have_fuzzy_words(engine: Engine) -> None:
    """With other sources the documents take part; without documents the option is refused."""
    other = Engine.open(engine.path)
    both = Sources({"docs": engine.unhooked, "more": other.unhooked}, engine=engine)
    assert both.retrieve("javasrcipt", fuzzy=1)[0].document_id == "javascript.md"
    with pytest.raises(ArgumentError, match="fuzzy must be 0 where no documents are searched"):
        both.retrieve("javasrcipt", fuzzy=1, sources=["more"])
    other.close()


def test_as_many_words_as_there_are_rooms(tmp_path: Path) -> None:
    """A prefix of many words takes those of the most passages, and stays bounded."""
    with Engine.open(tmp_path / "index", create=True, settings={"embedder": ""}) as engine:
        engine.add(Document(f"aa{n:04} aa0007", {"source": f"{n}.md"}) for n in range(300))
        ranking = engine.retrieve("aa*", 400, syntax=True)
        assert "aa0007" in ranking.notes[0]
        assert ranking.notes[0].endswith(" and 44 more")
        assert len(ranking) == 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one", 'line 1 of the synonyms must be as "k8s, kubernetes"'),
        ("a, b\n\n=> c", "line 3 of the synonyms"),
        ("a =>", "line 1 of the synonyms"),
        ("a, !!", "phrases of 1 to 8 words, got '!!'"),
        ("a b c d e f g h i, x", "phrases of 1 to 8 words"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The message names the line and its rule; nothing is opened or created."""
    (tmp_path / "words.txt").write_text(text)
    with pytest.raises(ArgumentError, match=message):
        Engine.open(tmp_path / "index", create=True, synonyms=tmp_path / "words.txt")
    assert not (tmp_path / "index").exists()


def test_synonyms_of_a_mapping(tmp_path: Path) -> None:
    """An argument takes the place of the file; texts for lists and other values are refused."""
    with Engine.open(tmp_path / "index", create=True, synonyms={"cat": ["feline animal"]}) as engine:
        engine.add([Document("A feline animal sleeps.", {"source": "a.md"})])
        assert sources(engine, "cat") == ["a"]
    assert len(Synonyms.parse("a, b, c")) == 3
    for wrong in ({"a": "b"}, {"a": [3]}, 5):
        with pytest.raises(ArgumentError, match=r"synonyms must (map phrases to lists|be a file, a mapping)"):
            Synonyms.of(wrong)


@pytest.mark.parametrize("value", [-1, 3, True, 1.0, "1", None])
def test_what_is_no_number_of_edits_is_refused(engine: Engine, value: Any) -> None:
    with pytest.raises(ArgumentError, match="fuzzy must be 0, 1 or 2"):
        engine.retrieve("bucket", fuzzy=value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slip", ["bukket", "buckeet", "buckte"])
def test_a_word_that_no_passage_holds_is_widened(tmp_path: Path, kind: str, slip: str) -> None:
    """One edit widens it without `fuzzy`, and a note says so; a word that a passage holds is never widened."""
    with new_index(kind, tmp_path / "index", embedder=None) as index:
        index.add([Document("The bucket is full.", id="a"), Document("Bullets and keys.", id="b")])
        ranking = index.retrieve(slip)
        assert ranking.items[0].document_id == "a"
        assert any(note.startswith(f"'{slip}' also stands for: ") for note in ranking.notes)
        assert index.retrieve("bullet").notes == ()
