"""Suggests words of the index for words of a query that no passage holds."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sleuth.engine.queries import content_spans
from sleuth.text import spellings_near

if TYPE_CHECKING:
    from sleuth.engine.search import Searchers
    from sleuth.store import IndexSnapshot
    from sleuth.text import Analyzer

TWO_EDITS = 6
"""Letters from which on a word may differ in two places."""

_LONGEST = 20
"""Letters of the longest word that is looked at: the number of spellings grows with the square."""

_LIKE = 0.75
"""How alike a suggestion and the word must be, from 0 to 1, as `difflib` measures it."""

_LONG_NAME = 8
"""Letters of a name from which on it may be a typing mistake."""

_NAME_LIKE = 0.9
"""The same as `_LIKE` for a name: at eight letters, one letter more or less."""

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

_word = re.compile(r"\w+")
_note = re.compile(r"no passage holds '(\w+)'; did you mean '(\w+)'\?")
_ASKS_FOR_A_MEASURE = re.compile(
    r"\bhow (?:many|much|often|long|far|old|large|big|high|fast|soon|deep)\b", re.IGNORECASE
)
"""Question words of two words: the second one is not expected in an answer."""


class Misspelling(NamedTuple):
    """A word of a query that no passage holds, and the nearest word of the passages, or ""."""

    word: str
    nearest: str


def suggestions(text: str, searchers: Searchers, snapshot: IndexSnapshot, analyzer: Analyzer) -> list[str]:
    """Say of each word of a query that no passage holds it, with the nearest word of the passages, if one is near."""
    return [_suggestion(*each) for each in misspellings(text, searchers, snapshot, analyzer)]


def _suggestion(word: str, nearest: str) -> str:
    return f"no passage holds {word!r}" + (f"; did you mean {nearest!r}?" if nearest else "")


def misspelling_of(note: str) -> Misspelling | None:
    """Return the word and its nearest word of a note that suggests one; None for other notes."""
    match = _note.search(note)
    return None if match is None else Misspelling(match[1], match[2])


class Correction(NamedTuple):
    """A question with other spellings, and what to say of words that stay as they are and have a near one."""

    question: str
    notes: Sequence[str] = ()


def corrected(text: str, searchers: Searchers, snapshot: IndexSnapshot, analyzer: Analyzer) -> Correction:
    """Return a query with the nearest word of the passages in place of each word that no passage holds.

    If that is more than a third of its words, it is in another language or about something else, and stays as it is.
    The first letter stays, or changes places with the second: few typing mistakes are there, and "redis" is no "jedi".
    A word with a capital is a name, and is corrected only where a long one lacks a letter or has one too many.
    """
    words = misspellings(text, searchers, snapshot, analyzer)
    if 3 * len(words) > len(text.split()):
        return Correction(text)
    near = {
        word: nearest
        for word, nearest in words
        if nearest and nearest[0].casefold() in word[:2].casefold() and _is_slip(word, nearest)
    }
    notes = [_suggestion(*each) for each in words if each.nearest and each.word not in near]
    return Correction(_word.sub(lambda match: near.get(match[0], match[0]), text), notes)


def _is_slip(word: str, nearest: str) -> bool:
    """Return whether a word may be a typing mistake; a name must be long, and nearly as the other word."""
    from difflib import SequenceMatcher

    is_near = SequenceMatcher(None, word.casefold(), nearest.casefold()).ratio() >= _NAME_LIKE
    return word.islower() or (len(word) >= _LONG_NAME and is_near)


def misspellings(
    text: str, searchers: Searchers, snapshot: IndexSnapshot, analyzer: Analyzer
) -> list[Misspelling]:
    """Return the words of a query that no passage holds, each once, in order."""
    words = []
    spans = content_spans(text, analyzer)
    known_tokens = searchers.held([token for *_, token in spans], snapshot)
    asking_ends = {match.end() for match in _ASKS_FOR_A_MEASURE.finditer(text)}
    for start, end, token in spans:
        word = text[start:end]
        if token in known_tokens or end in asking_ends or _is_of_another_language(word, searchers, snapshot):
            continue
        words.append(Misspelling(word, _nearest(word.casefold(), searchers, snapshot, analyzer)))
    return list(dict.fromkeys(words))


def _is_of_another_language(word: str, searchers: Searchers, snapshot: IndexSnapshot) -> bool:
    """Return whether passages whose words are read by the rules of another language hold a word."""
    groups = list(searchers.words.groups())[1:]
    tokens = {token for group in groups for token in searchers.words.analyzer_of(group).tokens(word)}
    if not tokens:
        return False
    rarity = searchers.idf({*tokens, UNKNOWN}, snapshot)
    return any(rarity[token] < rarity[UNKNOWN] for token in tokens)


def _nearest(
    word: str,
    searchers: Searchers,
    snapshot: IndexSnapshot,
    analyzer: Analyzer,
) -> str:
    """Return the most frequent word of the passages that differs in one letter, else in two; "" without one."""
    if not 3 <= len(word) <= _LONGEST:
        return ""
    alphabet = next((letters for letters in _ALPHABETS if set(word) <= set(letters)), "")
    once = set(spellings_near(word, alphabet))
    rounds: list[Iterable[str]] = [once]
    if len(word) >= TWO_EDITS:
        rounds.append({other for near in once for other in spellings_near(near, "")})
    for candidates in rounds:
        # Several words may have one stem: the last one in order stands for it, in every process.
        runs = sorted(candidates)
        tokens_of_each = zip(runs, analyzer.tokens_of_each(runs), strict=True)
        spellings = {token: near for near, tokens in tokens_of_each for token in tokens}
        rarities = searchers.held(spellings, snapshot)
        for token in sorted(rarities, key=lambda token: (rarities[token], token)):
            if spelt := _as_written(token, searchers, snapshot, analyzer, like=spellings[token]):
                return spelt
    return ""


def _as_written(
    token: str,
    searchers: Searchers,
    snapshot: IndexSnapshot,
    analyzer: Analyzer,
    *,
    like: str,
) -> str:
    """Return a term as the best passages spell it, where that resembles a word: terms of the index may be stems."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(like, spellings(token, searchers, snapshot, analyzer), 1, _LIKE)), "")


def spellings(
    token: str, searchers: Searchers, snapshot: IndexSnapshot, analyzer: Analyzer, group: str = ""
) -> set[str]:
    """Return the words of the best passages with a term that are written differently and have this term.

    Args:
        group: of the term, such as those of a language; "" for the words of no language.
    """
    return {
        text[start:end].casefold()
        for row in snapshot.rows(searchers.best_with(token, _PASSAGES, snapshot, group))
        for text in (row.text, str(row.metadata.get("title", "")), *row.fields.values())
        for start, end, other in analyzer.spans(text)
        if other == token
    }
