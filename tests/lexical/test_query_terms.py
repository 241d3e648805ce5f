"""The terms of a query are those of its words that the index holds, however often words come."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase, digits
from typing import NamedTuple

import pytest

from sleuth.lexical.query_terms import QueryTerms
from sleuth.text.analyzers import get_analyzer
from sleuth.text.languages import LANGUAGES

ANALYZERS = {"text": get_analyzer("english"), "text@de": get_analyzer("german"), "code": get_analyzer("code")}
HELD = {("text", "hous"), ("text@de", "hous"), ("code", "max_size"), ("code", "max"), ("code", "size")}


class Term(NamedTuple):
    """A term of a field."""

    field: str
    token: str


@dataclass(frozen=True)
class Asked:
    """The index of a field that answers by calling a function."""

    field: str
    holds: Callable[[str], bool]

    def held(self, token: str) -> Term | None:
        return Term(self.field, token) if self.holds(token) else None


def test_counts_are_those_of_every_analyzer() -> None:
    """Each field counts the tokens of its own analyzer that some row holds, asked for the first time or again."""
    tokens_of = {name: {token for field, token in HELD if field == name} for name in ANALYZERS}
    indexes = {name: Asked(name, tokens.__contains__) for name, tokens in tokens_of.items()}
    terms = QueryTerms(ANALYZERS, indexes)
    query = "Houses, houses: max_size, unknown"
    expected = Counter(
        Term(field, token)
        for field, analyzer in ANALYZERS.items()
        for token in analyzer.tokens(query)
        if (field, token) in HELD
    )
    assert expected[Term("text", "hous")] == 2
    assert expected[Term("code", "max_size")] == 1
    assert terms.counts(query) == terms.counts(query) == expected


def holding_all(**analyzers: str) -> QueryTerms[Term]:
    """Return terms over an index whose fields, of these analyzers, hold every token."""
    analyzer_by_field = {field: get_analyzer(name) for field, name in analyzers.items()}
    return QueryTerms(analyzer_by_field, {name: Asked(name, lambda _: True) for name in analyzers})


ENGLISH, PLAIN = {"text": "english"}, {"text": "plain"}
BOTH = {**ENGLISH, "text@de": "german"}


@pytest.mark.parametrize(
    ("analyzers", "query", "expected"),
    [
        (BOTH, "the port", {("text", "port"): 1.0, ("text@de", "port"): 0.5}),
        (BOTH, "wo ist port", {("text", "port"): 0.5, ("text@de", "port"): 1.0}),
        (BOTH, "port", {("text", "port"): 1.0, ("text@de", "port"): 1.0}),
        (ENGLISH, "wie kann die Bank an der Ecke", {("text", token): 1.0 for token in ("kann", "bank", "eck")}),
        (ENGLISH, "die hard", {("text", "die"): 1.0, ("text", "hard"): 1.0}),
        (PLAIN, "wie ist der Weg", {("text", token): 1.0 for token in ("wie", "ist", "der", "weg")}),
    ],
)  # fmt: skip
def test_stop_words_tell_the_language_of_a_query(
    analyzers: dict[str, str], query: str, expected: dict[tuple[str, str], float]
) -> None:
    """Its terms count half in fields of another language, and its stop words in no field, unless every word is kept."""
    assert holding_all(**analyzers).counts(query) == expected


def test_terms_for_searchers_elsewhere_are_those_of_an_index_that_holds_all() -> None:
    """`analyse` counts what `counts` counts where each field holds each token."""
    terms = holding_all(**BOTH)
    for query in ("the port of the bank", "wo ist die Bank die Bank", "version 7 of c++", "port", ""):
        counts = {(name, token): n for name, by in terms.analyse(query).items() for token, n in by.items()}
        assert counts == terms.counts(query)


def test_a_word_is_looked_up_once() -> None:
    """What a word stands for is remembered, up to a bound after which it is forgotten."""
    questions: list[str] = []

    def is_held(token: str) -> bool:
        questions.append(token)
        return True

    terms = QueryTerms({"text": get_analyzer("english")}, {"text": Asked("text", is_held)})
    for _ in range(3):
        terms.counts("bucket bucket")
    assert questions == ["bucket"]
    terms.counts(" ".join(f"w{n}" for n in range(9000)))
    terms.counts("bucket")
    assert questions.count("bucket") == 2


def test_a_stop_word_makes_no_compound() -> None:
    """A stop word of the query's language counts in no field, also before a single letter or digit."""
    terms = QueryTerms(ANALYZERS, {name: Asked(name, lambda _: True) for name in ANALYZERS})
    assert {term.token for term in terms.counts("what is the 7 house") if term.field == "text@de"} == {"hous"}
    tokens = {term.token for term in terms.counts("what is house 7") if term.field == "text"}
    assert tokens == {"hous", "house7"}


def test_words_have_the_tokens_of_every_language() -> None:
    """A word in ASCII has the terms that the analyzer of each language finds in it, stop words and long ones too."""
    names = ENGLISH | {f"text@{code}": language.analyzer for code, language in LANGUAGES.items()}
    terms, analyzers = holding_all(**names), {field: get_analyzer(name) for field, name in names.items()}
    words = [
        "the", "und", "les", "Houses", "gegangen", "manghjava", "cxevaloj", "ne", "Ankaralilar", "42nd", "x1",
        "running", "kuca", "njegov",
    ]  # fmt: skip
    random = Random(1)
    words += [
        "".join(random.choices("aeiostnr" + ascii_lowercase + digits, k=n % 12 + 1)) for n in range(300)
    ]
    for word in [*words, "w" * 100, "w" * 101]:
        expected = Counter(
            (field, token) for field, analyzer in analyzers.items() for token in analyzer.tokens(word)
        )
        assert terms.counts(word) == expected
