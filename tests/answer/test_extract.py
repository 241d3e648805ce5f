"""Sentences are chosen as a slow reference implementation chooses them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer.extract import Weights, passage_priors, score_sentences
from sleuth.answer.extractive import ExtractiveSynthesizer
from sleuth.answer.quotes import choose
from sleuth.answer.sentences import split_sentences
from sleuth.answer.words import plain_words
from sleuth.testing.ollama import embed
from sleuth.types import RetrievedItem
from tests.answer.conftest import item

ITEMS = [
    item("a", "Tokens are refilled every second. The colour is blue.", 4.0),
    item("b", "A bucket holds ten tokens. Buckets are refilled slowly, every bucket.", 2.0),
    item("c", "Nothing to see.", 1.0),
]


class Counting:
    """An embedder that counts words."""

    fingerprint = "counting"

    def embed_query(self, text: str) -> list[float]:
        return embed(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed(text) for text in texts]


def test_bm25_is_the_textbook_one() -> None:
    """Without priors and pairs, the scores equal BM25 over the sentences in a slow implementation."""
    question = "how are buckets refilled every second"
    scored = score_sentences(question, ITEMS, weights=Weights(passage=0, pairs=0))
    sentences = [i.text[a:b] for i in ITEMS for a, b in split_sentences(i.text)]
    (terms, *bags) = plain_words([question, *sentences])
    mean = sum(map(len, bags)) / len(bags)
    for sentence in scored:
        (bag,), expected = plain_words([sentence.text]), 0.0
        for term in terms:
            df, tf = sum(term in other for other in bags), bag.count(term)
            idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
            expected += idf * tf / (tf + 1.2 * (0.25 + 0.75 * len(bag) / mean))
        assert sentence.score == pytest.approx(expected)
    assert scored[0].text == "Tokens are refilled every second."


def test_spans_are_true() -> None:
    """The span of a sentence is its place in the passage."""
    for sentence in score_sentences("tokens bucket", ITEMS):
        assert ITEMS[sentence.item].text[sentence.part.start : sentence.part.end] == sentence.text
        assert sentence.matches <= {"tokens", "bucket"} and sentence.matches


def test_rank_and_pairs_count() -> None:
    """Of equal sentences, the one in the better passage wins, and word order of the question wins over other orders."""
    twins = [item("low", "Ice melts.", 1.0), item("high", "Ice melts.", 2.0)]
    assert score_sentences("ice melts", twins)[0].item == 1
    ordered = [item("a", "Sea level rises. Level sea rises.", 1.0)]
    assert [s.text for s in score_sentences("sea level", ordered)] == ["Sea level rises.", "Level sea rises."]


def test_priors_without_scores() -> None:
    """Items without scores, or with equal ones, are weighted by rank."""
    assert passage_priors([item("a", ""), item("b", "")]) == [1.0, 0.5]
    assert passage_priors([item("a", "", 2.0), item("b", "", 2.0)]) == [1.0, 0.5]
    assert passage_priors([item("a", "", 3.0), item("b", "", 2.0), item("c", "", 1.0)]) == [1.0, 0.5, 0.0]
    assert passage_priors([]) == []


def test_an_embedder_adds_meaning() -> None:
    """With an embedder, sentences are also compared by meaning, and unrelated ones are excluded."""
    assert score_sentences("zzz", ITEMS) == []
    sentences = score_sentences(
        "ten bucket tokens", ITEMS, embedder=Counting(), weights=Weights(passage=0, pairs=0)
    )
    assert sentences[0].text == "A bucket holds ten tokens."
    assert score_sentences("anything", [], embedder=Counting()) == []

    class Fixed(Counting):
        """An embedder with two directions: the topic, and everything else."""

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.3, 1.0] if "see" in text else [0.2, 1.0] for text in texts]

    assert [s.text for s in score_sentences("zzz", ITEMS, embedder=Fixed())] == ["Nothing to see."]


def test_code_is_not_a_sentence() -> None:
    """Fenced code is not quoted as a sentence."""
    sentences = score_sentences("ice melts", [item("a", "Ice melts.\n\n```\nice.melts()\n```\n")])
    assert [sentence.text for sentence in sentences] == ["Ice melts."]


def test_prose_among_code_answers_with_its_sentences() -> None:
    """A README in a repository answers with a sentence, not with its heading, which looks like a comment."""
    readme = item("a", "# Web search\n\nWeb search needs a key. It is free.", 1.0)
    about = {**readme.metadata, "source_type": "code", "language": "markdown"}
    (best, *_) = score_sentences("what does web search need", [readme.model_copy(update={"metadata": about})])
    assert best.text == "Web search needs a key."


def definition(name: str, text: str, score: float) -> RetrievedItem:
    """A definition in a file of code."""
    base = item(name, text, score)
    facts = {
        "source_type": "code",
        "language": "python",
        "symbol": name,
        "signature": text.split("\n", maxsplit=1)[0],
    }
    return base.model_copy(update={"metadata": {**base.metadata, **facts}})


def test_a_definition_that_the_question_names_is_first() -> None:
    """A name that the question writes out, whole or by its last steps, leads to its definition."""
    items = [
        definition("shop.Cart", 'class Cart:\n    """What a cart pays, and pays."""', 3.0),
        definition("shop.Cart.pay", 'def pay(self):\n    """Charges a card."""', 2.0),
        definition("pay_all", 'def pay_all():\n    """Charges all."""', 1.0),
    ]
    for question, expected in (
        ("what does Cart.pay do", "def pay(self)"),
        ("what is pay_all for", "def pay_all()"),
    ):
        assert score_sentences(question, items)[0].text.startswith(f"`{expected}`")
    assert score_sentences("what does a cart pay?", items)[0].text.startswith("`class Cart`")


def test_pieces_of_one_definition_are_one_part() -> None:
    """Two pieces of a long function give its signature and its documentation once, at the better piece."""
    whole = definition("pay", 'def pay():\n    """Charges a card."""', 1.0)
    facts = {**whole.metadata, "doc": "Charges a card.\n\nAnd more.", "source": "a.py"}
    items = [
        whole.model_copy(update={"id": id_, "text": text, "metadata": facts})
        for id_, text in (("2", "# Then pay.\ncharge(card)"), ("1", whole.text))
    ]
    assert [(s.item, s.text) for s in score_sentences("what does pay do", items)] == [
        (0, "`def pay()`: Charges a card.")
    ]


def test_definitions_of_one_name_do_not_disagree() -> None:
    """Two functions of one name are two things, even if they differ in a number."""
    items = [
        definition("a.wait", 'def wait():\n    """Waits for 5 seconds."""', 2.0),
        definition("b.wait", 'def wait():\n    """Waits for 9 seconds."""', 1.9),
    ]
    statements = choose(
        "how long does wait wait", score_sentences("how long does wait wait", items), items, 3
    )
    assert statements
    assert not any(statement.differing for statement in statements)


def test_repeats_are_passed_over() -> None:
    """A sentence with the same words as a chosen one is skipped."""
    items = [item("a", "Ice melts in warm water."), item("b", "In warm water ice melts. Ice floats.")]
    statements = choose("", score_sentences("does ice float or melt", items), items, 3)
    assert [one.sentence.text for one in statements] == ["Ice melts in warm water.", "Ice floats."]


def test_parts_far_below_the_best_are_left_out() -> None:
    """Parts that score below 0.7 of the best are not quoted, even if there is room."""
    items = [item("a", "Ice melts in warm water.", 3.0), item("b", "Warm coats are sold here.", 1.0)]
    ranking = score_sentences("does ice melt in warm water", items)
    assert len(ranking) == 2
    assert [one.sentence.text for one in choose("", ranking, items, 3)] == ["Ice melts in warm water."]


def test_parts_with_few_words_of_the_question_are_left_out() -> None:
    """A further part has at least half as many words of the question as the best one, whatever its passage."""
    texts = ("Tokens of a bucket are refilled slowly.", "Tokens cost nothing.")
    items = [item(text[:9], text, 2.0) for text in texts]
    ranking = score_sentences("How slowly are the tokens of a bucket refilled?", items)
    assert [statement.sentence.text for statement in choose("", ranking, items, 3)] == [texts[0]]


def test_headings_count_for_what_is_below_them() -> None:
    """A word of the question in the heading above a part counts for it, as far as the part lacks it."""
    text = "# Permissions\n\nFolders have mode 0700.\n\n# Backup\n\nFolders are copied at night."
    best, other = score_sentences("Which permissions do folders have?", [item("a", text)])
    assert (best.text, other.text) == ("Folders have mode 0700.", "Folders are copied at night.")
    alone = score_sentences(
        "Which permissions do folders have?", [item("a", text.replace("# Permissions", "# Modes"))]
    )
    assert best.score > alone[0].score


def test_sentences_that_refer_to_the_one_before() -> None:
    """The words of a sentence count for the next one if that begins with a pronoun."""
    scores = [
        score_sentences(
            "limits of archives", [item("a", f"Archives have limits. {subject} give 10,000 files.")]
        )
        for subject in ("They", "Mails")
    ]
    assert [sentence.text for sentence in scores[0]] == ["Archives have limits.", "They give 10,000 files."]
    assert len(scores[1]) == 1


def test_scripts_without_spaces() -> None:
    """In scripts without spaces each character counts as a word."""
    assert plain_words(["東京 is Tokyo 2"]) == [["東", "京", "is", "tokyo", "2"]]
    assert score_sentences("東京", [item("a", "東京は大きい。水は冷たい。")])[0].text == "東京は大きい。"


@given(st.lists(st.text("ab .", max_size=30), max_size=5), st.text("ab ", max_size=10))
def test_order_is_total(texts: list[str], question: str) -> None:
    """Results are sorted by score and then by position, equally in every run."""
    items = [item(str(n), text) for n, text in enumerate(texts)]
    sentences = score_sentences(question, items)
    keys = [(-s.score, s.item, s.part.start) for s in sentences]
    assert keys == sorted(keys)
    assert sentences == score_sentences(question, items)


def test_a_page_with_the_same_paragraph_is_a_further_source() -> None:
    """Sentences of a quoted paragraph that another page holds too are no quotes of their own."""
    text = "Ice melts in warm water soon after it fell. In warm water ice makes rings that children like to count."
    items = [item("a", text, 2.0), item("b", text, 1.9), item("c", "Cats sleep.", 0.1)]
    (quote,) = choose("", score_sentences("does ice melt in warm water", items), items, 3)
    assert quote.text == text
    assert {sentence.item for sentence in quote.agreeing} == {1}


def test_each_text_is_read_once() -> None:
    """However many passages are compared, a sentence is cut into terms a few times, not once for each other one."""
    readings = Counter[str]()

    def analyze(texts: Sequence[str]) -> list[list[str]]:
        readings.update(texts)
        return plain_words(texts)

    items = [item(f"page-{n}", f"Bucket {n} of the row holds {n + 2} tokens in part {n}.") for n in range(30)]
    ExtractiveSynthesizer(analyze=analyze).synthesize("How many tokens does a bucket hold?", items)
    assert max(readings[each.text] for each in items) <= 6
