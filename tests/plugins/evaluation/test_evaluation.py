"""Collections, runs and measures."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sleuth import Document, Engine
from sleuth.engine import Fusion
from sleuth.errors import EvaluationError, SleuthError
from sleuth.plugins.evaluation import best_passages, make_run, open_collection, score
from sleuth.plugins.evaluation.collections import read_qrels
from sleuth.plugins.evaluation.command import search
from sleuth.surfaces.cli.app import app
from sleuth.types import Ranking, RetrievedItem
from tests.code.conftest import write

DOCUMENTS = {"d1": "Tokens are refilled every second.", "d2": "Cats sleep.", "d3": "A bucket of tokens."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"_id": id, "title": "", "text": text} for id, text in DOCUMENTS.items()]
    texts = {"q1": "refill tokens", "q2": "cats", "q9": "x"}
    queries = [{"_id": id, "text": text} for id, text in texts.items()]
    files = {
        "corpus.jsonl": "\n".join(map(json.dumps, rows)),
        "queries.jsonl": "\n".join(map(json.dumps, queries)),
    }
    judged = "query-id\tcorpus-id\tscore\nq1\td3\t1\nq2\td2\t2\n"
    return write(tmp_path, {**files, "qrels/test.tsv": judged})


def test_a_collection_end_to_end(folder: Path, engine: Engine) -> None:
    """Indexing, searching and measuring give nDCG 1/log2(3) for an answer in second place."""
    collection = open_collection(folder)
    assert set(collection.queries) == {"q1", "q2"}
    engine.add(collection.documents())
    run = make_run(engine, collection.queries)
    scores = score(run, collection.qrels)
    assert scores.per_query["nDCG@10"] == pytest.approx({"q1": 1 / math.log2(3), "q2": 1.0})
    assert scores.means["RR"] == pytest.approx(0.75)


def test_measures() -> None:
    """Two spellings of a measure have one value; a query without hits counts as 0 in the mean."""
    assert score({"q": {"d": 1.0}}, {"q": {"d": 1}}, ["RR", "MRR"]).means == {"RR": 1.0, "MRR": 1.0}
    assert score({}, {"q": {"d": 1}}).means["nDCG@10"] == 0.0


@pytest.mark.parametrize(
    "measure", ["goodness", "SetP@0", "nDCG@0", "P", "P@x", "", "RR@1.5", "P@" + "9" * 30, "P(rel=0)@5"]
)
def test_measures_that_cannot_be_taken_are_refused(measure: str) -> None:
    """Unknown measures, and those that crash or raise errors of ir_measures, raise an error."""
    with pytest.raises(EvaluationError, match=r"measure|spelled"):
        score({"q": {"d": 1.0}}, {"q": {"d": 1}}, ["RR", measure])


def test_bad_collections_are_named(folder: Path) -> None:
    """A missing file, split or column raises an error that names it."""
    with pytest.raises(EvaluationError, match="split must be among test"):
        open_collection(folder, "dev")
    (folder / "qrels" / "test.tsv").write_text("q1 d3 1\n")
    with pytest.raises(EvaluationError, match=r"test.tsv:1 must hold query, document"):
        read_qrels(folder / "qrels" / "test.tsv")
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(EvaluationError, match=r"lacks corpus.jsonl"):
        open_collection(folder)


def test_the_order_of_a_ranking_is_judged() -> None:
    """A document has the score of its first passage, and tied ones stand in the order of the ranking."""
    items = [RetrievedItem(id=id, text="", score=s) for id, s in [("a#0", 3.0), ("a#1", 2.0), ("b#0", 1.0)]]
    assert best_passages(Ranking(items), 2) == {"a": 3.0, "b": 1.0}
    tied = [RetrievedItem(id=f"{id}#0", text="", score=0.7) for id in ("a", "c", "b")]
    passages = best_passages(Ranking(tied), 3)
    assert score({"q": passages}, {"q": {"a": 1}}, ["RR"]).means["RR"] == 1
    assert score({"q": passages}, {"q": {"b": 1}}, ["RR"]).means["RR"] == pytest.approx(1 / 3)
    assert passages["a"] == 0.7
    assert list(passages.values()) == pytest.approx([0.7] * 3)


def test_the_command(folder: Path, tmp_path: Path) -> None:
    """`sleuth index eval` prints a line for each measure, or JSON."""
    from tests.commands import sleuth

    result = sleuth("index", "eval", str(folder), "--leg", "lexical", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "nDCG@10" in result.stdout
    assert sleuth("index", "eval", str(tmp_path / "nowhere"), cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", b'{"_id": "d1", "text": "a"}\n[1]\n', r"corpus.jsonl:2 must be a JSON object"),
        ("corpus.jsonl", b'{"_id": "d1", "text": null}\n', r"corpus.jsonl:1 .*'text', got None"),
        ("corpus.jsonl", b'{"_id": " ", "text": "a"}\n', r"corpus.jsonl:1 .*'_id', got ' '"),
        (
            "corpus.jsonl",
            b'{"_id": "d1", "text": "a"}\n\n{"_id": "d2", "text": "\xff"}\n',
            r"corpus.jsonl:3 .*UTF-8",
        ),
        ("queries.jsonl", b'{"_id": "q1"}\n', r"queries.jsonl:1 .*'text', got None"),
        ("queries.jsonl", b'{"text": "a"}\n', r"queries.jsonl:1 .*'_id', got None"),
        ("queries.jsonl", b"1\n", r"queries.jsonl:1 must be a JSON object"),
        ("qrels/test.tsv", "q1\td3\t²\n".encode(), r"test.tsv:1 must hold query"),
        ("qrels/test.tsv", b"q1\td3\t--1\n", r"test.tsv:1 must hold query"),
        ("qrels/test.tsv", b"q1\td3\t1.0\n", r"test.tsv:1 must hold query"),
        ("qrels/test.tsv", b"q1\td3\t" + b"1" * 5000, r"test.tsv:1 must hold query"),
        ("qrels/test.tsv", b"a\tb\tscore\nq1\td3\t\n", r"test.tsv:2 must hold query"),
        ("qrels/test.tsv", b"q1\td3\t1\nq1\td3\t1\nq1\td3\t0\n", r"test.tsv:3 must judge 'd3' .* 1, got 0"),
        ("qrels/test.tsv", b"a\tb\tscore\n", r"test.tsv must judge at least one query"),
        ("corpus.jsonl", b"\n", r"corpus.jsonl must hold at least one document"),
        ("corpus.jsonl", b'{"_id": "d1", "text": "\\ud800"}\n', r"corpus.jsonl:1 .* lone surrogates"),
        (
            "corpus.jsonl",
            b'{"_id": "d1", "text": "", "title": "\\udfff"}\n',
            r"corpus.jsonl:1 .* lone surrogates",
        ),
        (
            "queries.jsonl",
            b'{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n',
            r"queries.jsonl must hold one text of 'q1'",
        ),
    ],
)
def test_files_of_another_form_are_named(folder: Path, file: str, content: bytes, message: str) -> None:
    """A malformed file raises an error with the file, the line and the rule."""
    (folder / file).write_bytes(content)
    with pytest.raises(EvaluationError, match=message):
        list(open_collection(folder).documents())


def test_judgements_need_no_header(folder: Path) -> None:
    """The first line is a judgement if its third field is a number."""
    (folder / "qrels" / "test.tsv").write_text("\ufeffq1\td3\t1\n\nq2\td2\t-1\r\n", encoding="utf8")
    assert read_qrels(folder / "qrels" / "test.tsv") == {"q1": {"d3": 1}, "q2": {"d2": -1}}


def test_the_index_follows_the_corpus(folder: Path) -> None:
    """After an interrupted run or a changed corpus, the current corpus is measured."""
    index_of = partial(search, legs=["lexical"], fusion=None, k=10, show=print)
    with Engine.open(folder / ".sleuth-eval", create=True) as engine:
        engine.add([Document("Cats sleep. Cats.", id="old"), Document("Nothing.", id="d2")])
    assert index_of(open_collection(folder))["q2"].keys() == {"d2"}
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "d9", "text": "Cats"}))
    assert index_of(open_collection(folder)) == {"q1": {}, "q2": {"d9": pytest.approx(0.4, abs=1)}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--measures", "nDCG@0"], "cutoff"),
        (["--leg", "words"], "--leg must be one of lexical, dense"),
        (["--leg", "lexical", "--fusion", "sum"], "method must be one of"),
    ],
)
def test_the_command_checks_before_it_works(folder: Path, arguments: list[str], message: str) -> None:
    """Options that cannot be met are refused before indexing."""
    result = CliRunner().invoke(app, ["index", "eval", str(folder), *arguments])
    assert isinstance(result.exception, SleuthError)
    assert message in str(result.exception)
    assert not (folder / ".sleuth-eval").exists()


def test_options_of_the_command(folder: Path) -> None:
    """A repeated leg counts once, a k above the number of documents returns all, and the folder's own index stays."""
    with Engine.open(folder / ".sleuth", create=True) as engine:
        engine.add([Document("Notes.", id="notes")])
    options = ["--leg", "dense", "--leg", "dense", "-k", str(10**20), "--json"]
    result = CliRunner().invoke(app, ["index", "eval", str(folder), *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["means"].keys() == {"nDCG@10", "R@100", "RR", "AP"}
    with Engine.open(folder / ".sleuth") as engine:
        assert [document.id for document in engine.documents()] == ["notes"]


def test_what_is_judged_is_what_is_shown(folder: Path) -> None:
    """A run of 100 documents has the pool of the default fusion, so it begins as the ranking for any smaller k."""
    limits: list[int] = []

    class Counting:
        def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
            limits.append(k)
            return Ranking(())

    make_run(Counting(), {"q1": "cats"})
    assert limits == [Fusion().pool]
