"""Rows of several languages in one index are analysed, counted and found each in its own."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.lexical import LexicalLeg, blockmax
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.lexical.terms import weigh
from sleuth.store import LegRequest, Rows, SegmentData, SegmentView
from sleuth.store.legs.leg import pack
from tests import segments
from tests.examples import examples
from tests.segments import segment_of, view_of

LEG = LexicalLeg({"text": FieldSpec("english", {"title": 2, "text": 1}, by_language=True)})
TEXTS = [
    ("en", "The houses are running"), ("de", "Die Häuser stehen am Fluss"), ("fr", "Les maisons de l'école"),
    ("", "houses again"), ("de", "Ein Haus für Müller"), ("zz", "an unknown house"),
]  # fmt: skip


def rows_of(texts: list[tuple[str, str]], first: int = 0) -> Rows:
    """Return rows in order of key, with their language as metadata."""
    metadata = [{"language": code} if code else {} for code, _ in texts]
    return segments.rows_of([text for _, text in texts], first, metadata=metadata)


MIXED = [
    ("en", "The harbour of the town is deep"),
    ("fr", "The Cure of England : the group"),
    ("de", "Der Hafen liegt an der Elbe"),
]


@pytest.mark.parametrize(
    ("texts", "query", "keys"),
    [
        *((TEXTS, query, keys) for query, keys in [
            ("house", [0, 3, 5]), ("Hauses", [1, 4]), ("maison", [2]), ("ecole", [2]), ("Mueller", [4]), ("die", []),
        ]),
        *((MIXED, query, keys) for query, keys in [
            ("what is the depth of the harbour", [0]), ("the cure", [1]), ("wo ist der Hafen von Hamburg", [2]),
            ("the", [1]),
        ]),
    ],
)  # fmt: skip
def test_a_query_is_analysed_in_each_language_of_the_index(
    texts: list[tuple[str, str]], query: str, keys: list[int]
) -> None:
    """German stems match German rows, languages without an analyzer are analysed as English, and stop words of English,
    rare in a French field, find no French row beside other words of the query.
    """
    searcher = LexicalSearcher(LEG, [segment_of(LEG, rows_of(texts))])
    assert sorted(searcher.pool(query, LegRequest(10)).keys.tolist()) == keys


def test_merged_segments_score_like_one() -> None:
    """Merging segments of different languages with deleted rows gives the same as building the live rows."""
    parts = [
        segment_of(LEG, rows_of(TEXTS[:1]), "a"),
        segment_of(LEG, rows_of(TEXTS[1:4], 1), "b", [True, False, True]),
        segment_of(LEG, rows_of(TEXTS[4:], 4), "c"),
    ]
    alive = [TEXTS[i] for i in (0, 1, 3, 4, 5)]
    merge_result, build_result = LEG.merge(parts), LEG.build(rows_of(alive))
    assert merge_result.meta == build_result.meta
    assert "text@fr" not in merge_result.meta
    LEG.validate(merge_result, 5, full=True)
    keys = [0, 1, 3, 4, 5]
    for query in ("house", "Haus am Fluss", "maison"):
        searchers = [LexicalSearcher(LEG, parts)] + [
            LexicalSearcher(LEG, [view_of(d, keys)]) for d in (merge_result, build_result)
        ]
        hits = [searcher.pool(query, LegRequest(10)) for searcher in searchers]
        assert len({tuple(hit.keys.tolist()) for hit in hits}) == 1
        assert len({tuple(hit.scores.tolist()) for hit in hits}) == 1


def test_an_index_of_english_has_one_field() -> None:
    """Rows in one language need only one field."""
    data = LEG.build(rows_of([TEXTS[0], TEXTS[3]]))
    assert set(data.meta) == {"n", "text"}


def test_a_field_of_a_language_is_explained_by_its_name() -> None:
    """The terms of an explanation have their language."""
    searcher = LexicalSearcher(LEG, [segment_of(LEG, rows_of(TEXTS))])
    explanation = searcher.explain("Häuser", 1)
    assert [part.name for part in explanation.parts] == ["text@de:haus"]
    hits = searcher.pool("Häuser", LegRequest(9))
    assert explanation.value == pytest.approx(float(hits.scores[hits.keys == 1][0]))


def test_fields_of_languages_are_written_in_order_of_their_names() -> None:
    """The same rows give the same bytes, whatever the hashes of strings are in a process."""
    codes = ["sv", "de", "nl", "fr", "it", "es", "pl", "da"]
    data = LEG.build(rows_of([(code, "word") for code in codes]))
    assert list(data.meta) == ["n", "text", *(f"text@{code}" for code in sorted(codes))]


def test_a_damaged_field_of_a_language_is_refused() -> None:
    """The arrays of a language are validated like those of the field."""
    data = LEG.build(rows_of(TEXTS))
    slots, languages = data.arrays["text@de.slots"], data.arrays["text.languages"]
    for name, array, reason in (
        ("text@de.slots", slots[:1], "field 'text@de': 'slots'"),
        ("text.languages", languages[:2], "'languages' must be uint8"),
        ("text.languages", languages + np.uint8(1), "'languages' must be below 3"),
        ("text.languages", languages[::-1].copy(), "the lengths of rows are not those that were counted"),
    ):
        with pytest.raises(ValueError, match=reason):
            LEG.validate(SegmentData({**data.arrays, name: array}, data.meta), 6)


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.001, 0.01, 0.3]),
    narrow=st.sampled_from([0.0, 0.5, 0.995]),
)
def test_every_path_gives_the_same_bits(seed: int, share: float, narrow: float) -> None:
    """Languages of few rows and of many are ranked among the others as by scoring every row, to the bit."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(["", "de", "fr", "sv"], 3000, p=[1 - 1.2 * share, share, share / 10, share / 10])
    # Rows of other languages are longer, so that some are among the best, and half of them equal one of four.
    texts = [
        " ".join(f"w{x}" for x in rng.integers(0, 40, rng.integers(12) + 12 * bool(code))) for code in codes
    ]
    others = np.flatnonzero(codes)
    for row in others[::2].tolist():
        texts[row] = texts[rng.choice(others[:4])]
    rows = rows_of(list(zip(codes.tolist(), texts, strict=True)))
    segment = 0, rows.keys, rng.permutation(3000).astype(np.uint32)
    searcher = LexicalSearcher(LEG, [segment_of(LEG, rows)])
    mask = pack(rng.random(3000) >= narrow)
    for n_words in rng.integers(1, 20, 12).tolist():
        terms = weigh(searcher._look_up_terms(" ".join(f"w{x}" for x in rng.integers(0, 40, n_words))))
        for k in (1, 3, 10, 40):
            hit_lists = [
                blockmax.search(terms, [segment], k, [mask], path=path)
                for path in ("all", "blocks", "few", "auto")
            ]
            keys, scores = [hits[1].tolist() for hits in hit_lists], [hits[2].tolist() for hits in hit_lists]
            assert keys[1:] == keys[:1] * 3
            assert scores[1:] == scores[:1] * 3


def test_ties_in_a_language_of_few_rows_are_in_order_of_id() -> None:
    """Of equal rows the first by id are returned, whichever is met first."""
    rows = rows_of([("", "houses again")] * 197 + [("de", "ein Haus")] * 3)
    searcher = LexicalSearcher(LEG, [segment_of(LEG, rows)])
    ranks = np.arange(200, dtype=np.uint32)[::-1].copy()
    for k in (1, 2, 3):
        terms = weigh(searcher._look_up_terms("Hauses"))
        _, keys, _, _ = blockmax.search(terms, [(0, rows.keys, ranks)], k, [None])
        assert keys.tolist() == [199, 198, 197][:k]


def test_a_new_version_reads_new_segments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit in a further language opens the fields that its segment holds, and changes no score."""
    reads: list[tuple[str, str]] = []
    postings_of = LexicalLeg.postings_of

    def noted(leg: LexicalLeg, segment: SegmentView, name: str) -> Any:
        reads.append((segment.name, name))
        return postings_of(leg, segment, name)

    monkeypatch.setattr(LexicalLeg, "postings_of", noted)
    parts = [segment_of(LEG, rows_of(TEXTS[:2]), "a")]
    first = LexicalSearcher(LEG, parts)
    parts.append(segment_of(LEG, rows_of(TEXTS[2:], 2), "b"))
    reads.clear()
    second = LexicalSearcher(LEG, parts, previous=first)
    assert reads == [("b", "text"), ("b", "text@de"), ("b", "text@fr")]
    parts[0] = segment_of(LEG, rows_of(TEXTS[:2]), "a", [False, True])
    reads.clear()
    third = LexicalSearcher(LEG, parts, previous=second)
    assert not reads
    assert third.lengths() == LexicalSearcher(LEG, parts).lengths()
    for query in ("house", "Haus", "maison"):
        third_hits, hits = (s.pool(query, LegRequest(10)) for s in (third, LexicalSearcher(LEG, parts)))
        assert third_hits.scores.tolist() == hits.scores.tolist()
