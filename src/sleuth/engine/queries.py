"""The search syntax: phrases in quotes, `-word`, `field:word`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import or_
from typing import TYPE_CHECKING, Literal, NamedTuple

from sleuth.text.detection import language_of_query
from sleuth.text.words import IN_WORD

if TYPE_CHECKING:
    from sleuth.filters.tree import Scalar
    from sleuth.text.analyzers import Analyzer, Span
    from sleuth.types import RetrievedItem

_PART = re.compile(
    r'(?<!\S)(?P<minus>-)?(?:(?P<field>[^\s:"]+):)?(?:"(?P<quoted>[^"]*)"|"*(?P<word>[^\s"]\S*))'
)
"""A word or a phrase, with what may stand before it. A quote that nothing closes is left out."""

MOST_SIGNS = 20
"""Conditions and patterns of a query at most: text with more is pasted; each takes up to .02 s over 4,000 passages."""

_PATTERN = re.compile(rf"(?P<word>\w(?:{IN_WORD}|['’])+|[^\W\0-\u0dff])(?:(?P<star>\*)|~(?P<edits>[12])?)")
"""A word with a sign after it: of two letters or more, save in scripts without spaces."""


class QueryCondition(NamedTuple):
    """What a passage must hold, or must not.

    Attributes:
        text: a word or a phrase.
        field: the metadata key that holds it; "" for the passage itself.
        excluded: whether passages that hold it are left out.
        is_word: whether `text` has words of which a passage must hold one, each in the language of the passage.
    """

    text: str
    field: str = ""
    excluded: bool = False
    is_word: bool = False

    def __str__(self) -> str:
        text = f'"{self.text}"' if " " in self.text else self.text
        return f"{self.field}:{text}" if self.field else text

    def holds_for(self, item: RetrievedItem, analyzer: Analyzer) -> bool:
        """Return whether an item fulfils the condition, by its text, title and metadata."""
        tokens = analyzer.tokens(self.text)
        if self.field:
            value = item.metadata.get(self.field)
            values = value if isinstance(value, list | tuple) else [] if value is None else [value]
            holds = any(values_with(self.text, values, tokens, analyzer))
        else:
            texts = [item.text, *(str(item.metadata.get(key) or "") for key in ("title", "heading"))]
            # What has no word says nothing.
            holds = any(analyzer.hold([texts], tokens)) if tokens else not self.excluded
        return holds is not self.excluded


class WordPattern(NamedTuple):
    """A word of a query that stands for others, too.

    Attributes:
        kind: those that begin with it, or those that differ by a few edits.
        edits: 1 or 2 for "fuzzy".
    """

    word: str
    kind: Literal["prefix", "fuzzy"]
    edits: int = 0


class SearchQuery(NamedTuple):
    """A query that was read.

    Attributes:
        text: the words to rank by.
        conditions: what every passage must fulfil.
        patterns: words of `text` that stand for others, too.
        is_pasted: whether it has too many signs for search syntax, so that all of it is plain words.
        words: those of `text` that passages themselves must hold: no values of metadata.
        is_lookup: whether it asks for values of metadata alone, so that passages without its words answer too.
    """

    text: str
    conditions: tuple[QueryCondition, ...] = ()
    words: str = ""
    is_lookup: bool = False
    patterns: tuple[WordPattern, ...] = ()
    is_pasted: bool = False

    def notes(self) -> list[str]:
        """Say what the syntax made of the query."""
        kinds = {
            "leaves out": [str(condition) for condition in self.conditions if condition.excluded],
            "only with": [str(condition) for condition in self.conditions if not condition.excluded],
        }
        notes = [f"{what}: {', '.join(texts)}" for what, texts in kinds.items() if texts]
        if self.is_pasted:
            notes.append(f"read as plain words: the query has more than {MOST_SIGNS} conditions or patterns")
        return notes


def parse_query(source: str, fields: Container[str]) -> SearchQuery:
    """Read the search syntax.

    Args:
        fields: metadata keys; any other word before a colon is a plain word.

    Text with more than `MOST_SIGNS` different conditions and patterns is read as plain words.
    """
    text: list[str] = []
    words: list[str] = []
    conditions: list[QueryCondition] = []
    patterns: list[WordPattern] = []
    for part in _PART.finditer(source):
        field = part["field"] or ""
        content = part["word"] if part["quoted"] is None else part["quoted"]
        if field and field not in fields:
            field, content = "", f"{field}:{content}"
        if not content.strip():
            continue
        is_plain = part["quoted"] is None and not field
        # A sign before a word is part of it: `-k` and `--limit` are options of commands, -5 a number.
        is_letter = len(content) == 1 and content.isascii()
        is_flag = is_letter or content.startswith("-") or content[0].isdigit()
        excluded = bool(part["minus"]) and not (is_plain and is_flag)
        pattern = _PATTERN.fullmatch(content) if is_plain and not part["minus"] else None
        if pattern is not None:
            edits = 0 if pattern["star"] else int(pattern["edits"] or 1)
            patterns.append(WordPattern(pattern["word"], "fuzzy" if edits else "prefix", edits))
            text.append(pattern["word"])
        elif not excluded:
            text.append(content)
            if not field:
                words.append(content)
        if excluded or not is_plain:
            conditions.append(QueryCondition(content, field, excluded))
    is_lookup = bool(text) and not words and not patterns
    distinct_conditions, distinct_patterns = tuple(dict.fromkeys(conditions)), tuple(dict.fromkeys(patterns))
    if len(distinct_conditions) + len(distinct_patterns) > MOST_SIGNS:
        return SearchQuery(source, words=source, is_pasted=True)
    return SearchQuery(" ".join(text), distinct_conditions, " ".join(words), is_lookup, distinct_patterns)


def all_words(
    text: str, analyzer: Analyzer, alternatives: Mapping[str, Iterable[str]]
) -> tuple[QueryCondition, ...]:
    """Return the condition that a passage holds each word of a text, stop words of its language apart.

    Args:
        alternatives: by word in small letters, others that a passage may hold in its place.
    """
    words = (text[start:end] for start, end, _ in content_spans(text, analyzer))
    phrases = (" ".join((word, *alternatives.get(word.casefold(), ()))) for word in dict.fromkeys(words))
    return tuple(QueryCondition(phrase, is_word=True) for phrase in phrases)


def content_spans(text: str, analyzer: Analyzer) -> list[Span]:
    """Return the words of a text: no stop words of its language, and no compounds, whose parts are words."""
    stops = stops_in(text, analyzer)
    return [
        (start, end, token)
        for start, end, token in analyzer.spans(text)
        if (word := text[start:end]) not in stops and len(word.split()) == 1
    ]


def stops_in(text: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the words of a text that are stop words of its language; none where the analyzer reads no language."""
    return (
        language_of_query(tuple(analyzer.run.findall(text))).stops if analyzer.reads_language else frozenset()
    )


def values_with(
    written: str, values: Sequence[Scalar], tokens: list[str], analyzer: Analyzer
) -> Iterable[bool]:
    """Return which values of metadata are what is written, or hold its tokens in this order."""
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    folded = written.casefold()
    is_same = [text.casefold() == folded for text in texts]
    return map(or_, is_same, analyzer.hold([texts], tokens).tolist()) if tokens else is_same
