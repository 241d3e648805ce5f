"""Several sources answer as one: on one scale, filtered, with labelled items and named failures."""

import json
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sleuth
from sleuth import Document, Engine, RetrievedItem, Sources, index_path, open_code, open_sources
from sleuth.engine.request import SPELLINGS
from sleuth.errors import (
    ArgumentError,
    FilterError,
    IndexNotFoundError,
    RetrievalError,
    StoreError,
    UnknownRepositoryError,
)
from sleuth.filters import as_filter
from sleuth.knowledge_base import LocalKnowledgeBase
from sleuth.protocols import Retriever
from sleuth.testing.aws import BedrockServer
from sleuth.testing.contracts import RetrieverContract
from sleuth.testing.tavily import TavilyServer
from tests import commands
from tests.code.conftest import write
from tests.code.projects import SHOP
from tests.retrievers import Fixed
from tests.surfaces.project import make_project

KB = "KB12345678"
QUERY = "charge an order and write it to the ledger"
DOCS = [
    Document("Every order is written to the ledger before a card is charged.", {"year": 2024}, id="rules"),
    Document("The ledger is closed at the end of a month.", {"year": 2020}, id="closing"),
    Document("Lunch is at noon.", id="lunch"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a shop's code, and an index `.sleuth` of it and of some documents."""
    root = tmp_path_factory.mktemp("sources")
    write(root / "shop", dict(SHOP))
    with Engine.open(root / ".sleuth", create=True) as engine:
        engine.add(DOCS)
    with open_code(root / ".sleuth", create=True) as storage:
        index_path(storage, root / "shop", workers=1)
    return root


@pytest.fixture(scope="module")
def both(place: Path) -> Iterator[Sources]:
    with open_sources(place / ".sleuth", ["docs", "code"]) as sources:
        yield sources


class TestContract(RetrieverContract):
    """The retriever contract over several sources, and over one."""

    query = QUERY

    @pytest.fixture(autouse=True, params=[["docs", "code"], ["code"]], ids=len)
    def _sources(self, place: Path, request: pytest.FixtureRequest) -> Iterator[None]:
        with open_sources(place / ".sleuth", request.param) as self.sources:
            yield

    def make(self) -> Retriever:
        return self.sources


def test_a_file_answers_from_one_source(tmp_path: Path) -> None:
    """A page is shown as the document, and a file of code as its definitions, where both sources hold both."""
    project = make_project(tmp_path / "project")
    with Engine.open(project / ".sleuth") as engine:
        engine.index([project])
    with open_sources(project / ".sleuth", ["docs", "code"]) as sources:
        for query in ("bucket refill tokens", "limits", "tokens are refilled every second"):
            ranking = sources.retrieve(query, 10)
            kinds = {
                (str(hit.metadata["path"]).endswith(".md"), hit.metadata["source_type"]) for hit in ranking
            }
            assert kinds <= {(True, "docs"), (False, "code")}, query


def test_every_item_says_its_source(both: Sources) -> None:
    """Documents and code are one ranking on one scale; each item has its label, and explains its score."""
    ranking = both.retrieve(QUERY, 6, explain=True)
    assert {item.metadata["source_type"] for item in ranking} == {"docs", "code"}
    for item in ranking:
        why = item.explanation
        assert why is not None
        assert why.name == "fusion"
        (source,) = why.parts
        (scale,) = source.parts
        assert scale.name == "scale"
        assert item.score == scale.value == source.value
        assert 0 < float(scale.facts["share"]) <= 1
        assert scale.parts  # why the source itself has it where it is
    scores = [item.score or 0.0 for item in ranking]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= 1
    assert all(item.explanation is None for item in both.retrieve(QUERY, 6))
    notes = both.retrieve("which payment processor and xylophone", syntax=True).notes
    assert [note for note in notes if "no passage holds" in note] == ["no passage holds 'xylophone'"]


def test_each_source_keeps_its_order(both: Sources) -> None:
    """The items of one source stand in the order that it gives alone, for any k."""
    alone = {
        kind: [item.id for item in both.retrieve(QUERY, 50, sources=[kind])] for kind in ("docs", "code")
    }
    for k in (1, 3, 10, 12, 50):
        ranking = both.retrieve(QUERY, k)
        for kind, ids in alone.items():
            own = [item.id for item in ranking if item.metadata["source_type"] == kind]
            assert own == ids[: len(own)]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("when is the ledger closed?", "docs"), ("how do I have lunch at noon", "docs"),
        ("function that charges an order", "code"), ("where is the ledger written in code", "code"),
        ("record", "code"), ("a guide to the ledger of a month", "docs"),
    ],
)  # fmt: skip
def test_the_right_source_comes_first(both: Sources, query: str, kind: str) -> None:
    """A question that documents answer finds them first, and one about code finds code."""
    assert both.retrieve(query, 1)[0].metadata["source_type"] == kind


def service(*texts: str, heading: str = "") -> Fixed:
    """Return a service that answers anything with the same items, without scores that mean something."""
    metadata = {"heading": heading}
    return Fixed(*(RetrievedItem(id=text, text=text, metadata=metadata, score=1e6) for text in texts))


def test_scores_of_a_service_do_not_count(both: Sources) -> None:
    """A retriever of one's own stands where its texts belong, whatever scores it gives."""
    wiki = service("Bread is baked in the morning.", "Rivers flow into the sea.")
    sources = Sources({**both.retrievers, "wiki": wiki})
    kinds = [item.metadata["source_type"] for item in sources.retrieve(QUERY, 100)]
    assert "wiki" in kinds
    assert "wiki" not in kinds[:3]
    baking = sources.retrieve("bread that is baked", 10)
    assert baking[0].metadata["source_type"] == "wiki"


def test_gibberish_finds_nothing_in_any_source(both: Sources) -> None:
    """A service that answers anything is not shown for gibberish, unless a text holds one of its words."""
    wiki = service("Bread is baked in the morning.", "The error qwxz means that the disk is full.")
    for retrievers in ({**both.retrievers, "wiki": wiki}, {"wiki": wiki}):
        sources = Sources(retrievers)
        assert len(sources.retrieve("hjkl fghj")) == 0
        assert len(sources.retrieve("rtyu qwxz")) == 2
        assert len(sources.retrieve("rtyu -qwxz", syntax=True)) == 0
        # The service may know what the default embedder does not.
        assert len(sources.retrieve("แมวนอนอยู่ที่ไหน")) == 2


@pytest.mark.parametrize(
    ("name", "text", "name_of_other", "text_of_other"),
    [
        ("", "Order lunch at noon.", "", "Order lunch at noon. " + "Some other words of a long page. " * 40),
        ("Lunch", "Order it at noon, or later.", "Supper", "Order it at noon, or sooner."),
    ],
    ids=["a long text counts less", "a heading counts beside the text"],
)
def test_lengths_and_names_count(name: str, text: str, name_of_other: str, text_of_other: str) -> None:
    """Of two sources that hold the words, the shorter text comes first, and the one whose heading has them."""
    sources = Sources(
        {"first": service(text, heading=name), "second": service(text_of_other, heading=name_of_other)}
    )
    ranking = sources.retrieve("order lunch", explain=True)
    assert [item.metadata["source_type"] for item in ranking] == ["first", "second"]
    facts = [item.explanation.parts[0].parts[0].facts for item in ranking if item.explanation is not None]
    assert [fact["name"] for fact in facts] == [0.5 * (name == "Lunch"), 0]


def test_shares_without_vectors(both: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the default embedder is not installed, a share is that of the query's words."""
    monkeypatch.setattr("sleuth.dense.wordllama.has_wordllama", lambda: False)
    ranking = both.retrieve("ledger closed zebra", 3, explain=True)
    first = ranking[0].explanation
    assert first is not None
    assert first.parts[0].parts[0].facts["share"] == pytest.approx(2 / 3)
    assert ranking[0].id.startswith("closing")


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ("source_type:code", {"code"}), ("source_type:docs", {"docs"}), ("-source_type:docs", {"code"}),
        (as_filter("source_type:code"), {"code"}),
        ("source_type:code OR year>=2024", {"docs", "code"}), ("source_type:docs year:2020", {"docs"}),
        ("source_type:code year:2020", set()), ("kind:function", {"code"}), ("source_type:web", set()),
    ],
)  # fmt: skip
def test_one_filter_for_all(both: Sources, filter: Any, labels: set[str]) -> None:
    """Every source applies the filter, including conditions on the label, which documents do not store."""
    assert {item.metadata["source_type"] for item in both.retrieve(QUERY, 50, filter=filter)} == labels


def test_answers_cite_documents_and_code(both: Sources) -> None:
    """Sources answer questions as an engine does, and the answer's source list has the type of each."""
    types = set()
    for question in ("When is the ledger closed?", "which class charges orders?"):
        result = both.search(question, 4, "with_items")
        assert result.is_ok()
        assert result.used_source_ids
        types |= {source["source_type"] for source in result.extra["sources"]}
    assert types == {"docs", "code"}


def test_failures_are_named(place: Path) -> None:
    """If a source fails, the others answer; if all fail, the error names each."""
    down = Fixed(error=ConnectionError("no route"))
    with open_sources(place / ".sleuth", ["code"], extra={"wiki": down}) as sources:
        ranking = sources.retrieve(QUERY, 3)
        assert len(ranking) == 3
        assert [(part.name, part.error) for part in ranking.failures] == [("wiki", "no route")]
        assert sources.search(QUERY).detail is not None
    all_down = Sources({"wiki": down, "other": down})
    with pytest.raises(RetrievalError, match="wiki: no route"), all_down:
        all_down.retrieve(QUERY)


def test_failures_inside_a_source_are_named(both: Sources) -> None:
    """A failed leg of a source is reported under the name of the source."""
    part = sleuth.PartReport("dense", "failed", error="no model")
    degraded = Fixed(RetrievedItem(id="a", text="b", score=1.0), parts=[part])
    ranking = Sources({"wiki": degraded, "docs": both}).retrieve("ledger", 50)
    assert [(part.name, part.error) for part in ranking.failures] == [("wiki/dense", "no model")]
    assert {item.metadata["source_type"] for item in ranking} == {"wiki", "docs"}


def test_wrong_arguments(place: Path, both: Sources, tmp_path: Path) -> None:
    """Each invalid argument raises an error with the valid values."""
    for wrong in (["books"], ["kb:"], ["code:"], ["docs:x"], [3]):
        with pytest.raises(
            ArgumentError, match="sources must be among docs, code, code:REPOSITORY, web, kb:ID"
        ):
            open_sources(place / ".sleuth", wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="at least one"):
        open_sources(place / ".sleuth", [])
    with pytest.raises(UnknownRepositoryError, match="/nowhere"):
        open_sources(place / ".sleuth", ["code:/nowhere"])
    with pytest.raises(FilterError):
        both.retrieve("x", filter="year>")
    with pytest.raises(IndexNotFoundError):
        open_sources(tmp_path / "none", ["docs"])
    with Sources({"web": Fixed()}) as closed, pytest.raises(TypeError, match="pass the path of the index"):
        pickle.dumps(closed)
    with pytest.raises(StoreError, match="is closed: open it again"):
        closed.retrieve(QUERY)


def test_an_index_of_code_alone(place: Path, tmp_path: Path) -> None:
    """Opening documents of an index with only code raises an error that says so."""
    with open_code(tmp_path / "ix", create=True) as storage:
        repository = index_path(storage, place / "shop", workers=1).repository
    with pytest.raises(
        IndexNotFoundError, match=r"holds code and no documents: .*serve --in code` serves it"
    ):
        Engine.open(tmp_path / "ix")
    with open_sources(tmp_path / "ix", [f"code:{repository}"]) as sources:
        assert sources.retrieve(QUERY, 1)[0].metadata["path"].startswith("shop/")
        assert sources.search(QUERY).is_ok()


def run(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return commands.sleuth(*arguments, cwd=place, **environment)


def test_all_sources_at_a_shell(place: Path, tmp_path: Path) -> None:
    """`--in` combines documents, code, the web and a knowledge base; an unreachable service is named."""
    page = {"url": "https://a.org/x", "title": "Ledgers", "content": "An order goes to the ledger."}
    with (
        TavilyServer([page]) as web,
        Engine.open(tmp_path / "hosted", create=True) as hosted,
        BedrockServer(LocalKnowledgeBase(hosted)) as aws,
    ):
        hosted.add(
            [Document("The ledger holds each order.", {"topic": "ledger"}, id="s3://bucket/order.txt")]
        )
        environment = {
            "TAVILY_BASE_URL": web.url, "TAVILY_API_KEY": "tvly-local", "XDG_CACHE_HOME": str(tmp_path),
            "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_ENDPOINT_URL": aws.url,
        }  # fmt: skip
        options = ("--in", "docs", "--in", "code", "--in", "web", "--in", f"kb:{KB}")
        process = run(place, "search", *options, "-k", "20", "--json", "order ledger", **environment)
        assert process.returncode == 0, process.stderr
        answer = json.loads(process.stdout)
        kinds = {item["metadata"]["source_type"] for item in answer["items"]}
        assert kinds == {"docs", "code", "web", f"kb:{KB}"}
        output = run(place, "ask", *options, "what goes to the ledger?", **environment)
        assert output.returncode == 0, output.stderr
        assert "https://a.org/x" in output.stdout
    process = run(place, "search", "--in", "code", "--in", "web", "ledger", "-k", "3", TAVILY_API_KEY="")
    assert process.returncode == 0
    assert "shop/ledger.py:" in process.stdout
    assert "  code\n" in process.stdout
    assert "def record(order):" in process.stdout
    assert "sleuth: web failed: no API key" in process.stderr


def index_and_change(folder: Path) -> None:
    """Index the code of a shop, and write a file into it afterwards."""
    write(folder / "shop", dict(SHOP))
    with open_code(folder / ".sleuth", create=True) as storage:
        index_path(storage, folder / "shop", workers=1)
    (folder / "shop" / "refund.py").write_text("def refund_voucher(order):\n    return -order.total\n")


def test_code_at_a_shell_is_that_of_the_worktree(tmp_path: Path) -> None:
    """`--in code` answers from the files as they are; of a folder that is gone, it answers and says so."""
    index_and_change(tmp_path)
    process = run(tmp_path, "search", "--in", "code", "refund voucher")
    assert "shop/refund.py:" in process.stdout
    assert not process.stderr
    (tmp_path / "shop").rename(tmp_path / "moved")
    process = run(tmp_path, "search", "--in", "code", "refund voucher")
    assert "refund.py:" in process.stdout
    assert "sleuth: stale: " in process.stderr
    assert "cannot be compared with its snapshot" in process.stderr


def test_python_looks_at_the_worktree_where_it_is_asked_to(tmp_path: Path) -> None:
    """`open_sources` opens the newest snapshot, and takes one before with `refresh=True`."""
    index_and_change(tmp_path)
    for refresh in (False, True):
        with open_sources(tmp_path / ".sleuth", ["code"], refresh=refresh) as sources:
            names = {Path(item.metadata["source"]).name for item in sources.retrieve("refund voucher")}
            assert ("refund.py" in names) == refresh
            assert sources.warnings == ()


def test_at_a_shell_documents_are_the_default(place: Path) -> None:
    """Without `--in` only documents are searched; options that only documents have are refused with other sources."""
    plain = run(place, "search", "ledger", "--json")
    assert {item["id"].partition("#")[0] for item in json.loads(plain.stdout)["items"]} <= {
        "rules",
        "closing",
        "lunch",
    }
    assert run(place, "search", "--in", "docs", "--leg", "lexical", "ledger").returncode == 0
    refused = run(place, "search", "--in", "docs", "--in", "code", "--leg", "lexical", "ledger")
    assert refused.returncode == 2
    assert "legs must be left out where other sources than docs are searched" in refused.stderr
    unknown = run(place, "search", "--in", "books", "ledger")
    assert unknown.returncode == 2
    assert "docs, code, code:REPOSITORY, web, kb:ID" in unknown.stderr


def test_the_guide_names_all_sources() -> None:
    """The table of the guide has each spelling of a source."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "several-sources.md").read_text("utf8")
    for name in SPELLINGS.split(", "):
        assert f"`{name}`" in text
