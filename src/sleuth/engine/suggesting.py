"""Completes what somebody types: with words that passages hold, and with titles and headings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sleuth.engine.completions import Completions
from sleuth.engine.pinned import Pinned
from sleuth.engine.spelling import spellings
from sleuth.engine.synonyms import words_of
from sleuth.text.words import WORD, fold, without_accents

if TYPE_CHECKING:
    from sleuth.engine.view import IndexView

MOST_TITLES: Final = 20_000
"""Titles, and as many headings, among which completions are looked for: those of the most documents."""
LONGEST: Final = 200
"""Characters of a prefix; longer ones have no completion."""
_LONGEST_TITLE: Final = 120
_LEAST_STEM: Final = 3


class Suggestion(NamedTuple):
    """A completion.

    Attributes:
        text: the prefix and what completes it.
        kind: whether the last word is completed, or a title or heading holds what was typed.
    """

    text: str
    kind: Literal["word", "title"]


def suggest(view: IndexView, prefix: str, k: int) -> list[Suggestion]:
    """Return completions of a prefix, the best first; see `Engine.suggest`."""
    prefix = unicodedata.normalize("NFC", prefix)
    words = " ".join(words_of(prefix))
    if not words or not k or len(prefix) > LONGEST:
        return []
    with view.store.reader() as snapshot:
        version = Pinned.of(view.backend, snapshot)
        known = version.searchers.completions
        if known is None:
            selection = version.searchers.select(snapshot, None)
            titles = dict.fromkeys(
                " ".join(facet.value.rpartition(" > ")[2].split())  # a heading without those above it
                for key in ("title", "heading")
                for facet in selection.facets(key, MOST_TITLES)
                if isinstance(facet.value, str)
            )
            named = (title for title in titles if WORD.search(title) and len(title) <= _LONGEST_TITLE)
            known = version.searchers.completions = Completions(named)
        first, further = known.titles_with(words, k)
        completions = list(_words(prefix, k, version, known.spellings))
    half = (k + 1) // 2
    begins, inner, later_titles = (
        [Suggestion(title, "title") for title in titles] for titles in (first[:half], further, first[half:])
    )
    room = max(half, k - len(begins) - len(inner))
    suggestions = [*begins, *completions[:room], *inner, *later_titles]
    first_of_text: dict[str, Suggestion] = {}
    for suggestion in suggestions:
        first_of_text.setdefault(unicodedata.normalize("NFC", suggestion.text).casefold(), suggestion)
    return list(first_of_text.values())[:k]


def _words(
    prefix: str, k: int, version: Pinned, by_term: dict[tuple[str, str], set[str]]
) -> Iterator[Suggestion]:
    """Yield what was typed with its last word completed, by the number of passages that hold the word.

    Args:
        by_term: spellings by group and term, as far as they are known; gets further ones.
    """
    last_word = next(reversed(WORD.findall(prefix)), "")
    if not last_word or not prefix.endswith(last_word):
        return
    searchers, snapshot, typed = version.searchers, version.snapshot, last_word.lower()
    plain = without_accents(fold(last_word))
    counts = chain.from_iterable(
        searchers.like(one, 0, k, snapshot).items() for one in {plain, last_word.casefold()}
    )
    terms = {(group, token): count for group, tokens in counts for token, count in tokens.items()}
    # Terms are stems: one may be shorter than what was typed of the word.
    stems = searchers.held([plain[:end] for end in range(_LEAST_STEM, len(plain))], snapshot)
    main = next(iter(searchers.words.groups()), "")
    terms |= {(main, token): 0 for token in stems}
    words_so_far: set[str] = set()
    for group, token in sorted(terms, key=lambda term: (-terms[term], term))[: 2 * k]:
        if (group, token) not in by_term:
            by_term[group, token] = spellings(token, version, group)
        longer = (
            word
            for word in by_term[group, token]
            if (without_accents(fold(word)) if typed == plain else word).startswith(typed)
            and word != typed
            and " " not in word
        )
        word = min(longer, key=lambda word: (len(word), word), default="")
        if word and word not in words_so_far:
            words_so_far.add(word)
            text = last_word + word[len(typed) :] if word.startswith(typed) else word
            yield Suggestion(prefix.removesuffix(last_word) + text, "word")
