"""The terms of a query are those of its words that the index holds, however often words come."""

from __future__ import annotations

from sleuth.lexical import QueryTerms
from sleuth.text import get_analyzer

ANALYZERS = {
    "text": get_analyzer("english"),
    "text@de": get_analyzer("german"),
    "code": get_analyzer("code"),
}
HELD = {("text", "hous"), ("text@de", "hous"), ("code", "max_size"), ("code", "max"), ("code", "size")}


def test_counts_are_those_of_every_analyzer() -> None:
    """Each field counts the tokens of its own analyzer that some row holds, asked for the first time or again."""
    terms = QueryTerms(ANALYZERS, lambda field, token: (field, token) in HELD)
    query = "Houses, houses: max_size and unknown"
    expected: dict[str, dict[str, float]] = {}
    for field, analyzer in ANALYZERS.items():
        for token in analyzer.tokens(query):
            if (field, token) in HELD:
                times_of = expected.setdefault(field, {})
                times_of[token] = times_of.get(token, 0.0) + 1.0
    assert expected["text"] == {"hous": 2.0}
    assert expected["code"]["max_size"] == 1.0
    assert terms.counts(query) == terms.counts(query) == expected


def test_a_word_is_looked_up_once() -> None:
    """What a word stands for is remembered, up to a bound after which it is forgotten."""
    questions: list[str] = []

    def is_held(field: str, token: str) -> bool:
        questions.append(token)
        return True

    terms = QueryTerms({"text": get_analyzer("english")}, is_held)
    for _ in range(3):
        terms.counts("bucket bucket")
    assert questions == ["bucket"]
    terms.counts(" ".join(f"w{n}" for n in range(3000)))
    terms.counts("bucket")
    assert questions.count("bucket") == 2
