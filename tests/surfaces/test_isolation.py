"""Two tenants share an index: nothing that one of them does changes what the other one sees."""

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from sleuth import ArgumentError, Document, Engine
from sleuth.cluster import ShardedEngine
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.http import add_key
from tests.examples import EXPLORING
from tests.surfaces.http.conftest import Local, served

TENANTS = ("acme", "globex")
WORDS = ("tokens", "bucket", "secret", "refill", "cats")
NAMES = ("README.md", "a.md", "notes/a.md", "@tenant:acme/a.md", "@tenant:globex/README.md")
IDS = st.sampled_from((*NAMES, None))
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
TENANT_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    ("acme", "globex", ["acme"], ["globex"], ["acme", "globex"], [], None, {"acme": 1}, "acme ")
)
"""Values under `tenant` that a tenant tries to write."""

DOORS = st.sampled_from(("engine", "http"))
SELECTIONS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(("kind:note,memo", "tenant:*", "tenant!=other")).map(lambda filter: {"filter": filter}),
    st.lists(st.sampled_from((*NAMES, "acme.md", "globex.md", "shared.md")), min_size=1).map(
        lambda ids: {"ids": ids}
    ),
)
"""Which documents a change is about."""


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """What a door answers to a change that it does not make."""


class Client(NamedTuple):
    """A tenant's ways in."""

    tenant: str
    view: Engine
    server: Local

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Return what the server answers.

        Raises:
            Refused: the server refused to make a change.
        """
        response = self.server.ask(self.tenant, method, path, body, **more)
        if response.status_code in {404, 422}:
            raise Refused(response.text)
        response.raise_for_status()
        return response.json()

    def add(self, door: str, document: Document) -> object:
        """Add a document."""
        if door == "engine":
            return self.view.add([document])
        body = {"text": document.page_content, "metadata": document.metadata, "id": document.id}
        return self.ask("POST", "/v1/documents", {"documents": [body]})

    def upload(self, name: str, text: str, values: dict[str, Any]) -> object:
        """Upload a file."""
        files, data = {"files": (name, text.encode())}, {"metadata": json.dumps(values)}
        return self.ask("POST", "/v1/documents/upload", files=files, data=data)

    def update(self, door: str, changes: dict[str, Any], selection: dict[str, Any]) -> object:
        """Change metadata."""
        if door == "engine":
            return self.view.update(changes, **selection)
        return self.ask("POST", "/v1/documents/update", {"changes": changes, **selection})

    def delete(self, door: str, selection: dict[str, Any]) -> object:
        """Delete documents."""
        if door == "engine":
            return self.view.delete(**selection)
        return self.ask("POST", "/v1/documents/delete", selection)

    def delete_one(self, id: str) -> object:
        """Delete a document by its address."""
        return self.ask("DELETE", f"/v1/documents/{id}")

    def tool(self, method: str, **params: Any) -> Any:
        """Return what `/mcp` answers."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.ask("POST", "/mcp", request)["result"]

    def sees(self) -> dict[str, Any]:
        """Return all that this tenant is shown, by each way in."""
        view, question = self.view, " ".join(WORDS)
        ids = [document.id for document in view.documents()]
        return {
            "documents": [(d.id, d.source, d.title, d.chunks, d.metadata) for d in view.documents()],
            "pages": [d.id for d in view.list_documents().documents],
            "passages": {id: [(i.id, i.text, i.metadata) for i in view.get(id)] for id in ids},
            "hits": [
                (i.id, i.text, i.score, i.explanation) for i in view.retrieve(question, 50, explain=True)
            ],
            "notes": view.retrieve("bukcet salary:3 secret", syntax=True, filter="knid:note").notes,
            "rarity": view.idf(WORDS),
            "counts": (view.count(), view.facets(["tenant", "kind"]), view.metadata_keys()),
            "listed": self.ask("GET", "/v1/documents")["documents"],
            "search": self.ask("POST", "/v1/search", {"query": question, "k": 50, "explain": True})["items"],
            "counted": self.ask("POST", "/v1/count", {}),
            "agents": self.agents(question),
        }

    def agents(self, question: str) -> Any:
        """Return what agents of this tenant are shown."""
        result = self.tool(
            "tools/call", name="search", arguments={"query": question, "k": 50, "max_tokens": 50_000}
        )
        status = self.tool("tools/call", name="status", arguments={})
        names = [tool["name"] for tool in self.tool("tools/list")["tools"]]
        return _ids(json.loads(result["content"][0]["text"])["results"]), status, names


def _ids(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["id"]: item["text"] for item in items}


class TwoTenants(RuleBasedStateMachine):
    """Each step is a change by one tenant, through the engine or over HTTP; then the other's view is compared."""

    @staticmethod
    def opener(path: Path) -> Engine:
        """Return the new index of a run."""
        return Engine.open(path, create=True, embedder="")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(tempfile.mkdtemp())
        self.stack.callback(shutil.rmtree, self.folder)

    @initialize()
    def serve(self) -> None:
        """Open an index with documents of the operator, and serve it to two tenants."""
        engine = self.stack.enter_context(type(self).opener(self.folder / "index"))
        engine.add(
            [
                *(Document(f"{name} tokens", {"source": f"{name}.md", "tenant": name}) for name in TENANTS),
                Document("shared tokens", {"source": "shared.md", "tenant": list(TENANTS), "kind": "note"}),
            ]
        )
        file = self.folder / "keys.json"
        keys = {name: add_key(file, name, filter=f"tenant:{name}") for name in TENANTS}
        server = self.stack.enter_context(served(engine, extensions=extensions(), keys=file))
        server.keys = keys
        self.clients = {name: Client(name, engine.scoped(f"tenant:{name}"), server) for name in TENANTS}

    def change(self, tenant: str, call: Callable[..., object], *arguments: Any) -> None:
        """Let a tenant do something, which may be refused, and compare what the other one sees."""
        (other,) = set(TENANTS) - {tenant}
        before = self.clients[other].sees()
        with suppress(ArgumentError, Refused):
            call(self.clients[tenant], *arguments)
        assert self.clients[other].sees() == before

    @rule(tenant=st.sampled_from(TENANTS), door=DOORS, id=IDS, text=TEXTS, value=TENANT_VALUES)
    def add(self, tenant: str, door: str, id: str | None, text: str, value: Any) -> None:
        """Add a document, named or not, of its own or of others."""
        metadata = {"tenant": value, "kind": "note", "title": "A title"}
        self.change(tenant, Client.add, door, Document(text, metadata, id=id))

    @rule(tenant=st.sampled_from(TENANTS), text=TEXTS, value=TENANT_VALUES, name=IDS)
    def upload(self, tenant: str, text: str, value: Any, name: str | None) -> None:
        """Upload a file; its name is the source of its documents."""
        self.change(tenant, Client.upload, name or "x.md", text, {"tenant": value})

    @rule(tenant=st.sampled_from(TENANTS), door=DOORS, selection=SELECTIONS, value=TENANT_VALUES)
    def update(self, tenant: str, door: str, selection: dict[str, Any], value: Any) -> None:
        """Change metadata of documents, also their tenant."""
        for changes in ({"tenant": value}, {"kind": "memo"}):
            self.change(tenant, Client.update, door, changes, selection)

    @rule(tenant=st.sampled_from(TENANTS), door=DOORS, selection=SELECTIONS)
    def delete(self, tenant: str, door: str, selection: dict[str, Any]) -> None:
        """Delete documents by id, of its own or of others, or by filter."""
        self.change(tenant, Client.delete, door, selection)
        for id in selection.get("ids", ()):
            self.change(tenant, Client.delete_one, id)

    @rule(
        tenant=st.sampled_from(TENANTS),
        call=st.sampled_from(("check", "repair", "compact", "roots", "embed")),
    )
    def maintain(self, tenant: str, call: str) -> None:
        """Call what concerns the documents of all; it is refused."""
        self.change(tenant, lambda client: getattr(client.view, call)())
        self.change(tenant, lambda client: client.view.index([self.folder]))
        self.change(tenant, lambda client: client.view.move("globex.md", "acme.md"))

    def teardown(self) -> None:
        self.stack.close()


@pytest.mark.parametrize("shards", [0, 3])
def test_no_step_of_a_tenant_changes_what_another_one_sees(shards: int) -> None:
    """Documents, passages, hits, counts, facets and keys of a tenant stay, whatever another one does."""
    pytest.importorskip("mcp")

    def sharded(path: Path) -> Engine:
        return ShardedEngine.open(path, create=True, embedder="", shards=shards)

    machine = type("Tenants", (TwoTenants,), {"opener": staticmethod(sharded)}) if shards else TwoTenants
    run_state_machine_as_test(
        machine, settings=settings(max_examples=30 if EXPLORING else 2, stateful_step_count=12, deadline=None)
    )
