"""Building, streaming and merging give the same segment."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.lexical import LexicalLeg, merging, postings
from sleuth.lexical.leg import FieldSpec, field_arrays
from sleuth.lexical.search import LexicalSearcher
from sleuth.store import LegRequest, SegmentData, SegmentView
from sleuth.store.disk import scratch
from sleuth.text.tokens import TermTable
from tests.examples import examples
from tests.lexical import oracle
from tests.segments import rows_of, segment_of

LEG = LexicalLeg({"text": FieldSpec("plain"), "name": FieldSpec("code", {"title": 2, "text": 1})})
words = st.one_of(st.sampled_from(["x", "yy", "getName", "naïve", "漢字"]), st.text(max_size=6))
row = st.fixed_dictionaries({"title": words, "text": st.lists(words, max_size=40).map(" ".join)})


def content(data: SegmentData | SegmentView, n: int) -> dict[str, Any]:
    """Return the contents of a segment, independent of its layout."""
    parts: dict[str, Any] = {}
    for name in LEG.fields:
        field = postings.FieldPostings(field_arrays(data.arrays, name))
        parts[name] = {
            field.term(i): list(zip(*(a.tolist() for a in field.postings(i)), strict=True))
            for i in range(len(field))
        }
        assert all(field.find(term) >= 0 for term in parts[name])
        parts[name + " lengths"] = field.arrays["lengths"].tolist()
        assert len(field.arrays["lengths"]) == n
    return parts


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(row, max_size=60), border=st.integers(0, 60), dead=st.sets(st.integers(0, 59)))
def test_merging_is_building_at_once(rows: list[dict[str, str]], border: int, dead: set[int]) -> None:
    """Segments merged without their dead rows equal one build of the live rows."""
    border = min(border, len(rows))
    live = [i not in dead for i in range(len(rows))]
    parts = [
        segment_of(LEG, rows_of(rows[:border]), "a", live[:border]),
        segment_of(LEG, rows_of(rows[border:], border), "b", live[border:]),
    ]
    survivors = [row for row, alive in zip(rows, live, strict=True) if alive]
    merge_result, build_result = LEG.merge(parts), LEG.build(rows_of(survivors))
    assert content(merge_result, len(survivors)) == content(build_result, len(survivors))
    assert merge_result.meta == build_result.meta


def test_a_segment_holds_counts_of_every_size() -> None:
    """Counts beyond a nibble and a byte survive in lists, in dense terms and in a merge."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        counts = {
            "often": int(rng.choice([1, 15, 16, 254, 255, 256, 300])),
            f"rare{i % 150}": int(rng.integers(1, 600)),
        }
        rows.append({"title": "", "text": " ".join(" ".join([word] * n) for word, n in counts.items())})
    expected: dict[str, list[tuple[int, int]]] = {"often": [], **{f"rare{i}": [] for i in range(150)}}
    for i, r in enumerate(rows):
        for word in ("often", f"rare{i % 150}"):
            expected[word].append((i, r["text"].split().count(word)))
    build_result = LEG.build(rows_of(rows))
    views = [
        segment_of(LEG, rows_of(rows[:170])),
        segment_of(LEG, rows_of(rows[170:], 170)),
    ]
    assert len(build_result.arrays["text.dense_terms"]) >= 1
    assert len(build_result.arrays["text.entries"]) > 0
    for data in (build_result, LEG.merge(views)):
        assert content(data, 400)["text"] == expected


def test_batches_do_not_matter() -> None:
    """A builder that gets batches produces the arrays of one build, byte for byte."""
    rows = [{"title": f"t{i}", "text": f"word{i % 7} word{i % 11} common"} for i in range(300)]
    at_once = LEG.build(rows_of(rows))
    builder = LEG.builder()
    for start in range(0, 300, 37):
        builder.add(rows_of(rows[start : start + 37]).texts)
    streamed = builder.finish()
    assert at_once.meta == streamed.meta
    assert at_once.arrays.keys() == streamed.arrays.keys()
    for name, array in at_once.arrays.items():
        np.testing.assert_array_equal(array, streamed.arrays[name])


def test_a_field_that_no_row_has_is_empty() -> None:
    """Rows without a text have length 0 in that field, and searching it works."""
    leg = LexicalLeg({"text": FieldSpec("plain"), "heading": FieldSpec("plain", {"heading": 1})})
    view = segment_of(leg, rows_of(["a b", "b"]))
    assert view.arrays["heading.lengths"].tolist() == [0, 0]
    assert LexicalSearcher(leg, [view]).pool("b", LegRequest(5)).keys.tolist() == [1, 0]


def test_the_fingerprint_names_what_shapes_the_arrays() -> None:
    """Analyzers, sources and parameters change the fingerprint."""
    legs = [
        LexicalLeg(), LexicalLeg(k1=1.5), LexicalLeg(b=0.5), LexicalLeg({"text": FieldSpec("plain")}),
        LexicalLeg({"text": FieldSpec("english", {"title": 2, "text": 1})}),
    ]  # fmt: skip
    assert len({leg.fingerprint for leg in legs}) == len(legs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LexicalLeg(k1=-1),
        lambda: LexicalLeg(b=1.5),
        lambda: LexicalLeg({}),
        lambda: FieldSpec("klingon"),
        lambda: FieldSpec("plain", {}),
        lambda: FieldSpec("plain", {"text": 0}),
        lambda: FieldSpec("plain", {"text": 1.5}),  # type: ignore[dict-item]
    ],
)
def test_settings_that_break_a_rule_are_refused(make: Any) -> None:
    """Invalid settings raise ArgumentError when the leg is created."""
    with pytest.raises(ArgumentError, match="must"):
        make()


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text(st.characters()), max_size=20))
def test_any_text_can_be_indexed(texts: list[str]) -> None:
    """Any text can be indexed, including lone surrogates and NUL, and is found by its own tokens."""
    view = segment_of(LEG, rows_of(texts))
    searcher = LexicalSearcher(LEG, [view])
    for i, text in enumerate(texts):
        if oracle.field_tokens(LEG, {"text": text}, "text"):
            assert i in searcher.pool(text, LegRequest(len(texts))).keys.tolist()


def test_a_merge_in_pieces_is_the_merge_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge in pieces through files gives the same bytes, and leaves nothing on disk."""
    rng = np.random.default_rng(3)
    common = [f"w{i}" for i in range(40)]
    rows = [
        {
            "title": f"row{i}",
            "text": " ".join(rng.choice(common, 60).tolist() + [f"n{i}"] * int(rng.integers(30))),
        }
        for i in range(700)
    ]
    live = (rng.random(700) < 0.8).tolist()
    for alive in (None, live):
        views = [
            segment_of(LEG, rows_of(rows[a:b], a), str(a), alive and alive[a:b])
            for a, b in ((0, 300), (300, 350), (350, 700))
        ]
        whole = LEG.merge(views)
        with monkeypatch.context() as small:
            small.setattr(merging, "WINDOW", 500)
            small.setattr(merging, "TERMS", 64)
            small.setattr(merging, "TERMS_OF_A_TABLE", 100)
            small.setattr(scratch, "ROOM", 1000)
            pieces = LEG.merge(views, scratch.Scratch(tmp_path))
        assert list(tmp_path.iterdir()) == []
        assert pieces.meta == whole.meta
        assert list(pieces.arrays) == list(whole.arrays)
        for name, array in whole.arrays.items():
            assert pieces.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(pieces.arrays[name], array, name)


def test_a_merge_reads_all_terms_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many terms there are, they are read for at most `MOST_TABLES` tables."""
    shares = []

    class CountedTable(TermTable):
        def __init__(self, share: int, _: int) -> None:
            shares.append(share)

    views = [
        segment_of(LEG, rows_of([{"title": "", "text": " ".join(words)}], at), str(at))
        for at, words in enumerate([[f"w{i}" for i in range(500)], [f"w{i}" for i in range(250, 750)]])
    ]
    monkeypatch.setattr("sleuth.text.tokens.TermTable", CountedTable)
    monkeypatch.setattr(merging, "TERMS_OF_A_TABLE", 10)
    merged = LEG.merge(views)
    assert len(field_arrays(merged.arrays, "text")["term_starts"]) == 751
    assert shares.count(merging.MOST_TABLES - 1) == len(LEG.fields)
    assert max(shares) < merging.MOST_TABLES


def test_a_merge_holds_a_part_of_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge needs memory for its dictionary and a window, not for its postings."""
    monkeypatch.setattr(merging, "WINDOW", 1 << 18)
    monkeypatch.setattr(scratch, "ROOM", 1 << 16)
    rng = np.random.default_rng(4)
    text = [" ".join(f"w{i}" for i in rng.integers(0, 20_000, 120)) for _ in range(12_000)]
    views = [
        segment_of(LEG, rows_of([{"title": "", "text": t} for t in text[a:b]], a), str(a))
        for a, b in ((0, 7000), (7000, 12_000))
    ]
    tracemalloc.start()
    try:
        merge_result = LEG.merge(views, scratch.Scratch(tmp_path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(array.nbytes for array in merge_result.arrays.values()) > 6 << 20
    assert peak < 4 << 20
