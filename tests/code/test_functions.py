"""Functions as hits, ranked by their signals."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.code_functions import changed_lines, gold_functions
from benchmarks.code_lines import Span, accuracies, gold_lines, recalls
from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.parsing.parse import parse_source
from sleuth.code.search.functions import FUNCTION_WEIGHTS, function_signals, outer_functions
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.errors import ArgumentError
from tests.code.conftest import Git

SOURCE = '''"""Rate limits."""


class TokenBucket:
    """Limits how often something happens."""

    def refill(self, seconds):
        """Add the tokens of some seconds."""
        def whole(n):
            return int(n)

        self.tokens += whole(seconds * self.rate)

    def take(self, n):
        self.refill(1)
        return self.tokens >= n


def parse_rate(text):
    """Read tokens a second."""
    return float(text.removesuffix("/s"))
'''
FILES = {"limits/bucket.py": SOURCE, "limits/other.py": SOURCE.replace("TokenBucket", "LeakyBucket")}


@pytest.fixture
def retriever(storage: CodeStorage, git: Git) -> tuple[CodeRetriever, str]:
    git.commit(dict(FILES))
    return CodeRetriever(storage, None), index_path(storage, git.root).repository


def test_hits_are_whole_functions(retriever: tuple[CodeRetriever, str]) -> None:
    """With the granularity "function" each hit is a function or method as a whole, and no class."""
    code, repository = retriever
    hits = code.retrieve("how are tokens refilled", repository, strategy="keyword", granularity="function")
    assert {hit.symbol for hit in hits} == {
        "TokenBucket.refill", "TokenBucket.take", "LeakyBucket.refill", "LeakyBucket.take", "parse_rate",
    }  # fmt: skip
    first = hits[0]
    assert first.symbol.endswith("Bucket.refill")
    assert (first.start_line, first.end_line) == (7, 12)
    assert first.content == "\n".join(SOURCE.split("\n")[6:12])
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].score == 1.0
    assert hits[0].explanation is not None
    assert {part.name for part in hits[0].explanation.parts} <= FUNCTION_WEIGHTS.keys()


def test_a_name_puts_its_function_first(retriever: tuple[CodeRetriever, str]) -> None:
    """A query that is the name of a function has it first, also as a function."""
    code, repository = retriever
    hits = code.retrieve("LeakyBucket.take", repository, strategy="keyword", granularity="function")
    assert hits[0].symbol == "LeakyBucket.take"


def test_hits_of_a_file_can_be_limited(retriever: tuple[CodeRetriever, str]) -> None:
    """`per_file` limits hits of one file at each granularity; with "file" there is one."""
    code, repository = retriever

    def counts(**options: object) -> set[int]:
        hits = code.retrieve("tokens", repository, strategy="keyword", **options)  # type: ignore[arg-type]
        return set(Counter(hit.file_path for hit in hits).values())

    assert counts(granularity="function") == {3}
    assert counts(granularity="function", per_file=2) == {2}
    assert counts(per_file=1) == counts(granularity="file") == {1}


def test_labels_and_files_filter_functions(retriever: tuple[CodeRetriever, str]) -> None:
    """Filters apply to functions: labels to the function itself, the others to its file."""
    code, repository = retriever
    hits = code.retrieve(
        "tokens", repository, strategy="keyword", granularity="function",
        filters={"path_prefix": "limits/other.py", "labels": "method_definition"},
    )  # fmt: skip
    assert {hit.symbol for hit in hits} == {"LeakyBucket.refill", "LeakyBucket.take"}


def test_wrong_granularities_are_refused(retriever: tuple[CodeRetriever, str]) -> None:
    """An unknown granularity, a wrong limit, and functions by vectors alone are argument errors."""
    code, repository = retriever
    for options, message in (
        ({"granularity": "word"}, "granularity must be one of lines, function, file, got 'word'"),
        ({"per_file": 0}, "per_file must be"),
    ):
        with pytest.raises(ArgumentError, match=message):
            code.retrieve("tokens", repository, strategy="keyword", **options)


@pytest.mark.parametrize(
    ("question", "methods"),
    [
        ("unpickling a bucket fails", {"__getstate__": 1.0}),
        ("two buckets are not equal", {"__eq__": 1.0}),
        ("it fails\n\nwhen buckets are compared by equality", {"__eq__": 0.5}),
        ("how are tokens refilled", {}),
    ],
)
def test_special_methods_are_found_by_words_for_them(
    storage: CodeStorage, git: Git, question: str, methods: dict[str, float]
) -> None:
    """A query that paraphrases a special method of Python speaks for it, in its title more than below."""
    names = ("__getstate__", "__eq__", "refill")
    git.commit(
        {
            "bucket.py": "class Bucket:\n"
            + "".join(f"    def {name}(self):\n        return self\n\n" for name in names)
        }
    )
    report = index_path(storage, git.root)
    repository = storage.repository(report.repository)
    snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
    query = read_query(f"{question}: bucket")
    signals = function_signals(snapshot, query, rank_files(snapshot, query))
    column = signals.values[:, list(FUNCTION_WEIGHTS).index("meant")].tolist()
    symbols = [snapshot.detail(snapshot.files[file]).symbols[at].name for file, at in signals.functions]
    assert {name: value for name, value in zip(symbols, column, strict=True) if value} == methods


def test_quotes_links_and_calls_speak_for_functions(storage: CodeStorage, git: Git) -> None:
    """What a query quotes and the lines it names count for the function that has them, and its callees for calling."""
    text = "def {0}(order):\n    return {1}\n\n\n"
    bodies = [
        ("parse_a", "'no such tax'"),
        ("parse_b", "'no order'"),
        ("outer", "inner(order)"),
        ("inner", "1"),
    ]
    git.commit({"shop/tax.py": "".join(text.format(*body) for body in bodies)})
    report = index_path(storage, git.root)
    repository = storage.repository(report.repository)
    snapshot = storage.open_snapshot(repository, storage.snapshot(repository))

    def valued(question: str, signal: str) -> dict[str, float]:
        query = read_query(question)
        signals = function_signals(snapshot, query, rank_files(snapshot, query))
        column = signals.values[:, list(FUNCTION_WEIGHTS).index(signal)].tolist()
        symbols = snapshot.detail(snapshot.files[0]).symbols
        pairs = zip(signals.functions, column, strict=True)
        return {symbols[function.symbol].name: value for function, value in pairs if value}

    assert valued("Tax fails with 'no such tax' for an order", "quoted") == {"parse_a": 1.0}
    assert valued("Tax fails with 'no such rate' for an order", "quoted") == {}
    assert valued("See https://example.org/blob/main/shop/tax.py#L5-L6", "lines") == {"parse_b": 1.0}
    assert valued("Order fails in shop/tax.py:10", "lines") == {"outer": 1.0}
    assert valued("Order fails in other/names.py:10", "lines") == {}
    assert valued("outer order of tax", "called").keys() == {"inner"}
    assert valued("inner of tax", "calls").keys() == {"outer"}


def test_nested_functions_belong_to_the_outer_one() -> None:
    """A function inside a function is a part of it."""
    symbols = parse_source(SOURCE.encode(), "python").symbols
    names = [symbol.name for symbol in symbols]
    outer = outer_functions(symbols)
    assert outer[names.index("whole")] == names.index("refill")
    assert outer[names.index("TokenBucket")] == -1


def test_a_patch_names_the_functions_it_changes(storage: CodeStorage, git: Git) -> None:
    """Gold functions are those whose lines a patch removes or adds within; code between them is of none."""
    git.commit(dict(FILES))
    report = index_path(storage, git.root)
    repository = storage.repository(report.repository)
    snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
    patch = (
        '--- a/limits/bucket.py\n+++ b/limits/bucket.py\n@@ -1,2 +1,2 @@\n-"""Rate limits."""\n+"""Limits."""\n \n'
        "@@ -14,3 +14,4 @@\n     def take(self, n):\n         self.refill(1)\n+        assert n\n"
        "         return self.tokens >= n\n"
    )
    assert changed_lines(patch) == {"limits/bucket.py": [-16, -2, 1]}
    file = snapshot.by_path["limits/bucket.py"]
    names = [symbol.name for symbol in snapshot.detail(snapshot.files[file]).symbols]
    assert gold_functions(snapshot, patch) == {(file, names.index("take"))}
    assert gold_lines(snapshot, patch) == {("limits/bucket.py", 1), ("limits/bucket.py", 15)}


def test_the_lines_of_a_fix_are_counted_within_a_budget() -> None:
    """Each line is read once, in the order of the hits, and no line beyond the budget counts."""
    gold = {("a.py", 3), ("a.py", 60), ("b.py", 1), ("c.py", 9)}
    hits = [
        Span("a.py", 1, 10),
        Span("a.py", 1, 30),
        Span("b.py", 1, 20),
        Span("a.py", 55, 400),
        Span("c.py", 1, 9),
    ]
    assert recalls(hits, gold) == [0.5, 0.75, 1.0]
    assert recalls([Span("a.py", 1, 60)], gold) == [0.25, 0.5, 0.5]
    assert recalls([], gold) == [0.0, 0.0, 0.0]


def test_hits_are_exact_when_they_hold_all_files_of_a_fix() -> None:
    """Acc@k counts hits, so several of one file cost places."""
    hits = [Span("a.py", 1, 10), Span("a.py", 11, 30), Span("a.py", 31, 40), Span("b.py", 1, 20)]
    assert accuracies(hits, {"a.py"}) == [1.0, 1.0, 1.0, 1.0]
    assert accuracies(hits, {"a.py", "b.py"}) == [0.0, 0.0, 1.0, 1.0]
