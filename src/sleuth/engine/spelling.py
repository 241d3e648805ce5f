"""Suggests words of the index for words of a query that no passage holds."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from sleuth.engine.queries import stops_in
from sleuth.remote import check_cancelled
from sleuth.text.spelling import spellings_near
from sleuth.text.words import WORD, without_accents
from sleuth.vectors import ask_if_able

if TYPE_CHECKING:
    from sleuth.engine.pinned import Pinned
    from sleuth.protocols import Embedder

TWO_EDITS = 6
"""Letters from which on a word may differ in two places."""

_LONGEST = 20
"""Letters of the longest word that is looked at: the number of spellings grows with the square."""

_MOST_WORK = 900
"""Work for all words of a query, as the sum of squares of letters and `_WORK_OF_WORD`: about .3 s of CPU."""

_WORK_OF_WORD = 40
"""Reading passages for how a word is written takes as long as the spellings of six letters."""

_LIKE = 0.7
"""How alike a suggestion and the word must be, from 0 to 1, as `difflib` measures it."""

_FREQUENT = 7.0
"""Rarity up to which a word is frequent: one passage in a thousand holds it."""

_EXAMINED = 8
"""Terms that are two edits away and are looked at: those of the most passages."""

_PASSAGES = 8
"""Passages that are looked at for how a term is written: the best one may hold other words of the same stem."""

_ALPHABETS = (
    string.ascii_lowercase,
    "abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿß",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ",
    "αβγδεζηθικλμνξοπρστυφχψως",
)

UNKNOWN = "\0"
"""A token that no row holds."""

_note = re.compile(r"no passage holds '([^']+)'(?:; did you mean '([^']+)'\?)?")
_ASKS_FOR_A_MEASURE = re.compile(r"(?i)\bhow (many|much|often|long|far|old|large|big|high|fast|soon|deep)\b")
"""Question words of two words: the second one is not expected in an answer."""


class Misspelling(NamedTuple):
    """A word of a query that no passage holds, and the nearest word of the passages, or ""."""

    word: str
    nearest: str


def suggestions(text: str, version: Pinned) -> list[str]:
    """Say of the first words of a query that no passage holds them, with the nearest word of the passages."""
    return [_suggestion(*guess) for guess in misspellings(unknown_words(text, version), version)]


def _suggestion(word: str, nearest: str) -> str:
    return f"no passage holds {word!r}" + (f"; did you mean {nearest!r}?" if nearest else "")


def misspelling_of(note: str) -> Misspelling | None:
    """Return the word that a note says no passage holds, with its nearest word, or ""; None for other notes."""
    match = _note.search(note)
    return None if match is None else Misspelling(match[1], match[2] or "")


class Correction(NamedTuple):
    """A question with other spellings, and what to say of words that stay as they are and have a near one."""

    question: str
    notes: Sequence[str] = ()


def corrected(text: str, version: Pinned, embedder: Embedder | None) -> Correction:
    """Return a query with the nearest word of the passages in place of each word that cannot be right.

    Such a word is held by no passage, the embedder takes it for a typing mistake, and one edit makes it a frequent word
    of the passages. A name may be right, and so may a word that the embedder cannot judge: these get a note.
    If no passage holds more than a third of the words, the query is in another language or about something else, and
    stays as it is. The first letter stays, or changes places with the second: few typing mistakes are there.
    """
    unknown = unknown_words(text, version)
    if 3 * len(unknown) > len(text.split()):
        return Correction(text)
    words = misspellings(unknown, version)

    def is_slip(word: str, nearest: str) -> bool:
        if not (word.islower() and nearest[:1] in word[:2] and nearest in spellings_near(word, nearest)):
            return False
        tokens = version.searchers.held(version.analyzer.tokens(nearest), version.snapshot)
        rarities = version.searchers.idf(tokens, version.snapshot).values()
        return min(rarities, default=inf) <= _FREQUENT and bool(ask_if_able(embedder, "is_mistyped", word))

    slips = {word: nearest for word, nearest in words if nearest and is_slip(word, nearest)}
    notes = [_suggestion(*guess) for guess in words if guess.nearest and guess.word not in slips]
    return Correction(WORD.sub(lambda match: slips.get(match[0], match[0]), text), notes)


def misspellings(words: Iterable[str], version: Pinned) -> list[Misspelling]:
    """Return words that no passage holds with the nearest one of the passages: the first words of a long query."""
    pairs, work = list[Misspelling](), 0
    for word in words:
        check_cancelled()
        work += _WORK_OF_WORD + min(len(word), _LONGEST) ** 2
        if work > _MOST_WORK:
            break
        pairs.append(Misspelling(word, _nearest(word.casefold(), version)))
    return pairs


def unknown_words(text: str, version: Pinned) -> list[str]:
    """Return the words of a query that no passage holds, each once, in order."""
    unheld = version.searchers.unheld(text, version.snapshot)
    if not unheld:  # as of most queries, whose language need not be found then
        return []
    expected = stops_in(text, version.analyzer).union(_ASKS_FOR_A_MEASURE.findall(text))
    return [word for word in dict.fromkeys(unheld) if word not in expected]


def _nearest(word: str, version: Pinned) -> str:
    """Return the most frequent word of the passages that differs in one letter, else in two; "" without one."""
    if not 3 <= len(word) <= _LONGEST:
        return ""
    searchers, snapshot, analyzer = version.searchers, version.snapshot, version.analyzer
    alphabet = next((letters for letters in _ALPHABETS if set(word) <= set(letters)), "")
    # Several words may have one stem: the last one in order stands for it, in every process.
    runs = sorted(set(spellings_near(word, alphabet)))
    tokens_of_each = zip(runs, analyzer.tokens_of_each(runs), strict=True)
    likely = {token: spelling for spelling, tokens in tokens_of_each for token in tokens}
    rarities = searchers.idf(searchers.held(likely, snapshot), snapshot)
    for token in sorted(rarities, key=lambda token: (rarities[token], token)):
        if spelt := _as_written(token, version, like=likely[token]):
            return spelt
    edits, words = 2 if len(word) >= TWO_EDITS else 1, searchers.words
    like = cache(lambda stem: searchers.like(stem, edits, _EXAMINED, snapshot))
    for group in words.groups():
        for stem in words.analyzer_of(group).tokens(word):
            for token in like(stem).get(group, {}):
                if spelt := _as_written(token, version, like=word, group=group):
                    return spelt
    return ""


def _as_written(token: str, version: Pinned, *, like: str, group: str = "") -> str:
    """Return a term as the best passages spell it, where that resembles a word: terms of the index may be stems."""
    from difflib import get_close_matches

    words = sorted(spellings(token, version, group))
    for form in (str, without_accents):  # as it is written, else as keyboards without accents write it
        written = {form(word): word for word in words}
        if near := get_close_matches(form(like), written, 1, _LIKE):
            return written[near[0]]
    return ""


def spellings(token: str, version: Pinned, group: str = "") -> set[str]:
    """Return the words of the best passages with a term that are written differently and have this term.

    Args:
        group: of the term, such as those of a language; "" for the words of no language.
    """
    searchers, snapshot = version.searchers, version.snapshot
    analyzer = searchers.words.analyzer_of(group) if group else version.analyzer
    return {
        unicodedata.normalize("NFC", text[start:end]).lower()  # not folded: "straße", and "οδός" to its end
        for row in snapshot.rows(searchers.best_with(token, _PASSAGES, snapshot, group))
        for text in (row.text, str(row.metadata.get("title", "")), *row.fields.values())
        for start, end, span_token in analyzer.spans(text)
        if span_token == token
    }
