"""One truth table: the form of AWS (sent by boto3), Chroma (a real one), the embedded engine and the oracle in
Python agree.

`SLEUTH_FILTERS=10000` asks for the whole campaign (`make filters`), a minute or two; fewer by default.
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from sleuth import Document, Engine
from sleuth.engine import WITHOUT_VARIETY
from sleuth.errors import FilterError
from sleuth.filters import And, Compare, Filter, Not, Operator, Or, matches, to_bedrock, to_chroma, to_text
from sleuth.knowledge_base import LocalKnowledgeBase
from sleuth.testing.aws import BedrockServer
from tests.filters.strategies import KEYS, NUMBERS, WORDS

EXAMPLES = int(os.environ.get("SLEUTH_FILTERS", "250"))
ROWS = 48
KB = "KB12345678"
SMALL = [number for number in NUMBERS if abs(number) <= 2**53]
"""Numbers that all backends hold exactly; Chroma compares greater ones through the nearest float."""

Found = Callable[[Filter], set[str]]
"""Ids of the rows that a backend finds."""


def scalar(rng: random.Random) -> Any:
    return rng.choice([rng.choice(WORDS), rng.choice(SMALL), rng.random() < 0.5])


def value(rng: random.Random) -> Any:
    """Return a scalar, or a non-empty list of one type, which every backend can store."""
    if rng.random() < 0.7:
        return scalar(rng)
    kinds: list[list[Any]] = [
        list(WORDS),
        [number for number in SMALL if isinstance(number, int)],
        [number for number in SMALL if isinstance(number, float)],
        [True, False],
    ]
    kind = rng.choice(kinds)
    return [rng.choice(kind) for _ in range(rng.randint(1, 3))]


def row(rng: random.Random) -> dict[str, Any]:
    return {key: value(rng) for key in rng.sample(KEYS, rng.randint(1, 5))}


def comparison(rng: random.Random) -> Filter:
    key = rng.choice(KEYS)
    operator: Operator = rng.choice(get_args(Operator))
    if operator in ("in", "nin"):
        return Compare(key, operator, tuple(scalar(rng) for _ in range(rng.randint(1, 3))))
    if operator == "exists":
        return Compare(key, "exists", rng.random() < 0.5)
    if operator in ("ieq", "prefix", "substring"):
        return Compare(key, operator, rng.choice(WORDS))
    if operator in ("gt", "gte", "lt", "lte"):
        return Compare(key, operator, rng.choice(SMALL) if rng.random() < 0.9 else rng.choice(WORDS))
    return Compare(key, operator, scalar(rng))


def tree(rng: random.Random, depth: int = 0) -> Filter:
    chance = rng.random()
    if depth >= 3 or chance < 0.45:
        return comparison(rng)
    if chance < 0.6:
        return Not(tree(rng, depth + 1))
    parts = tuple(tree(rng, depth + 1) for _ in range(rng.randint(2, 3)))
    return And(parts) if chance < 0.8 else Or(parts)


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    rng = random.Random(2026)
    return {f"s3://bucket/{number}": row(rng) for number in range(ROWS)}


@pytest.fixture(scope="module")
def bedrock(rows: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    folder: Path = tmp_path_factory.mktemp("bedrock")
    with (
        Engine.open(folder / "index", create=True) as index,
        BedrockServer(LocalKnowledgeBase(index)) as server,
    ):
        index.add([Document("a row", metadata, id=uri) for uri, metadata in rows.items()])
        client = server.client("bedrock-agent-runtime")

        def found(tree: Filter) -> set[str]:
            search = {"numberOfResults": 100, "filter": to_bedrock(tree)}
            answer = client.retrieve(
                knowledgeBaseId=KB,
                retrievalQuery={"text": "row"},
                retrievalConfiguration={"vectorSearchConfiguration": search},
            )
            return {one["location"]["s3Location"]["uri"] for one in answer["retrievalResults"]}

        yield found


@pytest.fixture(scope="module")
def engine(rows: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    folder: Path = tmp_path_factory.mktemp("filters")
    with Engine.open(folder / "index", create=True) as index:
        index.add([Document("a row", metadata, id=uri) for uri, metadata in rows.items()])

        def found(tree: Filter) -> set[str]:
            return {
                item.id.rpartition("#")[0]
                for item in index.retrieve("row", ROWS, filter=tree, **WITHOUT_VARIETY)
            }

        yield found


@pytest.fixture(scope="module")
def chroma(rows: dict[str, dict[str, Any]]) -> Iterator[Found]:
    chromadb = pytest.importorskip("chromadb", reason="the chroma extra is not installed")
    config = pytest.importorskip("chromadb.config")
    client = chromadb.EphemeralClient(config.Settings(anonymized_telemetry=False))
    collection = client.create_collection("agree")
    collection.add(ids=list(rows), embeddings=[[1.0, 0.0]] * ROWS, metadatas=list(rows.values()))
    yield lambda tree: set(collection.get(where=to_chroma(tree))["ids"])


@pytest.mark.parametrize(("backend", "least_answered"), [("engine", 1.0), ("bedrock", 0.4), ("chroma", 0.3)])
def test_backends_agree(
    backend: str, least_answered: float, rows: dict[str, dict[str, Any]], request: pytest.FixtureRequest
) -> None:
    """For every filter a backend finds exactly the matching rows, or refuses it; the engine refuses none."""
    search: Found = request.getfixturevalue(backend)
    rng = random.Random(7)
    answered = 0
    for _ in range(EXAMPLES):
        condition = tree(rng)
        expected = {uri for uri, metadata in rows.items() if matches(condition, metadata)}
        try:
            ids = search(condition)
        except FilterError:
            continue
        assert ids == expected, to_text(condition)
        answered += 1
    assert answered / EXAMPLES >= least_answered
