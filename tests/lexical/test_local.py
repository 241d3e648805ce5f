"""TF-IDF over a list of texts equals scikit-learn."""

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.lexical import local, retrieve_local_docs
from tests.commands import python
from tests.examples import examples

words = st.one_of(
    st.sampled_from(
        ["The", "cat", "CATS", "a", "x_y", "naïve", "Straße", "İs", "漢字", "½2", "ΑΣ'Α", "ΟΔΟΣ", "“x”—yy"]
    ),
    st.text(max_size=5),
)
texts = st.lists(words, max_size=15).map(" ".join)


def reference(query: str, contents: list[str]) -> Any:
    """Return cosine similarities by scikit-learn, or zeros if it refuses an empty vocabulary."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        matrix = vectorizer.fit_transform(contents)
    except ValueError:
        return np.zeros(len(contents))
    return (matrix @ vectorizer.transform([query]).T).toarray().ravel()


@settings(max_examples=examples(150), deadline=None)
@given(contents=st.lists(texts, min_size=1, max_size=20), query=texts, k=st.integers(1, 25))
def test_scores_are_those_of_scikit_learn(contents: list[str], query: str, k: int) -> None:
    """Scores equal scikit-learn's to 1e-6, best first, ties in order, without zeros."""
    evidence = [{"id": i, "content": text, "more": [i]} for i, text in enumerate(contents)]
    expected = reference(query, contents)
    results = retrieve_local_docs(query, evidence, k)
    assert len(results) == min(k, int(np.count_nonzero(expected > 1e-12)))
    for item in results:
        assert item["score"] == pytest.approx(expected[item["id"]], abs=1e-6)
        assert item.keys() == {"id", "content", "more", "score"}
    assert [-item["score"] for item in results] == sorted(-item["score"] for item in results)
    rest = np.delete(expected, [item["id"] for item in results])
    assert not results or not len(rest) or rest.max() <= results[-1]["score"] + 1e-9 or len(results) < k


def test_the_input_is_not_changed() -> None:
    """Results are copies, and the evidence is unchanged."""
    evidence = [{"id": 1, "content": "a cat", "score": "mine"}]
    results = retrieve_local_docs("cat", evidence)
    assert evidence == [{"id": 1, "content": "a cat", "score": "mine"}]
    assert results[0]["score"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("query", "evidence"),
    [
        ("cat", []),
        ("", [{"id": 1, "content": "cat"}]),
        ("dog", [{"id": 1, "content": "cat"}]),
        ("cat", [{"id": 1, "content": ""}]),
    ],
)
def test_nothing_to_find_is_an_empty_list(query: str, evidence: list[dict[str, Any]]) -> None:
    """Without evidence, query or common word the result is []."""
    assert retrieve_local_docs(query, evidence) == []


@pytest.mark.parametrize(
    ("evidence", "k", "message"),
    [
        ([{"id": 1, "content": "x"}], 0, "k must be an int of 1 or more, got 0"),
        ([{"id": 1, "content": "x"}], True, "got True"),
        ([{"content": "x"}], 5, "must have an id"),
        ([{"id": 1}], 5, "must have an id and a content"),
        ([{"id": 1, "content": None}], 5, "must be a string, got None"),
    ],
)
def test_bad_input_is_a_value_error_that_names_it(
    evidence: list[dict[str, Any]], k: int, message: str
) -> None:
    """k below 1, a missing id and a content that is not a string raise ValueError."""
    with pytest.raises(ValueError, match=message):
        retrieve_local_docs("x", evidence, k)


def test_the_same_list_is_not_indexed_again_and_a_changed_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is indexed once, and again after a document changed in place."""
    indexes: list[str] = []
    make = local._Index

    def watched(*parts: Any) -> Any:
        indexes.append("index")
        return make(*parts)

    monkeypatch.setattr(local, "_Index", watched)
    evidence = [{"id": i, "content": f"unique text {i} of this test"} for i in range(50)]
    for _ in range(3):
        retrieve_local_docs("text", evidence)
    assert len(indexes) == 1
    evidence[7]["content"] = "something else entirely"
    assert retrieve_local_docs("entirely", evidence)[0]["id"] == 7
    assert len(indexes) == 2


def test_the_cache_keeps_no_list_alive() -> None:
    """The cache does not keep the list or its documents alive."""

    class Doc(dict[str, Any]):
        pass

    evidence = [Doc(id=1, content="kept for a moment only")]
    watch = weakref.ref(evidence[0])
    retrieve_local_docs("moment", evidence)
    del evidence
    gc.collect()
    assert watch() is None


def test_scikit_learn_is_not_imported() -> None:
    """The function does not import scikit-learn."""
    code = (
        "import sys; from sleuth.lexical import retrieve_local_docs as r; r('a cat', [{'id': 1, 'content': 'cat'}]);"
        "sys.exit(any(m.split('.')[0] in ('sklearn', 'scipy') for m in sys.modules))"
    )
    assert python(code).returncode == 0


def test_no_score_is_above_one() -> None:
    """A document equal to the query scores at most 1, with any rounding."""
    rng = random.Random(7)
    words = [f"w{i}" for i in range(30)]
    for _ in range(300):
        texts = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(12)]
        results = retrieve_local_docs(
            texts[0], [{"id": i, "content": text} for i, text in enumerate(texts)], k=12
        )
        assert max(item["score"] for item in results) <= 1
