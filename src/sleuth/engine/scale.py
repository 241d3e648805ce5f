"""Puts the hits of several sources on one scale, from 0 to 1, on which they compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, islice
from math import exp, inf, nextafter
from operator import mul
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.compose.labelled import KEY
from sleuth.engine.relevance import score_texts
from sleuth.text.analyzers import get_analyzer
from sleuth.types import Explanation, Ranking

if TYPE_CHECKING:
    from sleuth.types import RetrievedItem

FIRST: Final = 10
"""Hits of each source that are read."""
_WEIGHTS: Final = (1.0, 1 / 2, 1 / 3)
"""Of the greatest shares among a hit and those below it."""
_ANALYZER: Final = "code-english"
_STEP: Final = 1e-3  # keeps the order of a source where its values would tie
_NAME: Final = 0.35
"""What the query's words in a name count beside the share."""
_LENGTHS: Final = (300, 4_000)
"""Characters from which on a text counts less, and beyond which it counts no less."""
_POWER: Final = 0.1
"""The share is divided by this power of the length: a long text holds more of any query."""
LEAST: Final = 0.75
"""The least that a kind of source counts."""
PLACES: Final = 3
"""The first places of all hits, among which each kind of source has one."""
PLAUSIBLE: Final = 0.2
"""Share of the best score from which on the best hit of a kind is plausible: below the least that was seen for a
question about code with hits, .27, without what kinds count (docs/measured/sources.md)."""

_ASKS_FOR_CODE = re.compile(
    r"^(?:(?:the|an?|what|which|find|show|me) +)*{kind}(?:e?s)?\b(?![- ]based\b)"
    r"|\b{kind}(?:e?s)? (?:that|which)\b(?! (?:i|you|we)\b)"
    r"|\bwhere (?:is|are|do|does)(?! i\b)|\b(?:implement(?:ed|ation|s)?|source code|def)\b".format(
        kind="(?:function|(?:data)?class|struct|method|module|decorator|code)"
    ),
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(r"\bhow (?:is|are|does|do(?! (?:i|we)\b))\b", re.IGNORECASE)
_ASKS_FOR_TEXT = re.compile(
    r"\b(?:how (?:to|do (?:i|we)|can|should|could|would)|what (?:is|are|do|does|happens)|why|i(?!/)|my"
    r"|guide|manual|tutorial|docs|documentation)\b",
    re.IGNORECASE,
)
_VERBS: Final = """
abort acquire adjust allocate analyze annotate append assert assign attach bind calculate cast clone coerce
collapse collect combine compare compute construct consume convert copy count decode decorate delegate derive
deserialize destroy detect determine discard dispatch drain emit encode ensure escape evaluate evict expand extract
fill find flatten flush hash indent infer initialize insert intersect invert invoke iterate locate mark mask match merge
negate normalise normalize notify pack pad parse pop populate prepare prepend prune push quote resolve reverse round
scan seek serialise serialize slice sort split strip swap tokenize transform traverse trim truncate unpack unwrap
visit walk wrap yield"""
"""Verbs with which names of functions begin, and which are seldom in headings (docs/concepts/sources.md)."""
_FORMULA = "(mean of the greatest 3 worths from this hit on, weighing 1, 1/2, 1/3 - .001 * (rank - 1)) * kind"
_FORMULA_RAISED = "just above the hit whose place is kept for this kind of source"
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

    `kind` is 1 for the kind of source that the query asks for, by its `Cues`, and from 0.75 to 1 for the other.
    Each kind of source (each `source_type`) has one of the first three places, if its best hit is plausible: if its
    score is at least a fifth of the best score. Where its score is too low for that, it is raised just above that of
    the hit whose place it takes. Of more than three kinds, the three with the best hits have them.
    Hits after the tenth get the score of the tenth, falling with their rank.

    Args:
        rankings: by source, each with its first ten hits or more. Items have their label as `source_type`.
    """
    heads = {name: ranking[:FIRST] for name, ranking in rankings.items() if ranking}
    worths, kinds = _worths(query, heads), _kinds(query, list(heads.values()))
    scores = {}
    for name, head in heads.items():
        amounts, kind = [worth.value for worth in worths[name]], kinds.of(head[0])
        best = (sorted(amounts[place:], reverse=True)[: len(_WEIGHTS)] for place in range(len(amounts)))
        means = accumulate((fmean(top_amounts, _WEIGHTS[: len(top_amounts)]) for top_amounts in best), min)
        scores[name] = [kind * max(0.0, mean - _STEP * place) for place, mean in enumerate(means)]
    raised = _raised(scores, {name: str(head[0].metadata.get(KEY)) for name, head in heads.items()})
    scaled = dict(rankings)
    for name in heads:
        ranking = rankings[name]
        items = _scaled(ranking, worths[name], scores[name], kinds, raised.get(name))
        scaled[name] = Ranking(items, ranking.parts, ranking.notes)
    return scaled


def _worths(query: str, heads: Mapping[str, Sequence[RetrievedItem]]) -> dict[str, list[_Worth]]:
    """Return what each of the first hits holds of a query, by source; all are compared with it at once."""
    tokens = get_analyzer(_ANALYZER).tokens
    words = set(tokens(query))
    first = [item for head in heads.values() for item in head]
    texts = list(map(_text_of, first))
    min_length, max_length = _LENGTHS
    worths = []
    for item, text, share in zip(first, texts, _shares(query, texts), strict=True):
        in_name = len(words.intersection(tokens(_name_of(item)))) / (len(words) or 1)
        brevity = (min_length / min(max(len(text), min_length), max_length)) ** _POWER
        worths.append(_Worth(share, in_name, min(1.0, share * brevity + _NAME * in_name)))
    in_turn = iter(worths)
    return {name: [next(in_turn) for _ in head] for name, head in heads.items()}


def _raised(scores: Mapping[str, Sequence[float]], labels: Mapping[str, str]) -> dict[str, float]:
    """Return the scores with which the best hits of kinds are among the first places, where theirs are too low.

    Args:
        scores: of the first hits of each source, which fall.
        labels: the kind of each source.
    """
    heights = {name: of_source[0] for name, of_source in scores.items()}
    bests: dict[str, str] = {}  # the source with the best hit of each kind, the best first
    for name in sorted(heights, key=lambda name: -heights[name]):
        bests.setdefault(labels[name], name)
    height_limit = PLAUSIBLE * max(heights.values(), default=0.0)
    sources = [name for name in islice(bests.values(), PLACES) if heights[name] >= height_limit > 0]
    raised: dict[str, float] = {}
    for place, source in enumerate(sources, PLACES - len(sources)):
        rivals = [
            raised.get(name, score) if at == 0 else score
            for name, of_source in scores.items()
            if labels[name] != labels[source]
            for at, score in enumerate(of_source)
        ]
        above = sorted(rivals, reverse=True)[place : place + 1]
        if above and heights[source] <= above[0]:
            raised[source] = nextafter(above[0], inf)
    return raised


def _scaled(
    ranking: Ranking, worths: Sequence[_Worth], scores: Sequence[float], kinds: _Kinds, raised: float | None
) -> list[RetrievedItem]:
    """Return the hits of a source with their scores on the scale, explained.

    Args:
        worths, scores: of the first hits.
        raised: the score of the first hit instead, where its place is kept for this kind of source.
    """
    scaled = []
    for place, item in enumerate(ranking):
        facts: dict[str, float | int | str] = {"rank": place + 1, "kind": kinds.of(item)}
        if place < len(scores):
            score, formula = scores[place], _FORMULA
            facts |= worths[place]._asdict()
        else:
            score, formula = scores[-1] * len(scores) / (place + 1), _FORMULA_BELOW
        if place == 0 and raised is not None:
            score, formula = raised, _FORMULA_RAISED
        below = () if item.explanation is None else (item.explanation,)
        explanation = Explanation("scale", score, formula, facts, below)
        extra = {**item.extra, "share": score, "explanation": explanation}
        scaled.append(item.model_copy(update={"score": score, "extra": extra}))
    return scaled


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


class Cues(NamedTuple):
    """What says whether a query asks for code or for text.

    Attributes:
        code: 1 where it begins with "function", "class" or the like, or says "function that", "where is" and the like.
        how: 1 where it says "how is", "how are", "how does" or "how do", but not "how do I".
        text: 1 where it says "how do I", "what is", "why", "guide" and the like.
        verb: 1 where it begins with a verb with which names of functions begin, such as "parse".
        spelled: the greatest share of the words of a definition's name that it has, 0 to 1; 0 for a single word.
    """

    code: float
    how: float
    text: float
    verb: float
    spelled: float


WEIGHTS_OF_CUES: Final = Cues(0.65, 0.32, -0.42, 0.4, 0.34)  # by regression, see below
BIAS: Final = -0.15
"""With the weights: a logistic regression over questions about 21 projects, in which documents and code count the same
(docs/measured/sources.md)."""


class _Kinds(NamedTuple):
    """What each kind of source counts for one query, 0.75 to 1."""

    code: float
    text: float

    def of(self, item: RetrievedItem) -> float:
        """Return what the kind of source of an item counts."""
        return self.code if _is_code(item) else self.text


def _kinds(query: str, heads: Sequence[Sequence[RetrievedItem]]) -> _Kinds:
    """Return what code and text count: less where the query asks for the other and both have hits.

    Args:
        heads: the first hits of each source.
    """
    if len({_is_code(item) for head in heads for item in head[:1]}) < 2:
        return _Kinds(1.0, 1.0)
    lean = BIAS + sum(map(mul, cues(query, heads), WEIGHTS_OF_CUES))
    lesser_weight = max(LEAST, exp(-abs(lean)))
    return _Kinds(1.0, lesser_weight) if lean > 0 else _Kinds(lesser_weight, 1.0)


def cues(query: str, heads: Sequence[Sequence[RetrievedItem]]) -> Cues:
    """Return what a query and the first hits of each source say about what it asks for."""
    tokens = get_analyzer(_ANALYZER).tokens
    query = " ".join(query.split())  # the patterns have single blanks
    terms = tokens(query)
    words = set(terms)
    parts = [set(tokens(_name_of(item))[1:]) - {"get"} for head in heads for item in head if _is_code(item)]
    return Cues(
        code=bool(_ASKS_FOR_CODE.search(query)),
        how=bool(_ASKS_HOW.search(query)),
        text=bool(_ASKS_FOR_TEXT.search(query)),
        verb=not _verbs().isdisjoint(terms[:1]),
        spelled=max((len(words & part) / len(part) for part in parts if len(words & part) > 1), default=0.0),
    )


@cache
def _verbs() -> frozenset[str]:
    return frozenset(get_analyzer(_ANALYZER).tokens(_VERBS))


def _is_code(item: RetrievedItem) -> bool:
    return item.metadata.get(KEY) == "code"


def _shares(query: str, texts: Sequence[str]) -> list[float]:
    """Return how much of a query each text holds, 0 to 1."""
    from sleuth.dense.wordllama import has_wordllama

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
