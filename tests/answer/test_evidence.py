"""Evidence measures how well a quote and its passage fit a question; the grade follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.answer.evidence import (
    NO_EVIDENCE,
    WORDS_AND_MEANING,
    WORDS_ONLY,
    Evidence,
    question_words,
    weigh_evidence,
)
from sleuth.answer.extract import Sentence
from sleuth.answer.extractive import ExtractiveSynthesizer
from sleuth.answer.parts import Part
from sleuth.answer.quotes import Quote
from sleuth.answer.words import plain_words
from sleuth.results import Grade
from sleuth.testing.ollama import embed
from sleuth.types import RetrievedItem
from tests.answer.conftest import item

ITEMS = [
    item("a", "Tokens are refilled every second. The colour is blue.", 2.0, title="Limits"),
    item("b", "A bucket holds ten tokens.", 1.0),
]


def even(terms: Iterable[str]) -> dict[str, float]:
    return dict.fromkeys(terms, 1.0)


def weighed(
    question: str,
    items: Sequence[RetrievedItem],
    rarity: Callable[[Iterable[str]], dict[str, float]] = even,
    embedder: Embedder | None = None,
) -> Evidence:
    """Weigh the whole first passage as a quote."""
    part = Part(0, len(items[0].text), items[0].text, "sentence")
    quote = Quote(Sentence(0, part, 1.0, frozenset(), frozenset(), [part]), part.text)
    return weigh_evidence(question, items, quote, analyze=plain_words, rarity=rarity, embedder=embedder)


def test_shares_of_the_question() -> None:
    """Coverage counts a passage with its title, and the lead over the next three passages."""
    evidence = weighed("limits tokens blue zebra", ITEMS)
    assert (evidence.passage, evidence.meaning) == (0.75, 0.0)
    assert evidence.lead == pytest.approx(0.75 * (1 - 1 / 6))


def test_rare_words_count_more() -> None:
    """A missing word lowers the coverage by its idf."""
    evidence = weighed("tokens zebra", ITEMS, lambda terms: {"tokens": 1.0, "zebra": 3.0})
    assert evidence.passage == 0.25


def test_identifiers_are_words() -> None:
    """Code covers the words of its identifiers and of its path."""
    code = item(
        "c",
        "def refillBucket(max_tokens): ...",
        1.0,
        source_type="code",
        path="src/rate_limit.py",
        symbol="x",
    )
    evidence = weighed("refill bucket tokens limit", [code])
    assert evidence.passage == 1.0


class Embedder:
    """An embedder that places "filled" near "refilled"."""

    fingerprint = "close"

    def embed_query(self, text: str) -> list[float]:
        return embed(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed("refilled" if text == "filled" else text) for text in texts]


def test_near_words_count() -> None:
    """With an embedder, a missing word counts by the similarity of the nearest word in the passage."""
    without = weighed("filled", ITEMS)
    with_words = weighed("filled", ITEMS, embedder=Embedder())
    assert without.passage == 0.0
    assert with_words.passage == pytest.approx(1.0)


def test_forms_of_a_word_count() -> None:
    """Without an embedder, a missing word counts by the nearest word that begins with the same letters."""
    passage = item("a", "The harbour is located in Bergen.")

    def covered(question: str) -> float:
        return weighed(question, [passage]).passage

    assert covered("location") == pytest.approx(2 * 5 / 15)  # "locat" of "location" and "located"
    assert covered("locust") == 0.0  # begins alike, and is another word
    assert covered("hart") == 0.0


class Weighing(Embedder):
    """An embedder that has learnt that "kind" says little."""

    def salience(self, words: list[str]) -> list[float]:
        return [1.0 if word == "kind" else 9.0 for word in words]


def test_words_count_by_what_they_say() -> None:
    """A missing word lowers the coverage by its salience where an embedder has learnt it, whatever its idf."""
    question = "kind tokens"
    evidence = weighed(question, ITEMS, embedder=Weighing())
    other = weighed(question, ITEMS, embedder=Embedder())
    assert evidence.passage >= 0.9
    assert other.passage < 0.8


def test_nouns_of_german_are_no_names() -> None:
    """German writes all nouns with a capital: only words with two capitals and numbers count as names."""
    passage = item("a", "Die Miete beträgt 900 Euro.", 1.0, language="de")

    def names(question: str) -> float:
        return weighed(question, [passage]).names

    assert names("Wie hoch ist die Wohnung?") == 1.0
    assert names("Kostet die DHBW 900 Euro?") == 0.5


def test_names_count_as_they_are_written() -> None:
    """A passage without a name or number of the question holds no evidence for it, however near its words are."""

    def names(question: str) -> float:
        passage = item("a", "Capitals cost Germany 10 more than words.", 1.0)
        return weighed(question, [passage]).names

    assert names("What is the capital of France?") == 0.0
    assert names("Do capitals cost Germany more than France?") == 0.5
    assert names("Why 10 more?") == names("why more?") == names("Capitals cost more?") == 1.0


def test_words_that_a_quote_holds_count() -> None:
    """More words of the question in the quote, its heading and title are more evidence, up to five of them."""

    def held(question: str) -> float:
        return weighed(question, [item("a", "Tokens are refilled every second.", 1.0, title="Limits")]).held

    assert held("tokens") == pytest.approx(0.2)
    assert held("limits tokens zebra") == pytest.approx(0.4)
    assert held("limits of tokens: are they refilled every second") == 1.0


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("When was Fedora released?", "Packages are built before Fedora is released.", 0.0),
        ("When was Fedora released?", "Fedora was released in 2003, after Red Hat Linux.", 1.0),
        ("In which year did the system start?", "It was built in the 1950s.", 1.0),
        ("In which year did the system start?", "It has 1,950 parts and may grow.", 0.0),
        ("When does the log rotate?", "The log rotates before each start.", 1.0),
    ],
)
def test_a_question_for_a_date_needs_one(question: str, text: str, fits: float) -> None:
    """Words such as "before" answer when something happens, and not when it happened."""
    assert weighed(question, [item("a", text)]).fits == fits


def test_an_option_is_of_the_program_that_is_asked_for() -> None:
    """An entry of another page does not fit, if the page of the program is among the passages."""
    entry = item("zip", "--password: Use a password to encrypt the file.", 2.0, title="zip(1)")
    own = item("gzip", "--keep: Keep the input file.", 1.0, title="gzip(1)")
    question = "which gzip option encrypts a file with a password"
    assert weighed(question, [entry, own]).fits == 0.0
    assert weighed(question, [entry]).fits == 1.0
    assert weighed("which option of zip encrypts a file", [entry, own]).fits == 1.0
    assert weighed("which option encrypts a file", [entry, own]).fits == 1.0
    assert weighed("what does the option --password do", [entry, own]).fits == 1.0


def test_nothing_to_weigh() -> None:
    """Without words or passages there is no evidence, and no grader finds anything close."""
    assert weighed("", ITEMS) == NO_EVIDENCE
    assert ExtractiveSynthesizer().assess("tokens", []).evidence == NO_EVIDENCE
    for grader in (WORDS_AND_MEANING, WORDS_ONLY):
        assert grader.grade(NO_EVIDENCE) is Grade.NOTHING_CLOSE
    assert question_words("What is it?", plain_words) == {"what": "what", "is": "is", "it": "it"}


def test_a_quote_must_have_the_form_that_is_asked_for() -> None:
    """A quote without a number, or one that says the contrary, is never a likely answer, however well it fits else."""
    full = Evidence(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, fits=1.0)
    assert WORDS_ONLY.grade(full) is Grade.LIKELY
    assert WORDS_ONLY.grade(replace(full, fits=0.0)) is Grade.MAY_HELP
    for question, text, fits in (
        ("Which port does the server use?", "The server uses port 8321.", 1.0),
        ("Which port does the server use?", "The server uses a free port.", 0.0),
        ("Which option shows only merges?", "--merges: Print only merges.", 1.0),
        ("Which option shows only merges?", "--no-merges: Do not print merges.", 0.0),
        ("How do I turn off colours?", "Use --color to choose colours.", 0.0),
    ):
        assert weighed(question, [item("a", text)]).fits == fits


@pytest.mark.parametrize("embedder", ["wordllama", ""])
def test_an_engine_grades(tmp_path: Path, embedder: str) -> None:
    """A question that documents answer has likely answers; for another one nothing is close but the nearest titles."""
    with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
        engine.add(
            [
                Document(
                    "The bucket is refilled every second. It holds fifty tokens.", {"source": "limits.md"}
                ),
                Document("Keys are rotated every month by the owner of the project.", {"source": "keys.md"}),
                Document("Cats sleep most of the day.", {"source": "cats.md"}),
            ]
        )
        answered = engine.search("How often is the bucket refilled?")
        assert answered.grade is (Grade.LIKELY if embedder else Grade.MAY_HELP)
        assert "The bucket is refilled every second." in answered.response
        for question in ("What is the capital of France?", "Who owns the cats of Paris?"):
            declined = engine.search(question)
            assert declined.grade in (None, Grade.NOTHING_CLOSE)
            assert declined.used_source_ids == []
        assert "- cats.md" in declined.response


MEANT = {
    "doctor cures sick people": "A physician treats patients who are ill.",
    "who looks after the machine": "Servers are maintained by operations; engineers administer each computer.",
    "automobile robbery": "The court convicted the thief of stealing a car.",
    "spacecraft launch": "Rockets carry satellites into orbit.",
    "maker of loaves": "Bread is baked from flour, water and yeast.",
}


@pytest.fixture(scope="module")
def meant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an engine over passages that share no word with the questions which they answer."""
    with Engine.open(tmp_path_factory.mktemp("meant") / "i", create=True) as engine:
        engine.add([Document(text) for text in MEANT.values()])
        yield engine


@pytest.mark.parametrize("question", MEANT)
def test_what_is_found_by_meaning_is_not_denied(meant: Engine, question: str) -> None:
    """A passage that shares only the meaning of a question is found, may help and is quoted."""
    result = meant.search(question)
    assert result.grade is Grade.MAY_HELP
    assert MEANT[question] in result.response.splitlines()[1]


@pytest.mark.parametrize(
    "question", ["price of onions in 1850", "Who won the cup in Peru?", "tall mountains"]
)
def test_nothing_close_is_said_of_what_is_found(meant: Engine, question: str) -> None:
    """Passages that share neither words nor meaning with a question are found, and nothing of them is close."""
    assert meant.retrieve(question)
    result = meant.search(question)
    assert (result.is_ok(), result.grade, result.used_source_ids) == (True, Grade.NOTHING_CLOSE, [])


def test_an_engine_grades_in_other_languages(tmp_path: Path) -> None:
    """A German passage is read with German stems and stop words, also for its grade."""
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add(
            [
                Document(
                    "Die Eimer werden jede Sekunde gefüllt und halten fünfzig Marken.", {"source": "eimer.md"}
                ),
                Document(
                    "Die Schlüssel werden jeden Monat vom Besitzer des Projekts gewechselt.",
                    {"source": "b.md"},
                ),
                Document("Katzen schlafen fast den ganzen Tag und jagen in der Nacht.", {"source": "c.md"}),
            ]
        )
        answer = engine.search("Wie viele Marken hält der Eimer?")
        assert "fünfzig Marken" in answer.response
        assert engine.search("Wer ist der Bürgermeister von Wien?").grade is Grade.NOTHING_CLOSE
