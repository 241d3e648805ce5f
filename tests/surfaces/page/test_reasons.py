"""Why a result is there, in one sentence."""

from __future__ import annotations

from sleuth.surfaces.page.reasons import sentence_of
from sleuth.types import Explanation


def test_the_sentence_has_the_words_of_the_question() -> None:
    """Terms of the index are stems, some of a language of its own; the reader sees the words that were asked for.

    They are not counted, since the index cuts one word into several terms.
    """
    names = ("text:refil", "text@ar:رموز", "title:often", "text:automobil")
    terms = tuple(Explanation(name, 1.0, "", {}, ()) for name in names)
    words = Explanation("lexical", 4.0, "", {"terms": 5, "matched": 4}, terms)
    sentence = sentence_of(words, "How often are cars refilled? الرموز")
    assert sentence == "Refilled, الرموز, automobil in the text, often in the title."
