"""The query syntax, spelling suggestions, the minimum score, and reranking."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine, Ranking, RetrievedItem
from sleuth.cluster import ShardedEngine
from sleuth.engine import search
from sleuth.engine.embedders import HOW_TO_ADD_LANGUAGES
from sleuth.engine.queries import MOST_SIGNS, SearchQuery, parse_query
from sleuth.engine.queries import QueryCondition as Condition
from sleuth.errors import RetrievalError
from tests.retrievers import ByLength

DOCUMENTS = [
    Document("A token bucket limits the rate.", {"source": "bucket.md", "title": "The Limits", "year": 2020}),
    Document("Put the token into the leaky bucket.", {"source": "leaky.md", "author": {"name": "Ann Lee"}}),
    Document("# Rates\n\nBuckets of tokens refill.", {"source": "refill.md", "tags": ["fast lane", "x"]}),
]


@pytest.fixture(params=["", "wordllama"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with Engine.open(tmp_path / "index", create=True, embedder=request.param) as index:
        index.add(DOCUMENTS)
        yield index


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("plain words", SearchQuery("plain words", (), "plain words")),
        ('"a b" c', SearchQuery("a b c", (Condition("a b"),), "a b c")),
        ('-xy -"y z" w', SearchQuery("w", (Condition("xy", "", True), Condition("y z", "", True)), "w")),
        ("-é -猫 w", SearchQuery("w", (Condition("é", "", True), Condition("猫", "", True)), "w")),
        ("serve -k 3 --limit -5", SearchQuery("serve k 3 -limit 5", (), "serve k 3 -limit 5")),
        ('title:a -year:2', SearchQuery("a", (Condition("a", "title"), Condition("2", "year", True)), is_lookup=True)),
        ("note: this http://x a-b", SearchQuery("note: this http://x a-b", (), "note: this http://x a-b")),
        ('5" and "', SearchQuery('5" and', (), '5" and')),
        ("c++ C# -x c++", SearchQuery("c++ C# x c++", (), "c++ C# x c++")),
        ("", SearchQuery("")),
    ],
)  # fmt: skip
def test_parsing(text: str, query: SearchQuery) -> None:
    """Signs count only before a word, not before a flag or a number; colons only after a key, quotes only in pairs."""
    assert parse_query(text, {"title", "year"}) == query


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ('"token bucket"', {"bucket.md"}), ('"bucket limits token"', set()),
        ('"buckets of token"', {"refill.md"}), ("bucket -leaky", {"bucket.md", "refill.md"}),
        ('bucket -"token bucket"', {"leaky.md", "refill.md"}), ("title:limits", {"bucket.md"}),
        ("year:2020 token", {"bucket.md"}), ('author.name:"ann lee"', {"leaky.md"}),
        ("tags:lane bucket", {"refill.md"}), ("token -title:limits", {"leaky.md", "refill.md"}),
        ('"token" "leaky"', {"leaky.md"}), ('"token bucket" -rate', set()), ('"leaky" -the', {"leaky.md"}),
    ],
)  # fmt: skip
def test_conditions_hold_on_every_leg(engine: Engine, query: str, sources: set[str]) -> None:
    """Every hit satisfies all conditions, whichever leg found it."""
    ranking = engine.retrieve(query, syntax=True)
    assert {item.metadata["source"] for item in ranking} == sources


def test_plain_queries_rank_as_without_the_syntax(engine: Engine) -> None:
    """A query without syntax ranks as with the syntax disabled."""
    for query in ("token bucket", "rate of refill", "how fast is the lane?"):
        assert engine.retrieve(query, syntax=True) == engine.retrieve(query)


def test_conditions_are_anded_to_filter_and_scope(engine: Engine) -> None:
    """A phrase matches nothing that the filter or the scope excludes."""
    assert not engine.retrieve('"token bucket"', syntax=True, filter="year:1999")
    assert not engine.scoped("source:leaky.md").retrieve('"token bucket"', syntax=True)


def test_what_the_syntax_changed_is_noted(engine: Engine) -> None:
    """Notes name excluded and required words, and why only excluded ones have no hits; no syntax has no notes."""
    note = "a query must hold a word to look for, not only words to leave out"
    assert engine.retrieve("-bucket", syntax=True) == Ranking((), notes=["leaves out: bucket", note])
    ranking = engine.retrieve('bucket -leaky -"rate limit" title:limits "token bucket"', syntax=True)
    assert ranking.notes[:2] == ('leaves out: leaky, "rate limit"', 'only with: title:limits, "token bucket"')
    assert not engine.retrieve("token-bucket -k 3 bucket", syntax=True).notes[1:]
    assert not engine.retrieve('bucket -leaky "token bucket"').notes


@pytest.mark.parametrize(
    ("word", "nearest"),
    [("bukket", "bucket"), ("leeky", "leaky"), ("refil1", "refill"), ("tokne", "token"), ("limts", "limits")],
)
def test_spelling_is_suggested_from_the_index(engine: Engine, word: str, nearest: str) -> None:
    """For an unknown word, the nearest word is suggested in the spelling of the passages."""
    note = engine.retrieve(word, syntax=True).notes[0]
    assert note == f"no passage holds {word!r}; did you mean {nearest!r}?"


@pytest.mark.parametrize("kind", [Engine, ShardedEngine])
def test_a_word_of_another_language_is_not_called_missing(tmp_path: Path, kind: type[Engine]) -> None:
    """Each passage is read by the rules of its language; a word that one of them holds is known, in any form."""
    with kind.open(tmp_path / "index", create=True, embedder=None) as index:
        index.add(
            [
                Document("The tokens are refilled.", {"language": "en", "source": "en.md"}),
                Document("Die Eimer werden gefüllt.", {"language": "de", "source": "de.md"}),
                Document("يتم إعادة تعبئة الرموز كل ثانية", {"language": "ar", "source": "ar.md"}),
                Document("Kıyıda insanlar yürüyor.", {"language": "tr", "source": "tr.md"}),
            ]
        )
        for word in ("الرموز", "رموز", "Eimer", "Die", "tokens"):
            assert set(index.retrieve(word, syntax=True).notes) <= {HOW_TO_ADD_LANGUAGES}
        for phrase, source in (("Eimer werden", "de.md"), ("تعبئة الرموز", "ar.md"), ("gefüllt", "de.md")):
            hits, others = (index.retrieve(f'token {sign}"{phrase}"', syntax=True) for sign in ("", "-"))
            assert [item.document_id for item in hits] == [source]
            assert source not in {item.document_id for item in others}
        assert index.retrieve("KIYIDQ", syntax=True).notes[0].endswith("did you mean 'kıyıda'?")


def test_words_of_one_stem_are_suggested(hybrid: Engine) -> None:
    """A word that is near another word of the same stem has a suggestion in the spelling of the passages."""
    hybrid.add(map(Document, ("Retrievers, a retriever.", "Hooks see what programs retrieve in time.")))
    for word in ("retrival", "retreival"):
        note, *_ = hybrid.retrieve(word, syntax=True).notes
        assert note.startswith(f"no passage holds {word!r}; did you mean 'retrieve")


def test_no_suggestion_where_nothing_is_near(engine: Engine) -> None:
    """A word near none of the index has no suggestion, documents out of scope suggest none, stop words need none."""
    assert engine.retrieve("xylophone", syntax=True).notes == ("no passage holds 'xylophone'",)
    assert engine.retrieve("how often is a xylophone", syntax=True).notes == ("no passage holds 'xylophone'",)
    view = engine.scoped("source:bucket.md")
    assert view.retrieve("leeky", syntax=True).notes == ("no passage holds 'leeky'",)
    assert set(engine.retrieve("wo ist der bucket", syntax=True).notes) <= {HOW_TO_ADD_LANGUAGES}
    assert engine.retrieve("wo ist der xylophon", syntax=True).notes[0] == "no passage holds 'xylophon'"


@pytest.fixture
def versions(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "versions", create=True) as index:
        texts = {
            **{f"v{i}": f"What is new in version {i} of the bucket." for i in range(1, 10)},
            "sharp": "Buckets in C# are classes.", "plus": "Buckets in C++ are templates.", "mm": "It is 5mm.",
            "acronym": "The U.S. bucket is in gallons.", "jack": "A jack of 3.5mm fits.",
        }  # fmt: skip
        index.add(Document(text, {"source": source}) for source, text in texts.items())
        yield index


@pytest.mark.parametrize(
    ("query", "first"), tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf8"))["versions"]
)
def test_single_letters_and_digits_count_with_their_word(versions: Engine, query: str, first: str) -> None:
    """A word and a digit, acronyms, names of languages and decimal numbers find what holds them first."""
    for legs in (None, ["lexical"]):
        for syntax in (False, True):
            item = versions.retrieve(query, 3, legs=legs, syntax=syntax, explain=True)[0]
            assert item.metadata["source"] == first
            assert item.explanation is not None


def test_a_phrase_with_a_digit_holds_it(versions: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrase of a word and a digit is found in passages with both alone; the word is found in all of them."""
    monkeypatch.setattr(search, "_PIECE", 2)
    for phrase, n in (('"version 7"', 1), ('"new in version 7"', 1), ('"version"', 9), ('"version of"', 9)):
        assert len(versions.retrieve(phrase, 20, syntax=True)) == n
    assert len(versions.retrieve('bucket -"version 7"', 20, legs=["lexical"], syntax=True)) == 11


def test_a_compound_that_no_passage_holds_says_nothing(versions: Engine) -> None:
    """An unknown compound of known words is not noted, and passages share as much with the query as without it."""
    ranking = versions.retrieve("bucket b", 20, syntax=True, min_score=0.9)
    assert not ranking.notes
    assert len(ranking) == len(versions.retrieve("bucket", 20, min_score=0.9))


@pytest.mark.parametrize("query", ["qwxz blorf", "asdf qwer zxcv", "kwmtkrjw tcrcevjtm", "asdfgh qwerty"])
def test_gibberish_finds_nothing(engine: Engine, query: str) -> None:
    """Gibberish finds nothing, with and without a minimum score, for each leg and with a filter."""
    for least in (None, 0, 0.1):
        assert not engine.retrieve(query, min_score=least)
        assert not engine.retrieve(query, min_score=least, filter="source!=leaky.md", syntax=True)
        assert not engine.retrieve(query, legs=["lexical"], min_score=least)
    result = engine.manager.execute_retrieve(query)
    assert result.detail is not None
    assert (result.status, result.detail.code) == ("error", "no_results")


def test_the_default_leaves_out_no_single_passage(engine: Engine) -> None:
    """Where one passage has something in common with the query, the others stay, which a minimum score leaves out."""
    ranking = engine.retrieve("leaky hjkl")
    assert len(ranking) == (3 if engine.embedder else 1)
    assert len(engine.retrieve("leaky hjkl", min_score=0)) == 1
    # A word that the filter leaves out is a word of the index, but not one of another scope.
    if engine.embedder:
        assert engine.retrieve("leaky hjkl", filter="source:refill.md")
        assert not engine.scoped("source:refill.md").retrieve("leaky hjkl")


def test_gibberish_finds_nothing_among_many_passages(hybrid: Engine) -> None:
    """Vectors of gibberish are ignored, however near a passage is; words with the same meaning are still found."""
    subjects = ("acid", "DNA", "x-ray", "RNA", "kJ", "pH", "qubit", "XML", "IPv6", "zinc", "Wyoming", "jazz")
    texts = ["Cats sleep most of the day."]
    texts += [f"{one} and {other} of {number}" for number, one in enumerate(subjects) for other in subjects]
    hybrid.add(Document(text, {"source": str(number)}) for number, text in enumerate(texts))
    vector = hybrid.embedder.embed_query("hjkl fghj")  # type: ignore[union-attr]
    assert hybrid.nearest(vector)[0].score > 0.25  # type: ignore[operator]
    for query in ("hjkl fghj", "asdfgh qwerty", "xcvb rtyu", "wkqpz vbtrx"):
        for least in (None, 0, 0.1):
            assert not hybrid.retrieve(query, min_score=least)
            assert not hybrid.retrieve(query, min_score=least, legs=["dense"])
    for query in ("kittens napping", "felines napping"):
        assert "0#0" in {item.id for item in hybrid.retrieve(query, min_score=0)}
    # A word that is there answers.
    assert [item.text for item in hybrid.retrieve("qubit hjkl", min_score=0)]


def test_words_in_common_count_for_a_search_by_meaning_alone(hybrid: Engine) -> None:
    """A passage with a word of the query has something in common with it, though only its vector is searched."""
    text = "# Limits\n\nTokens are refilled every second."
    hybrid.add([Document(text, {"source": "tokens.md", "title": "Limits", "headings": ["Limits"]})])
    (item,) = hybrid.retrieve("tokens of the orchestra", legs=["dense"], min_score=0)
    assert item.score is not None
    assert item.score < 0.25
    assert hybrid.retrieve("tokens of the orchestra", legs=["dense"])
    assert not hybrid.retrieve("qwxz blorf", legs=["dense"])


def test_the_least_score_compares_queries(engine: Engine) -> None:
    """A passage with all words scores 1, one with one of two words less; values outside the scale are refused."""
    assert "bucket.md#0" in {item.id for item in engine.retrieve("token bucket", min_score=1)}
    assert not engine.retrieve("token xylophone", min_score=0.9)
    assert engine.retrieve("token xylophone", min_score=0.05)
    with pytest.raises(ArgumentError, match=r"min_score must be a number from 0 to 1, or None, got 1\.5"):
        engine.retrieve("token", min_score=1.5)


@pytest.mark.parametrize("query", ["token bucket", "leaky xylophone", "rate limits", '"token bucket" -leaky'])
def test_a_share_is_what_the_least_score_limits(engine: Engine, query: str) -> None:
    """Explained hits say their share of the query: a minimum score leaves out those below it, of any order."""
    hits = engine.retrieve(query, syntax=True, explain=True)
    for least in {hit.extra["share"] for hit in hits} - {0.0}:
        expected = {hit.id for hit in hits if hit.extra["share"] >= least}
        assert {hit.id for hit in engine.retrieve(query, syntax=True, min_score=least)} == expected


def test_a_reranker_orders_anew(engine: Engine) -> None:
    """A reranker gets the best passages after filters and conditions, and orders them before the cut."""
    texts: list[str] = []

    class Reversed:
        def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
            texts.extend(item.id for item in items)
            return list(items)[::-1]

    plain = [item.id for item in engine.retrieve("token bucket", filter="source!=refill.md")]
    (first,) = engine.retrieve("token bucket", k=1, filter="source!=refill.md", rerank=Reversed())
    assert texts == plain
    assert (first.id, first.score) == (plain[-1], None)
    with pytest.raises(ArgumentError, match="rerank must be a Reranker, the name of a model or None, got 3"):
        engine.retrieve("token", rerank=3)  # type: ignore[arg-type]


def test_scores_after_reranking_over_shards(tmp_path: Path) -> None:
    """The scores over shards are those of the reranker, too, and are floats."""
    with ShardedEngine.open(tmp_path / "many", create=True, shards=3, settings={"embedder": ""}) as engine:
        engine.add(DOCUMENTS)
        items = list(engine.retrieve("token bucket", rerank=ByLength()))
    assert [(item.score, type(item.score)) for item in items] == [(len(item.text), float) for item in items]
    assert len(items) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": "high"}, "reranker Bad, item .*: score must be a finite number or None, got 'high'"),
        ({"score": float("nan")}, "score must be a finite number or None, got nan"),
        ({"id": "another"}, "reranker Bad must return some of its items"),
        (None, "reranker Bad must return some of its items, got None"),
    ],
)
def test_a_reranker_that_breaks_its_contract_is_refused(engine: Engine, change: Any, message: str) -> None:
    """Scores that are no finite numbers, and items that were not given, are errors that name the reranker."""

    class Bad:
        def rerank(self, query: str, items: Sequence[RetrievedItem]) -> Any:
            return change and [items[0].model_copy(update=change)]

    with pytest.raises(RetrievalError, match=message):
        engine.retrieve("token", rerank=Bad())


def test_values_of_metadata_are_no_words_of_passages(engine: Engine) -> None:
    """A value that a document has under the key is not called missing; one that none has is, with its key."""
    assert engine.retrieve('author.name:"ann lee" bukket', syntax=True).notes == (
        'only with: author.name:"ann lee"',
        "no passage holds 'bukket'; did you mean 'bucket'?",
        "'bukket' also stands for: bucket",
    )
    assert engine.retrieve("author.name:bob", syntax=True).notes == (
        "only with: author.name:bob",
        "no passage has 'bob' under 'author.name'",
    )
    assert engine.retrieve("token -author.name:bob", syntax=True).notes == ("leaves out: author.name:bob",)


def test_a_text_with_many_signs_is_read_as_plain_words(engine: Engine) -> None:
    """More different conditions than a person types are those of pasted text; spellings are looked for of few words."""
    text = " ".join(f'"token bucket {number}"' for number in range(MOST_SIGNS + 1))
    ranking = engine.retrieve(text, syntax=True)
    assert ranking
    assert any(note.startswith("read as plain words") for note in ranking.notes)
    assert parse_query('"token bucket" ' * 100, ()).conditions == (Condition("token bucket"),)
    text = " ".join(
        f"bukket{first}{second}" for first in "abcdefghijklmnopqrst" for second in "abcdefghijklmnopqrst"
    )
    assert 0 < len(engine.retrieve(text, syntax=True).notes) < 20
