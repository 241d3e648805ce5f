"""Estimates what the legs of models are worth in an index, without judgements, and keeps the estimates in the index.

A known item is a passage that is searched for by a sentence that was taken out of it. Where a model finds passages as
well as words do, it weighs as much in the default fusion as a good model should; where it finds nothing, it weighs 0.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sleuth.errors import EmbeddingError, StoreError
from sleuth.logs import logger_of
from sleuth.store import LegRequest, LegSearcher, RankingLeg, Rows, SegmentView, unpack

if TYPE_CHECKING:
    from sleuth.engine.backend import Backend
    from sleuth.store import IndexSnapshot

logger = logger_of("engine")

PASSAGES: Final = 1_000
"""Passages among which known items are searched for."""
ITEMS: Final = 60
FEWEST: Final = 20
"""Known items below which nothing is estimated."""
LEAST: Final = 0.2
"""Mean reciprocal rank of words below which known items of prose cannot raise a weight, as with passages of one
sentence or with many copies."""
GREATEST: Final = 2.0
"""The greatest weight."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_SYMBOLS = re.compile(r"[(){}\[\]<>=;]")
_SYMBOL_SHARE = 0.04
"""Of the visible characters of a text, above which it is code: 56 to 99 % of the passages of four collections of code,
18 to 37 % of those of five manuals of programs, with their examples, and none of other prose."""
_POOL = 200


@dataclass(frozen=True, slots=True)
class Material:
    """How known items are made of a kind of passages, and what they tell.

    Attributes:
        ratios, weights: the weight by the mean reciprocal rank of meaning, divided by that of words; linear between
            these points. Chosen over collections and embedders, left out in turn (docs/measured/neural.md).
        word: of a text that has not several sentences.
        fewest: words of such a text.
        spans: the least and the greatest number of words in a row that are taken out of it.
    """

    ratios: tuple[float, ...]
    weights: tuple[float, ...]
    word: re.Pattern[str]
    fewest: int
    spans: tuple[int, int]


PROSE: Final = Material((0.1, 0.8, 1.05), (0.0, 0.4, GREATEST), re.compile(r"\S+"), 16, (4, 8))
CODE: Final = Material((0.1, 0.8), (0.0, GREATEST), re.compile(r"\w+"), 9, (3, 6))
"""Questions share few words with code, and parts of code share many: meaning is worth more than known items show."""


@dataclass(frozen=True, slots=True)
class WeightEstimate:
    """What a leg of an index is worth.

    Attributes:
        model: that made its rows.
        weight: of the leg in the default fusion, if it finds other passages than the other legs do.
        words, meaning: mean reciprocal rank of the known items, by words and by the leg.
        items: number of known items.
    """

    model: str
    weight: float
    words: float
    meaning: float
    items: int


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A row and a sentence that was taken out of it."""

    row: int
    query: str
    rest: str


def apply_estimates(backend: Backend) -> None:
    """Give the legs of an index the weights that were estimated for their models, where there are estimates."""
    legs = _unweighed(backend)
    if not legs:
        return
    with backend.store.reader() as snapshot:
        notes = snapshot.notes()
    for leg in legs:
        try:
            estimate = WeightEstimate(**json.loads(notes.get(_note_of(leg), "")))
            weight = min(max(float(estimate.weight), 0.0), GREATEST)
        except (ValueError, TypeError):  # there is no estimate, or it was not written here
            continue
        if estimate.model == leg.model:
            sharers = sum(isinstance(each, RankingLeg) for each in backend.legs) if leg.overlaps else 1
            leg.weight, leg.is_weighed = round(weight / sharers, 2), True


def estimate_weights(backend: Backend, *, timeout: float) -> None:
    """Estimate the weights of legs that have rows and no estimate yet, and keep them in the index.

    Args:
        timeout: seconds to wait for another writer.
    """
    words = next((each for each in backend.legs if isinstance(each, RankingLeg) and each.is_certain), None)
    for leg in _unweighed(backend):
        if leg.missing or words is None:
            continue
        try:
            with backend.store.reader() as snapshot:
                rows = sample(snapshot, leg.name)
            estimate = estimate_over(rows, words, leg)
            if estimate is not None:
                with backend.store.writer(timeout=timeout) as writer:
                    writer.note(_note_of(leg), json.dumps(asdict(estimate)))
        except (EmbeddingError, StoreError) as error:
            logger.warning("The weight of the leg %s was not estimated: %s", leg.name, error)
    apply_estimates(backend)


def estimate_over(rows: Rows, words: RankingLeg[Any], leg: RankingLeg[Any]) -> WeightEstimate | None:
    """Return what a leg is worth among these rows; None where there are too few known items."""
    material = material_of(rows.texts["text"]) if len(rows) else PROSE
    items = known_items(rows.texts["text"], material) if len(rows) else []
    if len(items) < FEWEST:
        return None
    texts = list(rows.texts["text"])
    for item in items:
        texts[item.row] = item.rest
    rows = replace(rows, texts={**rows.texts, "text": texts})
    by_words, by_meaning = (_found(each, rows, items) for each in (words, leg.apart()))
    if not by_words:
        return None
    weight = round(float(np.interp(by_meaning / by_words, material.ratios, material.weights)), 2)
    if by_words < LEAST and material is PROSE:
        weight = min(weight, type(leg).weight)
    return WeightEstimate(leg.model, weight, by_words, by_meaning, len(items))


def material_of(texts: Sequence[str]) -> Material:
    """Return what most of some texts are."""
    code = sum(len(_SYMBOLS.findall(text)) > _SYMBOL_SHARE * len("".join(text.split())) for text in texts)
    return CODE if 2 * code > len(texts) else PROSE


def known_items(texts: Sequence[str], material: Material = PROSE) -> list[KnownItem]:
    """Return known items of some texts, always the same ones.

    What is taken out is a sentence of 5 to 40 words, or some words in a row of a text without several sentences.
    """
    chance = random.Random(5)  # noqa: S311 - the same items each time
    items: list[KnownItem] = []
    for row in chance.sample(range(len(texts)), len(texts)):
        text = texts[row]
        sentences = [some for some in _SENTENCES.split(text) if len(some.split()) >= 5]
        short = [some for some in sentences if len(some.split()) <= 40]
        if len(sentences) > 1 and short:
            start = text.index(sentence := chance.choice(short))
            end = start + len(sentence)
        else:
            words = list(material.word.finditer(text))
            least, most = material.spans
            first = chance.randint(0, max(0, len(words) - most))
            if len(words) < material.fewest:
                continue
            start, end = words[first].start(), words[first + chance.randint(least, most) - 1].end()
        rest = f"{text[:start]} {text[end:]}"
        if len(material.word.findall(rest)) > 5:
            items.append(KnownItem(row, text[start:end], rest))
        if len(items) == ITEMS:
            break
    return items


def sample(snapshot: IndexSnapshot, leg: str) -> Rows:
    """Return rows of an index that a leg covers, as if they were all: every row of a small index."""
    keys: list[int] = []
    for view in snapshot.segments(leg):
        keys += (view.keys if view.live is None else view.keys[unpack(view.live, len(view))]).tolist()
    chance = random.Random(3)  # noqa: S311 - the same rows each time
    rows = snapshot.rows(sorted(chance.sample(sorted(keys), min(len(keys), PASSAGES))))
    fields = [{"text": row.text, "title": str(row.metadata.get("title") or ""), **row.fields} for row in rows]
    names = dict.fromkeys(name for texts in fields for name, text in texts.items() if text)
    columns = {name: [texts.get(name, "") for texts in fields] for name in names}
    return Rows(np.arange(1, len(rows) + 1), None, columns, [row.metadata for row in rows])


def _found(leg: RankingLeg[Any], rows: Rows, items: Sequence[KnownItem]) -> float:
    """Return the mean reciprocal rank of known items among these rows, by one leg."""
    data = leg.build(rows)
    view = SegmentView("sample", rows.keys, None, None, data.arrays, data.meta)
    searcher: LegSearcher[Any] = leg.searcher([view])
    ranks = []
    for item in items:
        hits = searcher.pool(searcher.ask(item.query), LegRequest(_POOL, exact=True))
        places = np.flatnonzero(hits.keys == rows.keys[item.row])
        ranks.append(1 / (1 + int(places[0])) if len(places) else 0.0)
    return float(np.mean(ranks))


def _unweighed(backend: Backend) -> list[RankingLeg[Any]]:
    """Return the legs of an index whose weights do not fit their models yet."""
    return [leg for leg in backend.legs if isinstance(leg, RankingLeg) and not leg.is_weighed]


def _note_of(leg: RankingLeg[Any]) -> str:
    """Return the name of the estimate of a leg among the notes of an index."""
    return f"weight of {leg.name}"
