"""Crafted segments with valid checksums raise a typed error at worst; kernels touch no byte beyond an array."""

import os
import random
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from sleuth.columns.leg import ColumnsLeg
from sleuth.columns.search import ColumnsSearcher
from sleuth.dense import DenseLeg, lists
from sleuth.dense.search import DenseSearcher
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.errors import IndexDamagedError
from sleuth.filters.text import from_text
from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.store import Rows, SegmentData, SegmentView
from sleuth.store.catalogue import segments
from sleuth.store.legs.leg import Leg, pack
from tests.dense.strategies import HashEmbedder
from tests.faults.crafting import craft, craft_header
from tests.segments import search

CRAFTED = int(os.environ.get("SLEUTH_CRAFTED", "100"))
"""Segments crafted of each leg."""
ROOM = 8 << 30
"""Bytes of addresses that a crafted segment may make this process ask for."""
N = 500


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """Limit the memory of this process, so that a crafted size cannot allocate it all; the sanitizer needs the
    addresses itself.
    """
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        yield
        return
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a file of the kernel
        size = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def rows(first: int, n: int = N, *, gaps: bool = False) -> Rows:
    """Return rows with rare and frequent words, long counts, and metadata of every type."""
    rng = random.Random(first)
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choices(words, [1 / (i + 1) for i in range(400)], k=30)) for _ in range(n)]
    for row, times in ((3, 15), (4, 16), (5, 300), (77, 260)):
        texts[row] += " w0" * times + " w399" * times
    metadata: list[dict[str, Any]] = [
        {
            "year": 1900 + rng.randrange(90),
            "big": rng.randrange(1 << 60),
            "price": rng.random(),
            "kind": rng.choice("abcd"),
            "path": f"folder/{i // 40}/{rng.random()}",
            "tags": rng.sample(["x", "y", 1, 2.5, True], rng.randrange(4)),
            "shared": i // 100,
        }
        for i in range(n)
    ]
    keys = np.cumsum(np.random.default_rng(first).integers(1, 4, n)) if gaps else np.arange(n)
    ranks = np.random.default_rng(first).permutation(n).astype(np.uint32)
    return Rows(
        keys.astype(np.int64) + first,
        ranks,
        {"text": texts, "title": [text[:20] for text in texts]},
        metadata,
    )


@dataclass(frozen=True)
class Subject:
    """A leg, two sound segments of it, and what is done with its segments.

    Attributes:
        use: searches, filters and explains over these segments.
    """

    leg: Leg
    sound: SegmentView
    rows: Rows
    data: SegmentData
    use: Callable[[Sequence[SegmentView], random.Random], object]


def use_words(leg: LexicalLeg, views: Sequence[SegmentView], rng: random.Random) -> None:
    searcher = LexicalSearcher(leg, views)
    for query in ("w0", "w0 w1 w399", "w3 w250 w251 w390", " ".join(f"w{i}" for i in range(60))):
        k = rng.choice([1, 10, 2 * N])
        allowed = [
            pack(np.random.default_rng(1).random(len(view)) < rng.choice([0.01, 0.3])) for view in views
        ]
        search(searcher, query, k)
        search(searcher, query, k, allowed=allowed)
        for key in search(searcher, query, k).keys[:2].tolist():
            searcher.explain(query, key)


def use_vectors(leg: DenseLeg, views: Sequence[SegmentView], rng: random.Random) -> None:
    searcher = DenseSearcher(leg, views)
    keys = np.concatenate([view.keys[::7] for view in views])
    for query in ("w0 w7", "w390"):
        hits = search(searcher, query, rng.choice([1, 10, 2 * N]))
        search(searcher, query, 5, depth=50)
        search(searcher, query, 5, allowed=[pack(np.arange(len(view)) % 5 == 0) for view in views])
        searcher.scores(query, keys)
        searcher.matcher.match(query, keys, list)
        for key in hits.keys[:1].tolist():
            searcher.explain(query, key)


FILTERS = [
    from_text(text)
    for text in (
        "kind:a", "year>1950 year<=1980", "path:folder/3*", "path:*0.1*", "price<0.5", "tags:[x]", "tags:[2.5]",
        "tags:x", "big>1000000", "shared:1,3,4", "tags!=*", "path>=folder/7", "year:1950,1951,1953,1970,1971,1980",
    )
]  # fmt: skip


def use_filters(leg: ColumnsLeg, views: Sequence[SegmentView], rng: random.Random) -> None:
    for filter in FILTERS:
        try:
            ColumnsSearcher(views).bitmap(filter)
        except IndexDamagedError:
            continue


def subject(name: str) -> Subject:
    legs: dict[str, tuple[Leg, Callable[..., None]]] = {
        "lexical": (LexicalLeg({"text": FieldSpec(), "title": FieldSpec("plain", {"title": 2})}), use_words),
        "flat": (LexicalLeg({"text": FieldSpec()}, k1=0.0, b=1.0), use_words),
        "dense": (DenseLeg(HashEmbedder(40)), use_vectors),
        "tokens": (DenseLeg(WordLlamaEmbedder()), use_vectors),
        "lists": (DenseLeg(HashEmbedder(40)), use_vectors),
        "columns": (ColumnsLeg(), use_filters),
    }
    leg, use = legs[name]
    own, other = rows(1, gaps=True), rows(10_000)
    segment_data = leg.build(other)
    live = pack(np.random.default_rng(0).random(N) < 0.8)
    sound = SegmentView("sound", other.keys, other.tie_ranks, live, segment_data.arrays, segment_data.meta)
    return Subject(leg, sound, own, leg.build(own), partial(use, leg))


def attempt(case: Subject, encoded: segments.Encoded, rng: random.Random) -> str:
    """Use a crafted segment; return where it was refused, or "" if it was not."""
    try:
        segment = segments.decode(encoded.name, b"".join(encoded.parts), encoded.checksum)
        segments.validate(segment, case.leg)
    except IndexDamagedError:
        return "opening"
    live = None if rng.random() < 0.5 else pack(np.random.default_rng(2).random(len(segment.keys)) < 0.7)
    # Each array in memory of its own: a sanitizer sees what reaches beyond it.
    arrays = {name: array.copy() for name, array in segment.arrays.items()}
    ranks = None if segment.tie_ranks is None else segment.tie_ranks.copy()
    view = SegmentView(segment.name, segment.keys, ranks, live, arrays, segment.meta)
    refused = ""
    steps: list[Callable[[], object]] = [
        lambda: case.use([view, case.sound], rng),
        lambda: case.leg.merge([view, case.sound]),
    ]
    for step in steps:
        try:
            step()
        except IndexDamagedError as error:
            assert "`sleuth doctor --repair`" in str(error)
            refused = str(error)
    if refused:
        with pytest.raises(IndexDamagedError):
            segments.validate(segment, case.leg, full=True)
            pytest.fail(f"not found by a full validation: {refused}")
    return "use" if refused else ""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["lexical", "flat", "dense", "tokens", "lists", "columns"])
def test_crafted_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any arrays and facts raise a typed error, or are searched and merged within their bounds.

    What a search or a merge refuses, a full validation refuses too, so that `repair` rebuilds it.
    """
    if name == "lists":
        monkeypatch.setattr(lists, "LISTED_FROM", 100)
        monkeypatch.setattr(lists, "ROWS_OF_A_LIST", 20)
        monkeypatch.setattr(lists, "PROBES", 4)
        monkeypatch.setattr(lists, "READ_APART", 0)
        monkeypatch.setattr("sleuth.dense.search.EXACT_BELOW", 0)
    case = subject(name)
    own = case.rows
    encode = partial(segments.encode, case.leg.name, case.leg.fingerprint, 1, 9_999)
    assert attempt(case, encode(own.keys, own.tie_ranks, case.data), random.Random(0)) == ""
    outcomes = []
    for i in range(CRAFTED):
        rng = random.Random(f"{name} {i}")
        if rng.random() < 0.15:
            encoded = craft_header(encode(own.keys, own.tie_ranks, case.data), rng)
        else:
            encoded = encode(own.keys, own.tie_ranks, craft(case.data, rng))
        outcomes.append(attempt(case, encoded, rng))
    assert {"opening", ""} <= set(outcomes)
