"""Puts the hits of several sources on one scale, from 0 to 1, on which they compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.compose import KEY
from sleuth.engine.relevance import score_texts
from sleuth.text import get_analyzer
from sleuth.types import Explanation, Ranking

if TYPE_CHECKING:
    from sleuth.types import RetrievedItem

FIRST: Final = 10
"""Hits of each source that are read."""
_WEIGHTS: Final = (1.0, 1 / 2, 1 / 3)
"""Of the greatest shares among a hit and those below it."""
_ANALYZER: Final = "code-english"
_STEP: Final = 1e-3
_NAME: Final = 0.35
"""What the query's words in a name count beside the share."""
_LENGTHS: Final = (300, 4_000)
"""Characters from which on a text counts less, and beyond which it counts no less."""
_POWER: Final = 0.1
"""The share is divided by this power of the length: a long text holds more of any query."""
_UNASKED_CODE: Final = 0.85
_UNASKED_TEXT: Final = 0.75
"""What a source counts where the query asks for the other kind (docs/measured/sources.md has the table)."""
_TEXT_BESIDE_NAME: Final = 0.9
"""What text counts where the query has all words of a definition's name."""

_ASKS_FOR_CODE = re.compile(
    r"\w\(\)|\b(?:(?:functions?|class(?:es)?|structs?|methods?|modules?|decorators?)(?![- ]based\b)|dataclass|def"
    r"|implement(?:ed|ation|s)?|defined|source code|code (?:that|which|where|for|of)"
    r"|where (?:is|are|do|does)|how (?:is|are|does))\b",
    re.IGNORECASE,
)
_ASKS_FOR_TEXT = re.compile(
    r"\b(?:how (?:to|do|can|should|could|would|is|are|does)|what (?:is|are|do|does|happens)|why|i|my"
    r"|guide|manual|tutorial|docs|documentation)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W\d][\w.]*")
_WORD = re.compile(r"\w+")
_LOOKS_LIKE_CODE = re.compile(r"[a-z][A-Z]|\w_\w|\w\.\w")
_FORMULA = "(mean of the greatest 3 worths from this hit on, weighing 1, 1/2, 1/3 - .001 * (rank - 1)) * kind"
_FORMULA_BELOW = "score of the last hit that was read * its rank / rank"


def on_one_scale(query: str, rankings: Mapping[str, Ranking]) -> dict[str, Ranking]:
    """Return the rankings of several sources with scores that compare across sources; each source keeps its order.

    Each of the first ten hits of a source is read, and scored in three steps:

    1. share, from 0 to 1: how much of the query its text holds, by `score_texts`, or by the share of the query's words
       where the extra `hybrid` is not installed.
    2. worth, from 0 to 1: the share, reduced for a long text, and raised by the query's words in its name or heading.
    3. score: the mean of the three greatest worths among this hit and those below it, weighing 1, 1/2 and 1/3, minus
       0.001 for each rank above it; then multiplied by `kind`. So a source with several good passages comes before a
       source with one.

    `kind` is below 1 for code if the query does not ask for code, and for text if it asks for code alone or spells the
    name of a definition; otherwise 1.
    Hits after the tenth get the score of the tenth, falling with their rank.

    Args:
        rankings: by source, each with its first ten hits or more. Items have their label as `source_type`.
    """
    heads = {name: ranking[:FIRST] for name, ranking in rankings.items()}
    first = [item for head in heads.values() for item in head]
    worths = iter(_worths(query, first))
    kinds = _kinds(query, list(heads.values()))
    return {
        name: Ranking(
            list(_scaled(ranking, [next(worths) for _ in heads[name]], kinds)), ranking.parts, ranking.notes
        )
        for name, ranking in rankings.items()
    }


def has_words_in_common(query: str, items: Iterable[RetrievedItem]) -> bool:
    """Return whether any text holds a word of a query."""
    analyzer = get_analyzer(_ANALYZER)
    words = set(analyzer.tokens(query))
    return any(not words.isdisjoint(analyzer.tokens(_text_of(item))) for item in items)


class _Worth(NamedTuple):
    """What a hit holds of a query.

    Attributes:
        share: of the query in its text, 0 to 1.
        name: share of the query's words in its name or heading, 0 to 1.
        value: of both together, less for a long text, 0 to 1.
    """

    share: float
    name: float
    value: float


class _Kinds(NamedTuple):
    """What each kind of source counts for one query, above 0, 1 at most."""

    code: float
    text: float


def _kinds(query: str, heads: Sequence[Sequence[RetrievedItem]]) -> _Kinds:
    """Return what code and text count: less where the query asks for the other, by its words or by a name.

    Args:
        heads: the first hits of each source, among them the definitions that the query may name.
    """
    items = [item for head in heads for item in head]
    asks_for_text = _ASKS_FOR_TEXT.search(query)
    if _ASKS_FOR_CODE.search(query) or _names_code(query, items):
        return _Kinds(1.0, 1.0 if asks_for_text else _UNASKED_TEXT)
    if not asks_for_text and _spells_a_name(query, heads):
        return _Kinds(1.0, _TEXT_BESIDE_NAME)
    return _Kinds(_UNASKED_CODE, 1.0)


def _names_code(query: str, items: Sequence[RetrievedItem]) -> bool:
    """Return whether a query has a name that code defines, or an identifier that only code contains."""
    names = {
        str(item.metadata["name"]).lstrip("_") for item in items if "name" in item.metadata and _is_code(item)
    }
    tokens = [query.strip(), *filter(_LOOKS_LIKE_CODE.search, _TOKEN.findall(query))]
    parts = {part for token in tokens for part in token.split(".")}
    if not names.isdisjoint(part.lstrip("_") for part in parts):
        return True
    identifiers = set(filter(_LOOKS_LIKE_CODE.search, parts))
    if not identifiers:
        return False
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for item in items:
        words[_is_code(item)].update(_WORD.findall(_text_of(item)))
    return not identifiers.isdisjoint(words[True] - words[False])


def _spells_a_name(query: str, heads: Iterable[Sequence[RetrievedItem]]) -> bool:
    """Return whether a query has all words of a definition's name, at least two, and more than of any heading.

    Args:
        heads: the first hits of each source; the first name or heading of each counts.
    """
    analyzer = get_analyzer(_ANALYZER)
    words = set(analyzer.tokens(query))
    name = heading = 0
    for item in filter(None, (next(filter(_name_of, head), None) for head in heads)):
        if not _is_code(item):
            heading = max(heading, len(words.intersection(analyzer.tokens(_name_of(item)))))
        elif words.issuperset(parts := analyzer.tokens(_name_of(item).removeprefix("get_"))[1:]):
            name = max(name, len(set(parts)))
    return name > max(1, heading)


def _is_code(item: RetrievedItem) -> bool:
    return item.metadata.get(KEY) == "code"


def _scaled(ranking: Ranking, worths: Sequence[_Worth], kinds: _Kinds) -> Iterator[RetrievedItem]:
    """Yield the items of one source with their scores on the scale, and with the reasons.

    Args:
        worths: of its first items.
    """
    amounts = [worth.value for worth in worths]
    best = (sorted(amounts[place:], reverse=True)[: len(_WEIGHTS)] for place in range(len(amounts)))
    means = (fmean(some, _WEIGHTS[: len(some)]) for some in best)
    values = [max(0.0, mean - _STEP * place) for place, mean in enumerate(accumulate(means, min))]
    for place, item in enumerate(ranking):
        kind = kinds.code if _is_code(item) else kinds.text
        facts: dict[str, float | int | str] = {"rank": place + 1, "kind": kind}
        if place < len(values):
            score, formula = values[place] * kind, _FORMULA
            facts |= worths[place]._asdict()
        else:
            score, formula = values[-1] * kind * len(values) / (place + 1), _FORMULA_BELOW
        below = () if item.explanation is None else (item.explanation,)
        extra = {**item.extra, "explanation": Explanation("scale", score, formula, facts, below)}
        yield item.model_copy(update={"score": score, "extra": extra})


def _worths(query: str, items: Sequence[RetrievedItem]) -> list[_Worth]:
    """Return what each hit holds of a query."""
    analyzer = get_analyzer(_ANALYZER)
    words = set(analyzer.tokens(query))
    texts = [_text_of(item) for item in items]
    worths = []
    for item, text, share in zip(items, texts, _shares(query, texts), strict=True):
        name = len(words.intersection(analyzer.tokens(_name_of(item)))) / (len(words) or 1)
        least, most = _LENGTHS
        brevity = (least / min(max(len(text), least), most)) ** _POWER
        worths.append(_Worth(share, name, min(1.0, share * brevity + _NAME * name)))
    return worths


def _shares(query: str, texts: Sequence[str]) -> list[float]:
    """Return how much of a query each text holds, 0 to 1."""
    from sleuth.dense import has_wordllama

    if has_wordllama():
        return score_texts(query, texts)
    analyzer = get_analyzer(_ANALYZER)
    words = set[str](*analyzer.words_of_each([query]))
    return [len(words.intersection(analyzer.tokens(text))) / (len(words) or 1) for text in texts]


def _text_of(item: RetrievedItem) -> str:
    """Return what an item says: its text, below its title or, of code, its place and name."""
    keys = ("path", "symbol", "doc") if _is_code(item) else ("title", "heading")
    heads = (value for key in keys if isinstance(value := item.metadata.get(key), str))
    return " ".join((*heads, item.text))


def _name_of(item: RetrievedItem) -> str:
    """Return the name of a definition, or the last heading or the title of other text."""
    if _is_code(item):
        return str(item.metadata.get("name") or "")
    return str(item.metadata.get("heading") or item.metadata.get("title") or "").rpartition(" > ")[2]
