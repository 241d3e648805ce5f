"""Code over HTTP: search, definitions and references."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import index_path
from sleuth.engine import open_code
from tests.commands import sleuth
from tests.surfaces.project import make_project
from tests.waiting import wait_until

from .conftest import Local, running, serving


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("code") / "project")


@pytest.fixture(scope="module")
def shop(root: Path) -> Iterator[Local]:
    """Run a server with the project's code."""
    with serving(root / ".sleuth", sources=("docs", "code")) as started:
        yield started


def test_code_alone_is_served(root: Path, tmp_path: Path) -> None:
    """`serve --in code` needs an index of code and none of documents, and finds what is indexed while it runs."""
    assert "`sleuth code index" in sleuth("serve", "--in", "code", "--index", "code", cwd=tmp_path).stderr
    with open_code(tmp_path / "code", create=True) as storage:
        index_path(storage, root, workers=1)
        with running(tmp_path / "code", "--in", "code", "--quiet") as server:
            hits = server.client.post("/v1/search", json={"query": "refill"}).json()["items"]
            assert {hit["metadata"]["source_type"] for hit in hits} == {"code"}
            (tmp_path / "later.py").write_text("def refill_later(): pass\n")
            index_path(storage, tmp_path)
            hits = server.client.post("/v1/search", json={"query": "refill later"}).json()["items"]
    assert "later.py" in {hit["metadata"]["path"] for hit in hits}


def get(shop: Local, what: str, **parameters: Any) -> Any:
    answer = shop.client.get(f"/v1/code/{what}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_search_finds_the_lines(shop: Local, root: Path) -> None:
    """The best hit is the definition with its file, lines and text; filters apply."""
    body = {"query": "where are tokens of some seconds added", "k": 3}

    def hits(**more: Any) -> Any:
        return shop.client.post("/v1/code/search", json=body | more).json()["hits"]

    answer = shop.client.post("/v1/code/search", json=body).json()
    best = answer["hits"][0]
    assert answer["repository"] == str(root)
    assert best["file_path"] == "src/bucket.py"
    assert "def refill" in best["text"]
    assert [part["status"] for part in answer["parts"]] == ["ok", "ok"]
    assert {hit["file_path"] for hit in hits(paths=["src/shop.py"])} == {"src/shop.py"}
    assert all("class_definition" in hit["semantic_labels"] for hit in hits(labels=["class_definition"]))
    assert hits(languages=["rust"]) == []


def test_search_at_a_tag_sees_its_code(shop: Local) -> None:
    """With `at`, the code of that commit answers."""
    for at, name in (("v1", "replenish"), (None, "refill")):
        body = {"query": "tokens of some seconds", "k": 1, "at": at}
        (hit,) = shop.client.post("/v1/code/search", json=body).json()["hits"]
        assert f"def {name}" in hit["text"]


def test_files_that_changed_are_told(tmp_path: Path) -> None:
    """An answer of the newest snapshot says how many files differ from it and names some; one of a commit does not."""
    root = make_project(tmp_path / "project")
    with serving(root / ".sleuth", sources=("docs", "code")) as server:
        assert get(server, "definitions", name="refill")["stale"]["files"] in (0, None)
        source = root / "src" / "bucket.py"
        source.write_text(source.read_text() + "\n\ndef drain():\n    return 0\n")
        stale = {"files": 1, "paths": [str(source)]}
        wait_until(lambda: get(server, "definitions", name="drain")["stale"] == stale)
        assert get(server, "definitions", name="serve")["stale"] == stale
        assert get(server, "definitions", name="refill", at="v1")["stale"] is None


def test_definitions_and_references(shop: Local) -> None:
    """A definition has its place; a reference has its use, its role and its definition."""
    (definition,) = get(shop, "definitions", name="TokenBucket.refill")["definitions"]
    assert (definition["file_path"], definition["line"]) == ("src/bucket.py", 7)
    (use,) = get(shop, "references", name="refill")["references"]
    assert (use["file_path"], use["line"], use["role"]) == ("src/shop.py", 6, "call")
    assert use["definition"]["name"] == "TokenBucket.refill"
    assert [one["line"] for one in get(shop, "definitions", name="replenish", at="v1")["definitions"]] == [7]
    assert get(shop, "definitions", name="replenish")["definitions"] == []
    for kind in ("definitions", "references"):
        assert get(shop, kind, name="TokenBucket.refil")["near"] == ["TokenBucket.refill"]
        assert get(shop, kind, name="TokenBucket.refill")["near"] == []


def test_documents_and_code_are_one_ranking(shop: Local) -> None:
    """Several sources answer together: each hit has its source, each source has a report, filters and pages work."""
    body = {"query": "how are tokens refilled", "sources": ["docs", "code"], "explain": True}
    whole = shop.client.post("/v1/search", json={**body, "k": 6}).json()
    assert {hit["metadata"]["source_type"] for hit in whole["items"]} == {"docs", "code"}
    assert {part["name"].partition(":")[0] for part in whole["parts"]} == {"docs", "code"}
    assert all(hit["explanation"] for hit in whole["items"])
    ids, page = [], dict[str, Any](next_cursor="")
    while (cursor := page["next_cursor"]) is not None:
        page = shop.client.post("/v1/search", json={**body, "k": 1, "cursor": cursor or None}).json()
        ids += [hit["id"] for hit in page["items"]]
    assert ids[:6] == [hit["id"] for hit in whole["items"]]
    assert len(ids) == len(set(ids))
    only = shop.client.post("/v1/search", json={**body, "filter": {"source_type": "code"}}).json()["items"]
    assert {hit["metadata"]["source_type"] for hit in only} == {"code"}


@pytest.mark.parametrize(
    ("name", "value"), [("legs", ["lexical"]), ("fusion", "rrf"), ("expand", "document")]
)
def test_options_of_documents_are_refused_for_code(shop: Local, name: str, value: Any) -> None:
    """What only the documents can be asked for is refused with other sources, and not ignored."""
    answer = shop.client.post("/v1/search", json={"query": "tokens", name: value})
    assert (answer.status_code, answer.json()["code"]) == (422, "ArgumentError")
    assert answer.json()["detail"].startswith(f"{name} must be left out")
    body = {"query": "tokens", name: value, "sources": ["docs"]}
    assert shop.client.post("/v1/search", json=body).status_code == 200


def test_repositories_are_listed(shop: Local, root: Path) -> None:
    """A repository has its path, its newest snapshot and that snapshot's names."""
    (entry,) = get(shop, "repositories")["repositories"]
    assert entry["path"] == str(root)
    assert entry["snapshot"] == get(shop, "definitions", name="serve")["snapshot"]
    missing = shop.client.get("/v1/code/definitions", params={"name": "a", "repository": "/nowhere"})
    assert (missing.status_code, missing.json()["code"]) == (404, "UnknownRepositoryError")
