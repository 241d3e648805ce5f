"""A leg of a plugin takes part in everything, by one file and one registration."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.cluster import ShardedEngine
from sleuth.engine import Fusion, open_legs, register_leg, score_hits
from sleuth.errors import ArgumentError
from sleuth.settings import IndexSettings
from sleuth.types import Explanation
from tests.code.conftest import write
from tests.commands import sleuth
from tests.engine.kinds import KINDS, new_index
from tests.engine.synonyms import SynonymLeg, SynonymSearcher
from tests.retrievers import ids

register_leg(SynonymLeg)

TEXTS = [
    "The automobile needs new tires before winter.",
    "A vehicle on the road burns petrol.",
    "My car is red and my car is fast.",
    "Rivers carry stones to the sea.",
    "Gasoline prices rose again in spring.",
    "The auto show opens in spring with a vehicle made of wood.",
]
QUERIES = ["car", "fuel prices", "spring vehicle", "a red automobile in winter"]


def documents(copies: int = 4) -> list[Document]:
    return [
        Document(f"{text} Copy {'abcdefgh'[copy]}.", {"copy": copy, "n": n}, id=f"d{n}-{copy}")
        for copy in range(copies)
        for n, text in enumerate(TEXTS)
    ]


def fill(engine: Engine) -> Engine:
    """Add in several commits, replace and delete."""
    some = documents()
    engine.add(some[:10])
    engine.add([Document("To be replaced: car car car.", id="d3-3")])
    engine.add(some[10:])
    engine.delete(["d2-0", "d1-1"])
    return engine


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with new_index(request.param, tmp_path / "index", settings={"legs": "synonyms"}) as engine:
        yield fill(engine)


def named(explanation: Explanation | None, name: str) -> list[Explanation]:
    """Return the parts of an explanation that have a name."""
    if explanation is None:
        return []
    parts = [part for below in explanation.parts for part in named(below, name)]
    return [explanation, *parts] if explanation.name == name else parts


def test_it_ranks_alone(engine: Engine) -> None:
    """Alone, it finds passages that hold none of the query's words, and no deleted ones."""
    hits = ids(engine.retrieve("car", 100, legs=["synonyms"]))
    assert {id.partition("-")[0] for id in hits} == {"d0", "d1", "d2", "d5"}
    assert not {"d2-0#0", "d1-1#0", "d3-3#0"} & set(hits)
    assert ids(engine.retrieve("car", 3, legs=["synonyms"])) == hits[:3]


def test_it_is_fused_with_its_weight(engine: Engine) -> None:
    """It takes part in the default fusion by its own weight, and in others by the one a caller names."""
    for fusion, weight in ((None, SynonymLeg.weight), ("minmax(synonyms=2,lexical=1)", 2.0), ("rrf", 1.0)):
        ranking = engine.retrieve("car", 20, fusion=fusion, explain=True)
        assert [part.name for part in ranking.parts] == ["lexical", "dense", "synonyms"]
        parts = [
            part for item in ranking for part in named(item.explanation, "synonyms") if "share" in part.facts
        ]
        assert parts
        for part in parts:
            assert part.facts["weight"] == pytest.approx(weight * float(part.facts.get("trust", 1.0)))
    assert str(Fusion.parse("minmax(synonyms=2)")) == "minmax(lexical=1,dense=1,synonyms=2,pool=200)"
    assert Fusion.parse("minmax(synonyms=2)") == Fusion(weights={"synonyms": 2.0})


def test_it_honours_filters(engine: Engine) -> None:
    """Filters, scopes and the search syntax limit its hits before they are cut."""
    assert {id[:4] for id in ids(engine.retrieve("car", 2, legs=["synonyms"], filter="copy=3 n=1"))} == {
        "d1-3"
    }
    with engine.scoped({"copy": 2}) as view:
        assert {id.partition("#")[0][-1] for id in ids(view.retrieve("car", 9, legs=["synonyms"]))} == {"2"}
    hits = ids(engine.retrieve("vehicle -wood", 50, legs=["synonyms"], syntax=True))
    assert hits and not [id for id in hits if id.startswith("d5")]


def test_it_explains_its_hits(engine: Engine) -> None:
    """The parts of its explanation sum to its score."""
    for item in engine.retrieve("spring vehicle", 10, legs=["synonyms"], explain=True):
        (explanation,) = named(item.explanation, "synonyms")
        assert explanation.value == item.score
        assert sum(part.value for part in explanation.parts) == pytest.approx(item.score)


def test_it_says_what_rows_have_in_common(engine: Engine) -> None:
    """`min_score` and `score_hits` count how similar it finds a passage."""
    hits = engine.retrieve("automobile", 50, min_score=0.0)
    assert any(id.startswith("d2") for id in ids(hits))
    assert not any(
        id.startswith("d3") for id in ids(engine.retrieve("petrol", 50, legs=["synonyms"], min_score=0.0))
    )
    assert not engine.retrieve("zzz", 50, legs=["synonyms"], min_score=0.0)
    ranking = engine.retrieve("spring vehicle", 5, explain=True)
    assert all(0 < score <= 1 for score in score_hits(engine, "spring vehicle", ranking))


def test_shards_rank_as_one_index(tmp_path: Path) -> None:
    """Numbers that its scores depend on are summed over shards: rankings and explanations are those of one index."""
    settings = {"legs": "synonyms"}
    with (
        Engine.open(tmp_path / "one", create=True, settings=settings) as one,
        ShardedEngine.open(tmp_path / "many", create=True, settings=settings, shards=5) as many,
    ):
        fill(one)
        fill(many)
        for query in QUERIES:
            for legs in (["synonyms"], ["lexical", "synonyms"], None):
                expected = one.retrieve(query, 8, legs=legs, explain=True)
                ranking = many.retrieve(query, 8, legs=legs, explain=True)
                assert [(i.id, i.score) for i in ranking] == [(i.id, i.score) for i in expected]
                for item, other in zip(ranking, expected, strict=True):
                    assert named(item.explanation, "synonyms") == named(other.explanation, "synonyms")


@pytest.mark.parametrize("step", ["ask", "pool"])
def test_a_leg_that_fails_is_left_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    """Whatever a leg of a plugin raises, the others answer as without it and a report names it; alone it is raised."""
    others = ["lexical", "dense"] if "dense" in engine.legs else ["lexical"]
    expected = engine.retrieve("spring vehicle", legs=others)

    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("of the model")

    monkeypatch.setattr(SynonymSearcher, step, fail)
    ranking = engine.retrieve("spring vehicle")
    assert ids(ranking) == ids(expected)
    (failure,) = ranking.failures
    assert (failure.name, failure.status, failure.error) == (
        "synonyms",
        "failed",
        "ZeroDivisionError: of the model",
    )
    assert "the leg synonyms failed: ZeroDivisionError" in caplog.text
    with pytest.raises(ZeroDivisionError):
        engine.retrieve("spring vehicle", legs=["synonyms"])


def test_merging_changes_no_ranking(tmp_path: Path) -> None:
    """Rankings before and after compaction are equal, also after opening again."""
    with Engine.open(tmp_path / "index", create=True, settings={"legs": "synonyms"}) as engine:
        fill(engine)
        before = [engine.retrieve(query, legs=["synonyms"]).items for query in QUERIES]
        engine.compact()
        assert engine.status()["legs"]["synonyms"]["segments"] == 1
        assert [engine.retrieve(query, legs=["synonyms"]).items for query in QUERIES] == before
    with Engine.open(tmp_path / "index") as engine:
        assert not engine.repairs
        assert [engine.retrieve(query, legs=["synonyms"]).items for query in QUERIES] == before


def test_status_and_check_show_it(engine: Engine) -> None:
    """Status counts its passages, and a check proves that it covers each once."""
    leg = engine.status()["legs"]["synonyms"]
    assert (leg["passages"], leg["uncovered"], leg["fingerprint"]) == (22, 0, "synonyms/1")
    assert any("synonyms" in finding.subject for finding in engine.check(full=True))


def test_segments_of_another_fingerprint_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments that another version of the leg built are rebuilt when the index is opened, which is reported."""
    with Engine.open(tmp_path / "index", create=True, settings={"legs": "synonyms"}) as engine:
        fill(engine)
        before = ids(engine.retrieve("car", legs=["synonyms"]))
    monkeypatch.setattr(SynonymLeg, "fingerprint", "synonyms/2")
    with Engine.open(tmp_path / "index") as engine:
        assert {repair.what for repair in engine.repairs} == {"synonyms"}
        assert ids(engine.retrieve("car", legs=["synonyms"])) == before


def test_expensive_rows_are_left_to_embed(tmp_path: Path) -> None:
    """Rows of a deferred leg are built by `embed`, which `add` calls, with progress."""
    settings = {"legs": "synonyms:slow"}
    with Engine.open(tmp_path / "index", create=True, settings=settings, embedder="") as engine:
        fill(engine)
        assert engine.status()["legs"]["synonyms"]["uncovered"] == 0
        assert ids(engine.retrieve("car", legs=["synonyms"]))
        assert engine.embed() == 0


def test_commands_search_by_it(tmp_path: Path) -> None:
    """`sleuth search --leg`, `status` and `doctor` show the leg."""
    with Engine.open(tmp_path / ".sleuth", create=True, settings={"legs": "synonyms"}) as engine:
        expected = ids(fill(engine).retrieve("car", 5, legs=["synonyms"]))
    answer = sleuth(
        "search", "car", "--leg", "synonyms", "-k", "5", "--json", "--no-fold-copies", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert [item["id"] for item in json.loads(answer.stdout)["items"]] == expected
    assert "synonyms" in sleuth("status", cwd=tmp_path).stdout
    assert "synonyms" in sleuth("doctor", "--full", "--verbose", cwd=tmp_path).stdout
    refused = sleuth("search", "car", "--leg", "spare", cwd=tmp_path)
    assert "legs must be among lexical, dense, synonyms in this index, got ['spare']" in refused.stderr


def test_an_index_without_the_setting_does_not_have_it(hybrid: Engine) -> None:
    """A registered leg changes no index that does not name it."""
    hybrid.add(documents(1))
    assert "synonyms" not in hybrid.status()["legs"]
    with pytest.raises(ArgumentError, match="legs must be among lexical, dense in this index"):
        hybrid.retrieve("car", legs=["synonyms"])


def test_unknown_legs_and_arguments_are_refused(tmp_path: Path) -> None:
    """Before any file is made, a leg that nobody registered, or that refuses its argument, is an error."""
    for legs, message in (("spare", "got 'spare': install"), ("synonyms:fast", "got 'fast'")):
        with pytest.raises(ArgumentError, match=message):
            Engine.open(tmp_path / "index", create=True, settings={"legs": legs})
    assert not (tmp_path / "index").exists()


def test_a_name_is_taken_once() -> None:
    """Registering a leg again changes nothing; another class with its name is refused."""
    register_leg(SynonymLeg)
    other = type("OtherLeg", (SynonymLeg,), {})
    with pytest.raises(ArgumentError, match="must be free, got 'synonyms'"):
        register_leg(other)
    with pytest.raises(ArgumentError, match="identifier, got 'a b'"):
        register_leg(type("SpacedLeg", (SynonymLeg,), {"name": "a b"}))


def test_built_in_legs_are_registered_alike() -> None:
    """Every leg of an index comes from the registry, in order; those of the setting come last."""
    assert [leg.name for leg in open_legs(IndexSettings())] == ["lexical", "columns"]
    assert [leg.name for leg in open_legs(IndexSettings(legs=" synonyms:slow "))] == [
        "lexical",
        "columns",
        "synonyms",
    ]
    for legs in ("synonyms,synonyms:slow", "lexical"):
        with pytest.raises(ArgumentError, match=f"once .*, got '{legs}'"):
            open_legs(IndexSettings(legs=legs))


def test_installed_legs_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point of an installed package gives the leg that the setting of an index names."""
    files = {
        "stems-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: stems\nVersion: 1\n",
        "stems-1.dist-info/entry_points.txt": "[sleuth.legs]\nstems = stems_of_a_plugin:StemsLeg\n",
        "stems_of_a_plugin.py": "from tests.engine.synonyms import SynonymLeg\n\n\n"
        "class StemsLeg(SynonymLeg):\n    name = 'stems'\n",
    }
    monkeypatch.syspath_prepend(str(write(tmp_path / "site", files)))
    with Engine.open(tmp_path / "index", create=True, settings={"legs": "stems"}) as engine:
        fill(engine)
        assert ids(engine.retrieve("car", legs=["stems"], fusion="minmax(stems=3)"))
        assert engine.status()["legs"]["stems"]["passages"] == 22
