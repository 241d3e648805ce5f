"""Keys that are limited to some code: what they see at every door."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from sleuth import CodeStorage, Engine, index_path, open_code
from sleuth.code import CodeRetriever, Navigator, repository_map
from sleuth.code.snapshots.scope import CodeView
from sleuth.engine.freshness import Refresher, Stale
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.http import add_key
from sleuth.surfaces.http.keys import read_keys
from tests.code.conftest import write
from tests.surfaces.project import git

from .conftest import DOCUMENTS, Local, serving

FILES = {
    "shop/api/cart.py": "class Cart:\n    def refill_tokens(self):\n        return vault_total(1)\n",
    "shop/api/deep/price.py": "def price_of(cart):\n    '''Price of the tokens of a cart.'''\n    return 3\n",
    "shop/vault/zebra.py": "def vault_total(n):\n    '''Refill tokens of the vault.'''\n    return n\n",
    "other/zebra.py": "class ZebraLedger:\n    def refill_tokens(self):\n        return vault_total(2)\n",
}
HIDDEN = ("zebra", "Zebra", "vault.")
"""What a key for `shop/api` must not see; `vault_total` is also a word of a file that it sees."""


class Shop(NamedTuple):
    server: Local
    root: Path

    def ask(self, key: str, method: str, path: str, body: Any = None, /, **parameters: Any) -> httpx.Response:
        return self.server.ask(key, method, path, body, params=parameters)

    def tool(self, key: str, tool: str, /, **arguments: Any) -> str:
        """Return the answer of a tool for agents, or its error."""
        return self.server.tool(key, tool, **arguments).text


def make_repositories(root: Path) -> Path:
    """Create two repositories with a commit each, and an index of both beside some documents."""
    write(root, FILES)
    with Engine.open(root / ".sleuth", create=True) as engine:
        engine.add(DOCUMENTS)
    with open_code(root / ".sleuth", create=True) as storage:
        for name in ("shop", "other"):
            git(root / name, "init", "-q")
            git(root / name, "add", ".")
            git(root / name, "commit", "-q", "-m", f"begin {name}")
            index_path(storage, root / name)
    return root


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    root = make_repositories(tmp_path_factory.mktemp("code_keys"))
    file = root / "keys.json"
    keys = {
        "all": add_key(file, "all"),
        "api": add_key(file, "api", code=[f"{root}/shop/api"]),
        "shop": add_key(file, "shop", code=[str(root / "shop")]),
        "acme": add_key(file, "acme", filter="tenant:acme"),
        "both": add_key(file, "both", filter="tenant:acme", code=[f"{root}/shop/api"]),
        "gone": add_key(file, "gone", code=["/nowhere/at/all"]),
    }
    sources = ("docs", "code")
    with serving(root / ".sleuth", keys=file, sources=sources, extensions=extensions()) as server:
        server.keys = keys
        yield Shop(server, root)


def assert_hidden(answer: httpx.Response) -> None:
    """Check that an answer holds nothing that is hidden from the key for `shop/api`."""
    assert answer.status_code == 200, answer.text
    text = answer.text.replace("vault_total", "")
    assert not [word for word in HIDDEN if word in text], text


CODE_PATHS: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("POST", "/v1/code/search", {"query": "refill tokens of the vault", "k": 50}, {}),
    ("POST", "/v1/search", {"query": "refill tokens of the vault", "sources": ["code"], "k": 50}, {}),
    ("POST", "/v1/search", {"query": "refill tokens of the vault", "k": 50}, {}),
    ("POST", "/v1/ask", {"query": "who refills tokens of the vault?", "passages": True}, {}),
    ("GET", "/v1/code/definitions", None, {"name": "refill_tokens"}),
    ("GET", "/v1/code/definitions", None, {"name": "vault_total"}),
    ("GET", "/v1/code/references", None, {"name": "vault_total"}),
    ("GET", "/v1/code/repositories", None, {}),
    ("GET", "/", None, {"q": "refill tokens of the vault"}),
    ("GET", "/", None, {"q": "refill tokens of the vault", "in": "code"}),
    ("GET", "/symbol", None, {"name": "refill_tokens"}),
    ("GET", "/browse", None, {}),
    ("GET", "/contents", None, {}),
    ("GET", "/answer", None, {"q": "who refills tokens of the vault?"}),
]


@pytest.mark.parametrize(("method", "path", "body", "parameters"), CODE_PATHS)
def test_a_folder_is_all_that_a_key_sees(
    shop: Shop, method: str, path: str, body: Any, parameters: dict[str, Any]
) -> None:
    """At every door a key for a folder gets code of that folder, and nothing that names another."""
    assert_hidden(shop.ask("api", method, path, body, **parameters))
    assert_hidden(shop.ask("both", method, path, body, **parameters))


def test_other_code_is_as_if_it_were_not_there(shop: Shop) -> None:
    """Files, repositories and sources that a key does not see are not found, or not offered."""
    other = str(shop.root / "other")
    named = {"name": "vault_total", "repository": other}
    assert shop.ask("api", "GET", "/v1/code/references", **named).status_code == 404
    assert "shop" not in shop.ask("gone", "GET", "/v1/code/references", **named).text
    assert "name must be a file" in shop.tool("api", "history", name="vault/zebra.py")
    assert shop.ask("gone", "GET", "/v1/code/references", name="vault_total").status_code == 422
    assert shop.ask("gone", "GET", "/v1/code/repositories").json() == {"repositories": []}
    search = {"query": "refill", "sources": ["code"]}
    assert shop.ask("gone", "POST", "/v1/search", search).status_code == 404
    for path in (f"{shop.root}/shop/vault/zebra.py:1-2", f"{other}/zebra.py:1-2"):
        assert shop.ask("api", "GET", "/source", id=path).status_code == 404
        assert shop.ask("all", "GET", "/source", id=path).status_code == 200


def test_keys_of_code_find_their_code(shop: Shop) -> None:
    """The folder is found at each door; a key for the repository sees all of it and nothing of the other."""
    for key in ("api", "both", "shop"):
        hits = shop.ask(key, "POST", "/v1/code/search", {"query": "price of tokens"}).json()["hits"]
        assert hits[0]["file_path"] == "api/deep/price.py"
        items = shop.ask(key, "POST", "/v1/search", {"query": "price of a cart", "sources": ["code"]}).json()
        assert "price_of" in items["items"][0]["text"]
        assert shop.ask(key, "GET", "/v1/code/definitions", name="price_of").json()["definitions"]
        assert "price.py" in shop.ask(key, "GET", "/", q="price_of", **{"in": "code"}).text
        assert "price_of" in shop.tool(key, "definitions", name="price_of")
    vault = shop.ask("shop", "GET", "/v1/code/references", name="vault_total").json()
    assert [each["file_path"] for each in vault["definitions"]] == ["vault/zebra.py"]
    assert {each["file_path"] for each in (*vault["references"], *vault["uncertain"])} == {"api/cart.py"}
    names = [each["path"] for each in shop.ask("shop", "GET", "/v1/code/repositories").json()["repositories"]]
    assert names == [str(shop.root / "shop")]


def test_documents_and_code_are_limited_apart(shop: Shop) -> None:
    """A key with code alone sees no document, one with a filter alone no code, one with both some of both."""
    count = {key: shop.ask(key, "POST", "/v1/count", {}).json()["documents"] for key in shop.server.keys}
    assert count == {"all": 3, "api": 0, "shop": 0, "acme": 2, "both": 2, "gone": 0}
    assert shop.ask("acme", "GET", "/v1/code/repositories").json()["code"] == "ScopeError"
    assert shop.ask("acme", "GET", "/v1/code/definitions", name="price_of").json()["code"] == "ScopeError"
    assert shop.ask("api", "GET", "/v1/documents/limits.md").status_code == 404
    assert shop.ask("both", "GET", "/v1/documents/limits.md").status_code == 200
    assert shop.ask("both", "GET", "/v1/documents/cats.md").status_code == 404
    document = {"documents": [{"text": "Planted."}]}
    assert shop.ask("api", "POST", "/v1/documents", document).status_code == 422
    for path in ("/v1/status", "/metrics"):
        assert shop.ask("api", "GET", path).status_code == 403
    items = shop.ask("both", "POST", "/v1/search", {"query": "tokens refilled", "k": 20}).json()["items"]
    assert {item["metadata"].get("tenant", "code") for item in items} == {"acme", "code"}


def test_tools_of_agents_are_limited(shop: Shop) -> None:
    """Each tool about code answers from the folder alone, the worktree's new files included."""
    new = shop.root / "shop" / "vault" / "new_zebra.py"
    new.write_text("refill_more = 'tokens'\n")
    try:
        assert "new_zebra" in shop.tool("all", "grep", pattern="refill_more")
        for key in ("api", "both"):
            answers = [
                shop.tool(key, "search", query="refill tokens of the vault", k=20),
                shop.tool(key, "grep", pattern="refill|def"),
                shop.tool(key, "definitions", name="vault_total"),
                shop.tool(key, "references", name="refill_tokens"),
                shop.tool(key, "status"),
            ]
            for answer in answers:
                assert not [word for word in HIDDEN if word in answer.replace("vault_total", "")], answer
            for name, arguments in (
                ("history", {"name": "vault/zebra.py"}),
                ("fetch", {"id": f"{shop.root}/shop/vault/zebra.py"}),
            ):
                assert json.loads(shop.tool(key, name, **arguments))["result"]["isError"]
        stale = shop.ask("api", "GET", "/v1/code/definitions", name="price_of").json()["stale"]
        assert stale["files"] in (0, None)
    finally:
        new.unlink()


def test_a_key_of_code_is_not_told_where_the_server_works(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That code was not compared with its files is said to all, and why to keys of all alone."""
    monkeypatch.setattr(Refresher, "check", lambda _: Stale(error="it lies outside /srv"))
    query = {"name": "price_of", "repository": str(shop.root / "shop")}
    for key, is_told in (("all", True), ("shop", False)):
        stale = shop.ask(key, "GET", "/v1/code/definitions", **query).json()["stale"]
        assert ("/srv" in stale["error"]) is is_told


def test_a_view_answers_as_an_index_of_its_own(tmp_path: Path) -> None:
    """Hits, scores, definitions and the map of a folder are those of an index of that folder alone."""
    whole = make_repositories(tmp_path / "whole")
    part = tmp_path / "part"
    shutil.copytree(whole / "shop" / "api", part / "shop" / "api")
    with open_code(part / ".sleuth", create=True) as own, open_code(whole / ".sleuth") as storage:
        index_path(own, part / "shop")
        view = CodeView(storage, [f"{whole}/shop/api"])
        assert told(view, whole) == told(own, part)


def told(code: CodeStorage | CodeView, root: Path) -> list[Any]:
    repository = code.repository(str(root / "shop"))
    snapshot = code.open_snapshot(repository, code.snapshot(repository))
    hits = CodeRetriever(code, None).retrieve("refill tokens of a cart", repository.id, strategy="keyword")
    navigator = Navigator(snapshot)
    return [
        [(hit.file_path, hit.score, hit.text) for hit in hits],
        navigator.find_definition("vault_total"),
        navigator.find_references("refill_tokens"),
        navigator.near("vault_totl"),
        repository_map(snapshot, 1000),
    ]


def test_code_of_a_key_is_checked(tmp_path: Path) -> None:
    """A folder that is there is kept by its absolute path; what names nothing is refused."""
    file = tmp_path / "keys.json"
    add_key(file, "a", code=[".", "https://example.org/shop/src"])
    (key,) = read_keys(file)
    assert key.code == (str(Path().resolve()), "https://example.org/shop/src")
    with pytest.raises(ArgumentError, match=r"code\.0"):
        add_key(file, "b", code=["/"])
