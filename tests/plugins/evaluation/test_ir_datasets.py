"""Collections of the package ir_datasets, from its own folder and from files of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from sleuth.errors import EvaluationError
from sleuth.plugins.evaluation import open_collection
from tests.code.conftest import write
from tests.commands import sleuth_process
from tests.documents import check_examples

ir_datasets: Any = pytest.importorskip("ir_datasets", reason="it is no dependency: pip install ir_datasets")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of ir_datasets in the layout of a collection that was downloaded, which is `antique/test` here."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    files = {"collection.tsv": "a\tA bucket is refilled every second.\nb\tA user logs in with a link.\n"}
    files |= {"test/queries.txt": "1\tbucket refilled\n2\tnot judged\n", "test/qrels": "1 U0 a 4\n"}
    write(tmp_path / "home" / "antique", files)
    return tmp_path


def test_a_downloaded_collection_is_measured(home: Path) -> None:
    """`sleuth index eval ir_datasets:ID` reads the package's folder, ranks judged queries and keeps its index there."""
    arguments = ("index", "eval", "ir_datasets:antique/test", "--measures", "nDCG@10", "--json")
    done = sleuth_process(*arguments, cwd=home, IR_DATASETS_HOME=str(home / "home"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["queries"] == 1
    assert answer["means"] == {"nDCG@10": 1.0}
    assert (home / "home" / "sleuth" / "antique" / "test" / ".sleuth-eval").is_dir()


def test_files_of_ones_own_have_an_id(home: Path) -> None:
    """TSV and TREC files that are registered in ir_datasets are a collection, too."""
    docs = "d1\tA bucket is refilled.\nd2\tA link.\n"
    write(home, {"docs.tsv": docs, "queries.tsv": "q\tbucket\n", "qrels": "q 0 d1 1\n"})
    own = ir_datasets.create_dataset(home / "docs.tsv", home / "queries.tsv", home / "qrels")
    if "sleuth-own" not in ir_datasets.registry:
        ir_datasets.registry.register("sleuth-own", own)
    collection = open_collection("ir_datasets:sleuth-own")
    assert [document.page_content for document in collection.documents()] == [
        "A bucket is refilled.",
        "A link.",
    ]
    assert collection.qrels == {"q": {"d1": 1}}


@pytest.mark.parametrize(("id", "reason"), [("no/such/id", "ir-datasets.com"), ("antique", "without")])
def test_an_id_without_judgements_is_refused(home: Path, id: str, reason: str) -> None:
    """An unknown id, and a collection without judgements, are named."""
    with pytest.raises(EvaluationError, match=reason):
        open_collection(f"ir_datasets:{id}")


def test_the_split_is_a_part_of_the_id(home: Path) -> None:
    """A split beside an id is refused: it would be ignored."""
    with pytest.raises(EvaluationError, match="part of the id"):
        open_collection("ir_datasets:antique/test", "dev")


def test_the_guide_is_true(tmp_path: Path) -> None:
    """The examples print what the guide says."""
    check_examples("Collections", tmp_path)
