"""Hits are whole definitions, in an order that says which file and which definition of it answers."""

from collections import Counter

import pytest

from benchmarks.code_lines import Span, accuracies, gold_lines, recalls
from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.search.retriever import SnapshotRetriever
from sleuth.engine.codebase import default_embedder
from sleuth.errors import ArgumentError
from tests.code.conftest import Git, hits_by_words, opened

LONG = (
    "def settle(orders):\n"
    + "".join(f"    total_{i} = orders[{i}]\n" for i in range(300))
    + "    return pay(orders)\n"
)
CLASS = 'class TokenBucket:\n    """Limits how often something happens."""\n\n' + "".join(
    f"    def take_{i}(self, n):\n        self.tokens -= n\n        return {i}\n\n" for i in range(12)
)
FILES = {
    "limits/bucket.py": CLASS,
    "shop/settle.py": LONG,
    "limits/other.py": CLASS.replace("Token", "Leaky"),
}


@pytest.fixture
def repository(storage: CodeStorage, git: Git) -> str:
    git.commit(dict(FILES))
    return index_path(storage, git.root).repository


@pytest.mark.parametrize("query", ["pay the orders", "settle", "shop/settle.py:120", "total_250"])
def test_a_long_definition_is_one_hit(storage: CodeStorage, repository: str, query: str) -> None:
    """A function that was cut into chunks is a hit as a whole, whichever part answers, at every door."""
    hits = hits_by_words(storage, repository, query)
    own = [hit for hit in hits if hit.file_path == "shop/settle.py"]
    assert [(hit.symbol, hit.start_line, hit.end_line, hit.parent_context) for hit in own] == [
        ("settle", 1, 302, None)
    ]
    item = next(
        i for i in SnapshotRetriever(storage, repository).retrieve(query) if i.metadata["name"] == "settle"
    )
    assert item.text == own[0].content == LONG.rstrip("\n")
    assert (item.metadata["start_line"], item.metadata["end_line"]) == (1, 302)
    assert SnapshotRetriever(storage, repository).retrieve(query, filter="end_line>=302")[0].id == item.id


def test_a_class_is_found_at_its_own_line(storage: CodeStorage, repository: str) -> None:
    """The sentence of its docstring finds a class, not one of its methods."""
    hit = hits_by_words(storage, repository, "how often something happens")[0]
    assert (hit.symbol.endswith("Bucket"), hit.start_line) == (True, 1)


def test_the_second_hit_of_a_file_counts_six_tenths(storage: CodeStorage, repository: str) -> None:
    """The n-th hit of a file counts the score of the file / n ** .7."""
    counts = Counter[str]()
    weights = []
    for hit in hits_by_words(storage, repository, "take tokens", limit=100):
        assert hit.explanation is not None
        counts[hit.file_path] += 1
        weights.append(hit.explanation.parts[0].value / counts[hit.file_path] ** 0.7)
    assert max(counts.values()) > 1
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("strategy", ["keyword", "hybrid"])
def test_the_first_hits_do_not_depend_on_the_limit(
    storage: CodeStorage, repository: str, strategy: str
) -> None:
    """Fewer hits are the first of more, and scores tell the order."""
    retriever = CodeRetriever(storage, default_embedder())
    hits = retriever.retrieve("take tokens", repository, strategy=strategy, limit=100)
    scores = [hit.score for hit in hits]
    assert all(lower < score for score, lower in zip(scores, scores[1:], strict=False))
    for limit in range(len(hits)):
        head = retriever.retrieve("take tokens", repository, strategy=strategy, limit=limit)
        assert [hit.id for hit in head] == [hit.id for hit in hits[:limit]]


def test_hits_of_a_file_can_be_limited(storage: CodeStorage, repository: str) -> None:
    """`per_file` limits hits of one file; a limit below 1 is refused."""
    for most in (1, 2):
        hits = hits_by_words(storage, repository, "take tokens", limit=50, per_file=most)
        assert set(Counter(hit.file_path for hit in hits).values()) == {most}
    with pytest.raises(ArgumentError, match="per_file must be"):
        hits_by_words(storage, repository, "tokens", per_file=0)


def test_a_frame_puts_its_function_first(storage: CodeStorage, repository: str) -> None:
    """Of a file in a stack trace, the function that the trace names comes first."""
    trace = 'Traceback (most recent call last):\n  File "limits/bucket.py", line 18, in take_3\nValueError: tokens'
    hits = hits_by_words(storage, repository, trace)
    assert next(h for h in hits if h.file_path == "limits/bucket.py").symbol == "TokenBucket.take_3"


def test_a_patch_names_the_lines_it_changes(storage: CodeStorage, git: Git) -> None:
    """Gold lines are those that a patch removes, and the line before each that it adds."""
    code = '"""Rate limits."""\n\n\nclass Bucket:\n\n    def take(self, n):\n        return n\n'
    git.commit({"limits/bucket.py": code})
    snapshot = opened(storage, index_path(storage, git.root).repository)
    patch = (
        '--- a/limits/bucket.py\n+++ b/limits/bucket.py\n@@ -1,2 +1,2 @@\n-"""Rate limits."""\n+"""Limits."""\n \n'
        "@@ -14,3 +14,4 @@\n     def take(self, n):\n         self.refill(1)\n+        assert n\n"
        "         return self.tokens >= n\n"
    )
    assert gold_lines(snapshot, patch) == {("limits/bucket.py", 1), ("limits/bucket.py", 15)}


def test_the_lines_of_a_fix_are_counted_within_a_budget() -> None:
    """Each line is read once, in the order of the hits, and no line beyond the budget counts."""
    gold = {("a.py", 3), ("a.py", 60), ("b.py", 1), ("c.py", 9)}
    spans = [("a.py", 1, 10), ("a.py", 1, 30), ("b.py", 1, 20), ("a.py", 55, 400), ("c.py", 1, 9)]
    hits = [Span(*span) for span in spans]
    assert recalls(hits, gold) == [0.5, 0.75, 1.0]
    assert recalls([Span("a.py", 1, 60)], gold) == [0.25, 0.5, 0.5]
    assert recalls([], gold) == [0.0, 0.0, 0.0]


def test_hits_are_exact_when_they_hold_all_files_of_a_fix() -> None:
    """Acc@k counts hits, so several of one file cost places."""
    hits = [Span("a.py", 1, 10), Span("a.py", 11, 30), Span("a.py", 31, 40), Span("b.py", 1, 20)]
    assert accuracies(hits, {"a.py"}) == [1.0, 1.0, 1.0, 1.0]
    assert accuracies(hits, {"a.py", "b.py"}) == [0.0, 0.0, 1.0, 1.0]
