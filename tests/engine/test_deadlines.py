"""Searches stop at their deadline and when their caller is cancelled."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from sleuth import ArgumentError, Document, Engine, RetrievalError, SleuthError
from sleuth.remote.cancellation import Cancellation, context_of


class Slow:
    """An embedder whose queries block until they are released."""

    fingerprint = "slow"

    def __init__(self) -> None:
        self.asked, self.release = Event(), Event()

    def embed_query(self, text: str) -> list[float]:
        self.asked.set()
        self.release.wait(600)
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 1.0]] * len(texts)


@pytest.fixture
def slow() -> Iterator[Slow]:
    embedder = Slow()
    yield embedder
    embedder.release.set()


@pytest.fixture
def engine(tmp_path: Path, slow: Slow) -> Iterator[Engine]:
    with Engine.open(tmp_path / "index", create=True, embedder=slow) as index:
        index.add([Document("Tokens are refilled.", {"source": "limits.md"})])
        yield index


def test_a_late_leg_is_abandoned(engine: Engine) -> None:
    """The lexical leg answers while the embedder blocks, and the report says so."""
    ranking = engine.retrieve("tokens", deadline=2.0)
    assert [item.id for item in ranking] == ["limits.md#0"]
    assert [(part.name, part.status, part.error) for part in ranking.failures] == [
        ("dense", "abandoned", "no answer within 2 s")
    ]


def test_no_answer_in_time_is_an_error(engine: Engine) -> None:
    """If the only leg is late, RetrievalError is raised."""
    with pytest.raises(RetrievalError, match=r"no part answered: dense: no answer within 0\.2 s"):
        engine.retrieve("tokens", legs=["dense"], deadline=0.2)


def test_a_phrase_is_sought_until_the_deadline(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the passages that hold the words of a phrase ends at the deadline."""
    monkeypatch.setattr("sleuth.engine.search._PIECE", 1)
    monkeypatch.setattr("sleuth.remote.cancellation.monotonic", count().__next__)
    engine.add([Document(f"red {n} blue", id=f"{n}") for n in range(200)])
    with pytest.raises(RetrievalError, match="no part answered: lexical: no answer within 50 s"):
        engine.retrieve('"red blue"', legs=["lexical"], deadline=50, syntax=True)


@pytest.mark.parametrize("deadline", [0, -1, True, "1", float("nan")])
def test_deadlines_are_seconds(engine: Engine, deadline: object) -> None:
    """A deadline is a number above 0."""
    with pytest.raises(ArgumentError, match="deadline must be a number of seconds above 0, or None, got "):
        engine.retrieve("tokens", deadline=deadline)  # type: ignore[arg-type]


def test_a_cancelled_search_goes_no_further(engine: Engine, slow: Slow) -> None:
    """A search of a cancelled caller stops at its next step."""
    cancellation = Cancellation()

    def cancelled_retrieve() -> None:
        slow.release.set()
        cancellation.cancel()
        engine.retrieve("tokens")

    with pytest.raises(SleuthError, match="the caller was cancelled"):
        context_of(cancellation).run(cancelled_retrieve)
    assert not slow.asked.is_set()
