"""Rows of several languages in one index are analysed, counted and found each in its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sleuth.lexical import FieldSpec, LexicalLeg, LexicalSearcher
from sleuth.store import Rows, SegmentData, SegmentView, pack

LEG = LexicalLeg({"text": FieldSpec("english", {"title": 2, "text": 1}, by_language=True)})
TEXTS = [
    ("en", "The houses are running"),
    ("de", "Die Häuser stehen am Fluss"),
    ("fr", "Les maisons de l'école"),
    ("", "houses again"),
    ("de", "Ein Haus für Müller"),
    ("zz", "an unknown house"),
]


def rows_of(texts: list[tuple[str, str]], first: int = 0) -> Rows:
    """Return rows in order of key, with their language as metadata."""
    keys = np.arange(first, first + len(texts), dtype=np.int64)
    columns = {"text": [text for _, text in texts], "title": [""] * len(texts)}
    return Rows(keys, None, columns, [{"language": code} if code else {} for code, _ in texts])


def view_of(data: SegmentData, keys: Any, name: str = "s", live: Any = None) -> SegmentView:
    """Return a segment as a version presents it."""
    return SegmentView(name, np.asarray(keys, np.int64), None, live, data.arrays, data.meta)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("house", [0, 3, 5]),
        ("Hauses", [1, 4]),
        ("maison", [2]),
        ("ecole", [2]),
        ("Mueller", [4]),
        ("die", []),
    ],
)
def test_a_query_is_analysed_in_each_language_of_the_index(query: str, keys: list[int]) -> None:
    """German stems match German rows; languages without an analyzer are analysed as English."""
    searcher = LexicalSearcher(LEG, [view_of(LEG.build(rows_of(TEXTS)), range(6))])
    assert sorted(searcher.search(query).keys.tolist()) == keys


def test_merged_segments_score_like_one() -> None:
    """Merging segments of different languages with deleted rows gives the same as building the live rows."""
    parts = [
        view_of(LEG.build(rows_of(TEXTS[:1])), [0], "a"),
        view_of(LEG.build(rows_of(TEXTS[1:4], 1)), [1, 2, 3], "b", pack(np.array([True, False, True]))),
        view_of(LEG.build(rows_of(TEXTS[4:], 4)), [4, 5], "c"),
    ]
    alive = [TEXTS[i] for i in (0, 1, 3, 4, 5)]
    merged, built = LEG.merge(parts), LEG.build(rows_of(alive))
    assert merged.meta == built.meta
    assert "text@fr" not in merged.meta
    LEG.validate(merged, 5, full=True)
    keys = [0, 1, 3, 4, 5]
    for query in ("house", "Haus am Fluss", "maison"):
        searchers = [LexicalSearcher(LEG, parts)] + [
            LexicalSearcher(LEG, [view_of(d, keys)]) for d in (merged, built)
        ]
        hits = [searcher.search(query) for searcher in searchers]
        assert len({tuple(hit.keys.tolist()) for hit in hits}) == 1
        assert len({tuple(hit.scores.tolist()) for hit in hits}) == 1


def test_an_index_of_english_has_one_field() -> None:
    """Rows in one language need only one field."""
    data = LEG.build(rows_of([TEXTS[0], TEXTS[3]]))
    assert set(data.meta) == {"n", "text"}


def test_a_field_of_a_language_is_explained_by_its_name() -> None:
    """The terms of an explanation have their language."""
    searcher = LexicalSearcher(LEG, [view_of(LEG.build(rows_of(TEXTS)), range(6))])
    explanation = searcher.explain("Häuser", 1)
    assert [part.name for part in explanation.parts] == ["text@de:haus"]
    assert explanation.value == pytest.approx(float(searcher.scores("Häuser", np.array([1]))[0]))


def test_a_damaged_field_of_a_language_is_refused() -> None:
    """The arrays of a language are validated like those of the field."""
    data = LEG.build(rows_of(TEXTS))
    arrays = {**data.arrays, "text@de.lengths": data.arrays["text@de.lengths"][:2]}
    with pytest.raises(ValueError, match="text@de"):
        LEG.validate(SegmentData(arrays, data.meta), 6)
