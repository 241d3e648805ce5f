"""Completions of what somebody types, over each kind of index and within a scope."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.errors import ArgumentError
from tests.engine.kinds import KINDS, new_index

SECTIONS = (
    f"# {title}\n\n{title}. {'Words about buckets. ' * 40}" for title in ("Token buckets", "Leaky buckets")
)
GERMAN = "Der Eimer und die Eimerkette sind alt und sehr schön."
DOCUMENTS = [
    Document(
        "\n\n".join(SECTIONS),
        {"source": "guide.md", "title": "Rate limits", "type": "markdown", "tenant": "a"},
    ),
    Document("A token bucket is refilled every second.", {"source": "a.md", "tenant": "a"}),
    Document("Buckets hold tokens, and refilling takes time.", {"source": "b.md", "tenant": "a"}),
    Document(
        "The bucketeers keep secrets.",
        {"source": "s.md", "title": "Budget of the secret project", "tenant": "b"},
    ),
    Document(GERMAN, {"source": "de.md", "language": "de", "tenant": "a"}),
]


@pytest.fixture(scope="module", params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index of two tenants."""
    path = tmp_path_factory.mktemp("index") / "i"
    with new_index(request.param, path, settings={"chunk_size": 100}) as engine:
        engine.add(DOCUMENTS)
        yield engine


def texts(engine: Engine, query: str, k: int = 8) -> list[str]:
    """Return completions without their kind."""
    return [each.text for each in engine.suggest(query, k)]


def test_words_are_completed_as_passages_spell_them(engine: Engine) -> None:
    """Terms of the index are stems, in the language of each passage; completions are words, and keep what was typed."""
    assert "bucket" in texts(engine, "buck")
    assert texts(engine, "how is a Tok")[0] == "how is a Token"
    assert texts(engine, "refilli") == ["refilling"]
    assert texts(engine, "eim") == ["eimer", "eimerkette"]
    assert texts(engine, "bucketee") == ["bucketeers"]
    assert texts(engine, "schö") == texts(engine, "scho\u0308") == texts(engine, "scho") == ["schön"]


def test_titles_and_headings_are_completed(engine: Engine) -> None:
    """A title comes where it holds what was typed, those that begin with it first."""
    assert [(each.text, each.kind) for each in engine.suggest("rate lim")] == [("Rate limits", "title")]
    assert texts(engine, "leaky bu")[:2] == ["Leaky buckets", "leaky bucket"]
    assert set(texts(engine, "buckets ")) == {"Token buckets", "Leaky buckets"}


def test_a_word_that_is_a_title_too_stands_at_the_earlier_place(tmp_path: Path) -> None:
    """A text that is a word of passages and a heading is one completion, at the place of the first of both."""
    titles = ["Margay", "Margay climbing", "Margay facts", "Margay food"]
    with Engine.open(tmp_path / "i", create=True, embedder=None) as engine:
        engine.add(Document("A margay climbs.", {"source": title, "title": title}) for title in titles)
        assert texts(engine, "marga") == titles


def test_a_tenant_sees_no_words_and_no_titles_of_another(engine: Engine) -> None:
    """Every beginning of every word and title of the other tenant completes to nothing of theirs."""
    with engine.scoped("tenant:a") as view, engine.scoped("tenant:b") as other:
        for typed in ("b", "bu", "buc", "bucketee", "budget", "sec", "the sec", "k", "p"):
            assert not [text for text in texts(view, typed, 50) if "bucketeer" in text or "ecret" in text]
        assert "bucketeers" in texts(other, "bu")
        assert "bucket" not in texts(other, "bu")


def test_completions_follow_the_index(hybrid: Engine) -> None:
    """A word is completed once a passage with it is committed, and no longer once it is deleted."""
    assert texts(hybrid, "zeb") == []
    hybrid.add([Document("Zebras graze.", {"source": "z.md", "title": "Zebra guide"})])
    assert texts(hybrid, "zeb") == ["Zebra guide", "zebra"]
    hybrid.delete(["z.md"])
    assert texts(hybrid, "zeb") == []


@pytest.mark.parametrize(
    "typed", ["", " ", "?!", "x" * 201, "\n \x00", "(((", "*", "-", "\U0001f600", "a\n b"]
)
def test_whatever_is_typed_is_answered(engine: Engine, typed: str) -> None:
    """Texts without a word, long ones and strange ones complete to few things or nothing."""
    assert len(engine.suggest(typed, 3)) <= 3
    assert engine.suggest(typed, 0) == []


def test_what_is_no_text_is_refused(engine: Engine) -> None:
    with pytest.raises(ArgumentError, match="query must be a string"):
        engine.suggest(3)  # type: ignore[arg-type]
