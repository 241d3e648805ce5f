"""The weight of vectors: one for those of encoders, another for static ones, or what the embedder says."""

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.dense import DenseLeg
from sleuth.dense.leg import ENCODER_WEIGHT
from tests.embedders import Letters


class Cheap(Letters):
    """One whose vectors cost little, as static ones do."""

    cheap = True


class Measured(Letters):
    """One whose weight was measured."""

    weight = 1.25


TEXTS = ("get_item is here", "os.path and main()", "it works")


def dense_facts(engine: Engine, query: str) -> dict[str, float | int | str]:
    """Return what the explanation of the best hit tells of its vector."""
    item = engine.retrieve(query, 1, explain=True)[0]
    assert item.explanation is not None
    return dict(next(part.facts for part in item.explanation.parts if part.name == "dense"))


@pytest.mark.parametrize(
    ("embedder", "weight"), [(Letters(), ENCODER_WEIGHT), (Cheap(), DenseLeg.weight), (Measured(), 1.25)]
)
def test_the_weight_is_that_of_the_kind_of_embedder(tmp_path: Path, embedder: Letters, weight: float) -> None:
    """It depends on no passage; an embedder may say its own, and a fusion that names weights overrides every one."""
    for texts in (TEXTS[:1], TEXTS):
        with Engine.open(tmp_path / "i", create=True, embedder=embedder) as engine:
            engine.add([Document(text, id=text[:3]) for text in texts])
            assert engine.status()["legs"]["dense"]["weight"] == weight
            facts = dense_facts(engine, "how does it work")
            assert float(facts["weight"]) == pytest.approx(
                weight * float(facts["trust"]) * float(facts["knowledge"])
            )
    with Engine.open(tmp_path / "i", embedder=embedder) as engine:
        (words,) = engine.retrieve("works", legs=["lexical"])
        assert engine.retrieve("works", fusion="minmax(lexical=1,dense=0)")[0].id == words.id


@pytest.mark.parametrize(
    ("query", "share"), [("get_item", 0.4), ("os.path main()", 0.4), ("how does get_item work", 1.25)]
)
def test_names_of_code_are_looked_up_by_their_letters(tmp_path: Path, query: str, share: float) -> None:
    """Vectors weigh no more than static ones for a query of names alone, whatever their own weight is."""
    with Engine.open(tmp_path / "i", create=True, embedder=Measured()) as engine:
        engine.add([Document(text) for text in TEXTS])
        facts = dense_facts(engine, query)
        assert float(facts["weight"]) == pytest.approx(share * float(facts["trust"]))
