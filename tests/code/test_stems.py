"""Signals of a ranking: names of files, pairs of words, and files of an older version."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.code import CodeStorage
from sleuth.code.search import ranking
from sleuth.code.search.query import pairs_of, read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.search.signals import phrase_scores
from tests.code.conftest import hits_by_words, open_project

PATHS = ("args.py", "json_reader.py", "a/config.py", "b/config.py", "ser/mod.rs", "recoverer.py")
FILES = dict.fromkeys(PATHS, "def check(values):\n    return validators(values)\n")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("positional argument validators", {"args.py": 1.0}),
        ("streaming JSON reader", {"json_reader.py": 1.0}),
        ("JsonReader", {"json_reader.py": 1.0}),
        ("a reader of lines", {}),
        ("configuration", {"a/config.py": 0.5**0.5, "b/config.py": 0.5**0.5}),
        ("panic recovery", {"recoverer.py": 1.0}),
        ("records of readers in an area", {}),
        ("the ser format", {}),
    ],
)
def test_names_in_titles(
    storage: CodeStorage, tmp_path: Path, title: str, expected: dict[str, float]
) -> None:
    """A title holds all words of a name, or words that begin or end otherwise; a folder's name counts for no file."""
    snapshot = open_project(storage, tmp_path / "stems", FILES)
    scores = rank_files(snapshot, read_query(title)).signals.values["stem"]
    paths = [file.path for file in snapshot.files]
    assert {paths[i]: float(scores[i]) for i in np.flatnonzero(scores)} == pytest.approx(expected)


def test_a_file_that_is_named_comes_first(storage: CodeStorage, tmp_path: Path) -> None:
    """Of files with the same text, the one whose name is in the query is the first, and the explanation says why."""
    snapshot = open_project(storage, tmp_path / "stems", FILES)
    hits = hits_by_words(storage, snapshot.repository.id, "argument validators")
    assert hits[0].file_path == "args.py"
    assert "stem" in str(hits[0].explanation)
    assert "stem" not in str(hits[1].explanation)


def test_names_of_files_count_more_for_a_short_query() -> None:
    """A query of up to twelve words weighs names of files more than its title, which is the same text as its prose."""
    short, long = (ranking.weights_for(read_query("word " * count)) for count in (12, 13))
    assert short["stem"] > long["stem"]
    assert short["title"] < long["title"]
    assert short["prose"] == long["prose"]


WORDS = st.sampled_from(["broken", "pipe", "retri", "queue", "server"])


def test_pairs_are_of_the_title() -> None:
    """Neighbouring words and parts of names in the title form stemmed pairs, common words separate them, and the body
    has none.
    """
    pairs = read_query("Retries of brokenPipe are lost\n\nThe server queue waits").pairs
    assert pairs == (("broken", "pipe"),)
    assert read_query("retrying broken pipes").pairs == (("retri", "broken"), ("broken", "pipe"))
    assert read_query("").pairs == ()


def test_pairs_are_found_however_they_are_joined() -> None:
    """Blanks, punctuation, underscores, capitals and endings do not separate a pair; a word between does."""
    pairs = pairs_of(["broken", "pipe"])
    texts = [
        b"a broken pipe", b"broken_pipes", b"BrokenPipeError", b"broken. Pipe", b"BROKEN-PIPE",
        b"brokenly\npipe",
    ]  # fmt: skip
    assert phrase_scores(pairs, texts) == [1] * len(texts)
    assert phrase_scores(pairs, [b"broken old pipe", b"pipe broken", b"", b"\xff"]) == [0, 0, 0, 0]
    assert phrase_scores(pairs_of(["retri", "queue"]), [b"retry queue", b"retries_queue"]) == [1, 1]


@given(st.lists(WORDS, max_size=6), st.lists(st.lists(WORDS, max_size=8), max_size=5))
def test_scores_count_pairs_by_rarity(title: list[str], bodies: list[list[str]]) -> None:
    """A text scores its share of the pairs, each weighted by ln(1 + texts / texts with the pair)."""
    pairs = pairs_of(title)
    present = [{pair for pair in pairs if pair in set(pairwise(body))} for body in bodies]
    weights = {
        pair: math.log(1 + len(bodies) / max(1, sum(pair in some for some in present))) for pair in pairs
    }
    expected = [sum(weights[pair] for pair in some) / (sum(weights.values()) or 1) for some in present]
    scores = phrase_scores(pairs, [" ".join(body).encode() for body in bodies])
    assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(scores, expected, strict=True))


SOURCE = "int uv_pipe_open(int handle) {\n  /* open the pipe of a process */\n  return handle;\n}\n"
EXTRA = "/* pipe pipe pipe open open process process */\n"
TWINS = {
    "src/win/pipe.c": SOURCE + EXTRA, "src/unix/pipe.c": SOURCE, "api/v3/types.c": SOURCE + EXTRA,
    "api/v10/types.c": SOURCE, "alone/v1/types.c": SOURCE,
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("open the pipe of a process", "api/v10/types.c", "api/v3/types.c"),
        ("open the pipe of a process in v3", "api/v3/types.c", "api/v10/types.c"),
    ],
)
def test_twins_give_way(storage: CodeStorage, tmp_path: Path, query: str, first: str, second: str) -> None:
    """Of two files with the same text, the newer one comes first; a query may name the other."""
    snapshot = open_project(storage, tmp_path / "twins", TWINS)
    hits = hits_by_words(storage, snapshot.repository.id, query, per_file=1)
    order = [hit.file_path for hit in hits]
    assert order.index(first) < order.index(second)
    factor = {hit.file_path: str(hit.explanation).count("category factor 0.7") for hit in hits}
    assert not factor["alone/v1/types.c"]
    assert not factor["src/win/pipe.c"]
