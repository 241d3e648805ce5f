"""Adds words to a query: those that begin alike, those a few edits away, and synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from sleuth.engine.pinned import AddedWord, WiderQuery
from sleuth.engine.queries import MOST_SIGNS, WordPattern, content_spans
from sleuth.engine.spelling import TWO_EDITS, UNKNOWN, unknown_words
from sleuth.engine.synonyms import words_of
from sleuth.remote import check_cancelled
from sleuth.text.runs import has_unspaced
from sleuth.text.words import fold, without_accents
from sleuth.vectors import ask_if_able

if TYPE_CHECKING:
    from sleuth.engine.pinned import Pinned
    from sleuth.engine.queries import SearchQuery
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.view import IndexView
    from sleuth.store.legs.searching import Tally

MOST_WORDS: Final = 50
"""Words of each group that one word of a query is widened by: those of the most passages."""
SHARES: Final[Mapping[str, float]] = {"prefix": 0.8, "1 edit": 0.7, "2 edits": 0.4, "synonym": 0.8}
"""What an added word counts, beside the word that it is added for."""
_PARTLY: Final = f"other spellings are looked for of the first {MOST_SIGNS} words"
_SHOWN: Final = 6
_LEAST_FUZZY: Final = 3


def widened(
    query: SearchQuery, request: SearchRequest, view: IndexView, version: Pinned
) -> WiderQuery | None:
    """Return a query with the words that its patterns, typing mistakes and synonyms add; None where they add nothing.

    A word that no passage holds, and that the embedder does not know, is widened by one edit in any case.

    An added word weighs less than the word itself: its share of the least rarity among the word and what is added for
    it. So a passage with an added word in place of the word never has the better score.
    The first `MOST_SIGNS` words of the query may differ by as many edits as the request says.
    """
    searchers, snapshot, analyzer = version.searchers, version.snapshot, version.analyzer
    edits, synonyms = request.fuzzy, view.synonyms if request.synonyms else None
    groups: dict[str, list[AddedWord]] = {}
    notes: list[str] = []
    if edits:
        words = [query.text[start:end] for start, end, _ in content_spans(query.text, analyzer)]
    else:
        words = unknown_words(query.text, version)
        if words:
            embedder = view.backend.embedder
            words = [word for word in words if word.isalpha() and not ask_if_able(embedder, "knows", word)]
    if not (words or query.patterns or synonyms):  # as most queries
        return None
    patterns = {pattern.word.casefold(): pattern for pattern in query.patterns}
    query_words = dict.fromkeys(word.casefold() for word in words)
    patterns |= {word: WordPattern(word, "fuzzy", edits or 1) for word in query_words if word not in patterns}
    notes += [_PARTLY] if edits and len(patterns) > MOST_SIGNS else []
    tokens: dict[str, list[str]] = {}
    for word, pattern in islice(patterns.items(), MOST_SIGNS):
        check_cancelled()
        tokens[word] = analyzer.tokens(word)
        matches = _matching(word, pattern, tokens[word], version)
        own_tokens = {word, *tokens[word]}
        groups[word] = additions = [term for term in matches if term.token not in own_tokens]
        if not matches and pattern in query.patterns and not searchers.held(own_tokens, snapshot):
            what = "begins with" if pattern.kind == "prefix" else "is like"
            notes.append(f"no word of the passages {what} {pattern.word!r}")
    if synonyms is not None:
        for match in synonyms.matches(words_of(query.text)):
            tokens[match.phrase] = analyzer.tokens(match.phrase)
            groups.setdefault(match.phrase, []).extend(_held_synonyms(match.others, version))
    groups = {word: additions for word, additions in groups.items() if additions}
    if not groups:
        return WiderQuery("", None, {}, notes) if notes else None
    for word, additions in groups.items():
        labels = list(dict.fromkeys([addition.label for addition in additions]))
        remainder = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
        notes.append(f"{word!r} also stands for: {', '.join(labels[:_SHOWN])}{remainder}")
    form = searchers.words.widened(query.text, _weights(groups, tokens, version))
    return WiderQuery(searchers.word_leg, form, groups, notes)


def _weights(
    groups: Mapping[str, Sequence[AddedWord]], tokens: Mapping[str, Sequence[str]], version: Pinned
) -> dict[str, dict[str, float]]:
    """Return the weight of each added term, by group: its share of the least rarity of what stands for its word.

    Args:
        tokens: of each word.
    """
    searchers, snapshot = version.searchers, version.snapshot
    held_tokens = searchers.held({token for word in groups for token in tokens[word]}, snapshot)
    added_tokens = [term.token for additions in groups.values() for term in additions]
    rarity = searchers.idf([*held_tokens, *added_tokens], snapshot)
    weights: dict[str, dict[str, float]] = {}
    for word, additions in groups.items():
        rarities = [rarity[term.token] for term in additions]
        rarities += [rarity[token] for token in tokens[word] if token in held_tokens]
        lowest_rarity = min(rarities)
        for group, token, _, share, _ in additions:
            tokens_of_group = weights.setdefault(group, {})
            weight = share * lowest_rarity / rarity[token]
            tokens_of_group[token] = max(weight, tokens_of_group.get(token, 0.0))
    return weights


def _matching(word: str, pattern: WordPattern, tokens: Sequence[str], version: Pinned) -> list[AddedWord]:
    """Return the terms of the index that the pattern of a word matches.

    Args:
        tokens: of the word.
    """
    searchers, snapshot = version.searchers, version.snapshot
    if pattern.kind == "prefix" or (len(word) == 1 and has_unspaced(word)):  # which is indexed in pairs
        prefixes = dict.fromkeys((word, without_accents(fold(word))))
        tallies = [searchers.like(prefix, 0, MOST_WORDS, snapshot) for prefix in prefixes]
        return list(dict.fromkeys(term for tally in tallies for term in _of(tally, "prefix")))
    token = tokens[0] if tokens else word
    if len(token) < _LEAST_FUZZY:
        return []
    one_edit = searchers.like(token, 1, MOST_WORDS, snapshot)
    terms = _of(one_edit, "1 edit")
    if pattern.edits > 1 and len(token) >= TWO_EDITS:
        two_edits = searchers.like(token, 2, MOST_WORDS, snapshot)
        terms += [
            term for term in _of(two_edits, "2 edits") if term.token not in one_edit.get(term.group, {})
        ]
    return terms


def _of(terms: Tally, why: str) -> list[AddedWord]:
    return [
        AddedWord(group, token, why, SHARES[why], token)
        for group, numbers in sorted(terms.items())
        for token in numbers
        if " " not in token
    ]


def _held_synonyms(phrases: Iterable[str], version: Pinned) -> Iterator[AddedWord]:
    """Yield the terms of phrases, each in the groups of every language; those that no passage holds are left out."""
    searchers = version.searchers
    for phrase in phrases:
        for group in searchers.words.groups():
            tokens = searchers.words.analyzer_of(group).tokens(phrase)
            rarity = searchers.idf({*tokens, UNKNOWN}, version.snapshot)
            for token in dict.fromkeys(tokens):
                if rarity[token] < rarity[UNKNOWN]:
                    yield AddedWord(group, token, "synonym", SHARES["synonym"] / len(tokens), phrase)
