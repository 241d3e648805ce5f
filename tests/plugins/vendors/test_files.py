"""OpenAI's client uploads files, attaches them and waits for them, as it does at OpenAI."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.surfaces.http.conftest import make_index, serving

UNREADABLE = bytes(range(256))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    with (
        serving(make_index(tmp_path_factory.mktemp("files") / ".sleuth")) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as opened,
    ):
        yield opened


def attach(client: openai.OpenAI, id: str, store: str, attributes: Any = openai.omit) -> Any:
    """Attach a file to a vector store, and wait for it."""
    files = client.vector_stores.files
    return files.create_and_poll(id, vector_store_id=store, attributes=attributes, poll_interval_ms=50)


def test_a_file_is_uploaded_attached_and_found(client: openai.OpenAI) -> None:
    """Upload, wait, attach with attributes, search by them, read back and delete."""
    file = client.files.create(
        file=("bees.md", b"# Bees\n\nBees dance to tell of flowers.\n"), purpose="user_data"
    )
    assert (file.id[:5], file.filename, file.status) == ("file-", "bees.md", "processed")
    assert (file.bytes, file.purpose) == (39, "user_data")
    assert client.files.retrieve(file.id) == file
    assert file in list(client.files.list(purpose="user_data"))
    assert file not in list(client.files.list(purpose="assistants"))
    assert client.files.wait_for_processing(file.id).status == "processed"
    attached = attach(client, file.id, "sleuth", {"topic": "insects"})
    assert (attached.status, attached.last_error) == ("completed", None)
    assert (attached.attributes, attached.usage_bytes) == ({"topic": "insects"}, 39)
    assert attached.created_at == file.created_at
    filters = {"type": "eq", "key": "topic", "value": "insects"}
    assert client.files.content(file.id).text == "# Bees\n\nBees dance to tell of flowers."
    (part,) = client.vector_stores.files.content(file.id, vector_store_id="sleuth")
    assert (part.type, part.text) == ("text", "# Bees\n\nBees dance to tell of flowers.")
    hits = client.vector_stores.search("sleuth", query="who dances", filters=filters)  # type: ignore[arg-type]
    assert [(hit.file_id, hit.filename) for hit in hits] == [(file.id, "bees.md")]
    assert client.vector_stores.files.delete(file.id, vector_store_id="sleuth").deleted
    with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file"):
        client.vector_stores.files.retrieve(file.id, vector_store_id="sleuth")
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.files.create("sleuth", file_id="nothing.md")
    with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file"):
        client.files.content(file.id)


ATTRIBUTES: dict[str, str | float | bool] = {
    "source": "crm", "type": "invoice", "path": "/x", "size": 3.5, "modified": "yesterday", "page": 7,
    "row": True, "title": 12, "language": "klingon", "vector_store": "zoo", "upload": "mine",
    "start_line": "one", "team": "sales",
}  # fmt: skip
"""Attributes with names that the engine has too, and one that it has not."""


@pytest.mark.parametrize("name", [*ATTRIBUTES])
def test_an_attribute_of_any_name_is_the_clients(client: openai.OpenAI, name: str) -> None:
    """It comes back alone and as it was given, filters hits, and changes nothing that the engine says of the file."""
    file = client.files.create(file=("bill.md", b"Pay soon."), purpose="assistants")
    other = client.files.create(file=("bill.md", b"Pay late."), purpose="assistants")
    chosen: list[dict[str, str | float | bool]] = [{name: ATTRIBUTES[name]}, {"team": "support"}]
    for attributes in chosen:
        attached = attach(client, file.id, "sleuth", attributes)
        assert attached.attributes == attributes
        ((key, value),) = attributes.items()
        filters: Any = {"type": "eq", "key": key, "value": value}
        (hit,) = client.vector_stores.search("sleuth", query="pay", filters=filters).data
        assert (hit.file_id, hit.filename, hit.attributes) == (file.id, "bill.md", attributes)
        assert client.files.retrieve(file.id) == file
    for each in (file, other):
        client.files.delete(each.id)


def test_a_file_is_never_another_one(client: openai.OpenAI) -> None:
    """Uploading a name again makes a second file; the first keeps its text and its place in a vector store."""
    store = client.vector_stores.create(name="reports")
    first, second = (
        client.files.create(file=("report.md", text), purpose="assistants")
        for text in (b"Sales rose.", b"Sales fell.")
    )
    attach(client, first.id, store.id)
    assert [client.files.content(file.id).text for file in (first, second)] == [
        "Sales rose.",
        "Sales fell.",
    ]
    assert [hit.file_id for hit in client.vector_stores.search(store.id, query="sales")] == [first.id]
    stores = [each.id for each in client.vector_stores.list(limit=1)]
    assert stores[0] == "sleuth" and store.id in stores[1:]
    for lists in (client.files, client.vector_stores):
        with pytest.raises(openai.UnprocessableEntityError, match="got 'order'"):
            lists.list(order="desc")
    client.files.delete(second.id)
    assert client.files.content(first.id).text == "Sales rose."
    client.files.delete(first.id)


def test_a_file_of_several_documents_is_one_file(client: openai.OpenAI) -> None:
    """The rows of a table are read and deleted together, by the name of the table."""
    rows = ("ants.csv", b"text\nAnts march.\nAnts farm.\n")
    file = client.vector_stores.files.upload_and_poll(
        vector_store_id="sleuth", file=rows, poll_interval_ms=50
    )
    assert file.status == "completed"
    assert client.files.content(file.id).text == "text: Ants march.\ntext: Ants farm."
    texts = [each.text for each in client.vector_stores.files.content(file.id, vector_store_id="sleuth")]
    assert texts == ["text: Ants march.", "text: Ants farm."]
    for lists in (client.vector_stores.files.list("sleuth", limit=1), client.files.list(limit=1)):
        ids = [each.id for each in lists]
        assert (ids.count(file.id), len(ids)) == (1, len(set(ids)))
    assert client.files.delete(file.id).deleted
    assert file.id not in [each.id for each in client.vector_stores.files.list("sleuth")]


def test_all_documents_of_a_long_file_are_attached(client: openai.OpenAI) -> None:
    """A table of more rows than a page of documents holds is in the store with all of them."""
    rows = "".join(f"Moth number {n}.\n" for n in range(1001))
    file = client.files.create(file=("moths.csv", f"text\n{rows}".encode()), purpose="assistants")
    client.files.wait_for_processing(file.id)
    store = client.vector_stores.create(name="moths")
    attach(client, file.id, store.id)
    assert client.vector_stores.retrieve(store.id).file_counts.total == 1001
    client.files.delete(file.id)


def test_a_file_that_cannot_be_read_is_refused(client: openai.OpenAI) -> None:
    """The error says why."""
    with pytest.raises(openai.UnprocessableEntityError, match="binary"):
        client.files.create(file=("x.bin", UNREADABLE), purpose="assistants")


def test_a_scoped_name_is_a_vector_store(client: openai.OpenAI) -> None:
    """A created store holds what is attached to it, and is searched, listed and deleted apart from the index."""
    store = client.vector_stores.create(name="zoo")
    assert (store.id, store.name, store.status) == ("sleuth:zoo", "zoo", "completed")
    assert client.vector_stores.retrieve(store.id).file_counts.total == 0
    texts = (("gnu.md", b"Gnus graze."), ("emu.md", b"Emus graze."), ("yak.md", b"Yaks graze."))
    gnu, emu, yak = (client.files.create(file=each, purpose="assistants").id for each in texts)
    for name in (gnu, emu):
        attached = attach(client, name, store.id)
        assert (attached.status, attached.vector_store_id) == ("completed", store.id)
    both = client.vector_stores.create(name="birds", file_ids=[emu])
    assert both.file_counts.total == 1
    assert [hit.file_id for hit in client.vector_stores.search(both.id, query="graze")] == [emu]
    assert {hit.file_id for hit in client.vector_stores.search(store.id, query="graze")} == {gnu, emu}
    assert len(list(client.vector_stores.search("sleuth", query="graze"))) >= 3
    assert [file.id for file in client.vector_stores.files.list(store.id)] == sorted((emu, gnu))
    assert {"sleuth", "sleuth:birds", "sleuth:zoo"} == {each.id for each in client.vector_stores.list()}
    response = client.responses.create(
        model="sleuth",
        input="Who grazes?",
        tools=[{"type": "file_search", "vector_store_ids": [both.id]}],
        include=["file_search_call.results"],
    )
    (search,) = [each for each in response.output if each.type == "file_search_call"]
    assert [each.file_id for each in search.results or ()] == [emu]
    assert client.vector_stores.files.delete(emu, vector_store_id=store.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.files.retrieve(emu, vector_store_id=store.id)
    assert client.vector_stores.files.retrieve(emu, vector_store_id=both.id).status == "completed"
    assert client.vector_stores.delete(store.id).deleted
    assert "sleuth:zoo" not in {each.id for each in client.vector_stores.list()}
    assert {gnu, emu, yak} <= {file.id for file in client.files.list()}
    assert len(client.vector_stores.create().id) > len("sleuth:")


def test_names_that_are_no_vector_store(client: openai.OpenAI) -> None:
    """Other names are unknown, a name must be one of a path, and the index is not deleted."""
    for name in ("other", "sleuth:", "other:zoo", "sleuth:a\x01b"):
        with pytest.raises(openai.NotFoundError, match="the vector store must be"):
            client.vector_stores.retrieve(name)
    for name in ("", "a/b", "a\nb"):
        with pytest.raises(openai.UnprocessableEntityError, match="name must be"):
            client.vector_stores.create(name=name)
    with pytest.raises(openai.PermissionDeniedError, match="the index is not deleted"):
        client.vector_stores.delete("sleuth")
    with pytest.raises(openai.UnprocessableEntityError):
        client.vector_stores.create(name="x", expires_after={"anchor": "last_active_at", "days": 1})
