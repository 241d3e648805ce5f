"""OpenAI's client uploads files, attaches them and waits for them, as it does at OpenAI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from sleuth import Engine
from sleuth.surfaces.http import add_key
from tests.waiting import wait_until

from .conftest import Local, make_index, serving

UNREADABLE = bytes(range(256))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("files")
    keys = {name: add_key(folder / "keys.json", name) for name in ("ann", "bob")}
    with serving(make_index(folder / ".sleuth"), keys=folder / "keys.json") as started:
        yield started, keys


def client_of(served: tuple[Local, dict[str, str]], key: str = "ann") -> openai.OpenAI:
    server, keys = served
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=keys[key], max_retries=0)


def test_a_file_is_uploaded_attached_and_found(served: tuple[Local, dict[str, str]]) -> None:
    """Upload, wait, attach with attributes, search by them, read back and delete."""
    with client_of(served) as client:
        file = client.files.create(
            file=("bees.md", b"# Bees\n\nBees dance to tell of flowers.\n"), purpose="user_data"
        )
        assert (file.id, file.filename, file.status) == ("bees.md", "bees.md", "processed")
        assert client.files.wait_for_processing(file.id).status == "processed"
        attached = client.vector_stores.files.create_and_poll(
            file.id, vector_store_id="sleuth", attributes={"topic": "insects"}, poll_interval_ms=50
        )
        assert (attached.status, attached.last_error) == ("completed", None)
        assert attached.attributes is not None
        assert attached.attributes["topic"] == "insects"
        filters = {"type": "eq", "key": "topic", "value": "insects"}
        assert client.files.content("bees.md").text == "# Bees\n\nBees dance to tell of flowers."
        (part,) = client.vector_stores.files.content("bees.md", vector_store_id="sleuth")
        assert (part.type, part.text) == ("text", "# Bees\n\nBees dance to tell of flowers.")
        hits = client.vector_stores.search("sleuth", query="who dances", filters=filters)  # type: ignore[arg-type]
        assert [hit.file_id for hit in hits] == ["bees.md"]
        assert client.vector_stores.files.delete("bees.md", vector_store_id="sleuth").deleted
        with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file"):
            client.vector_stores.files.retrieve("bees.md", vector_store_id="sleuth")
        with pytest.raises(openai.NotFoundError):
            client.vector_stores.files.create("sleuth", file_id="nothing.md")
        with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file"):
            client.files.content("bees.md")


def test_a_file_of_several_documents_is_one_file(served: tuple[Local, dict[str, str]]) -> None:
    """The rows of a table are read and deleted together, by the name of the table."""
    with client_of(served) as client:
        rows = ("ants.csv", b"text\nAnts march.\nAnts farm.\n")
        file = client.vector_stores.files.upload_and_poll(
            vector_store_id="sleuth", file=rows, poll_interval_ms=50
        )
        assert (file.id, file.status) == ("ants.csv", "completed")
        assert client.files.content("ants.csv").text == "text: Ants march.\ntext: Ants farm."
        texts = [each.text for each in client.vector_stores.files.content(file.id, vector_store_id="sleuth")]
        assert texts == ["text: Ants march.", "text: Ants farm."]
        ids = [each.id for each in client.vector_stores.files.list("sleuth")]
        assert ids[:2] == ["ants.csv#1", "ants.csv#2"]
        assert client.files.delete("ants.csv").deleted
        assert "ants.csv#1" not in [each.id for each in client.vector_stores.files.list("sleuth")]


def test_all_documents_of_a_long_file_are_attached(served: tuple[Local, dict[str, str]]) -> None:
    """A table of more rows than a page of documents holds is in the store with all of them."""
    with client_of(served) as client:
        rows = "".join(f"Moth number {n}.\n" for n in range(1001))
        client.files.create(file=("moths.csv", f"text\n{rows}".encode()), purpose="assistants")
        client.files.wait_for_processing("moths.csv")
        store = client.vector_stores.create(name="moths")
        client.vector_stores.files.create_and_poll("moths.csv", vector_store_id=store.id, poll_interval_ms=50)
        assert client.vector_stores.retrieve(store.id).file_counts.total == 1001
        client.files.delete("moths.csv")


def test_a_scoped_vector_store_is_renamed(served: tuple[Local, dict[str, str]]) -> None:
    """Its files go with it, those in other stores stay there too; a name that is taken, or no name, is refused."""
    with client_of(served) as client:
        for name in ("ibis.md", "ruff.md"):
            client.files.create(file=(name, b"A bird that wades."), purpose="assistants")
            client.files.wait_for_processing(name)
        for store, file in (("wade", "ibis.md"), ("wade", "ruff.md"), ("other", "ruff.md")):
            client.vector_stores.create(name=store)
            client.vector_stores.files.create_and_poll(
                file, vector_store_id=f"sleuth:{store}", poll_interval_ms=50
            )
        renamed = client.vector_stores.update("sleuth:wade", name=" waders ", metadata={"team": "birds"})
        assert (renamed.id, renamed.name, renamed.file_counts.total) == ("sleuth:waders", "waders", 2)
        assert client.vector_stores.retrieve("sleuth:wade").file_counts.total == 0
        assert {file.id for file in client.vector_stores.files.list("sleuth:waders")} == {
            "ibis.md",
            "ruff.md",
        }
        assert [file.id for file in client.vector_stores.files.list("sleuth:other")] == ["ruff.md"]
        assert client.vector_stores.update("sleuth:waders", metadata={"team": "birds"}).id == "sleuth:waders"
        assert client.vector_stores.update("sleuth", name="sleuth").id == "sleuth"
        with pytest.raises(openai.UnprocessableEntityError, match="not be that of another vector store"):
            client.vector_stores.update("sleuth:waders", name="other")
        with pytest.raises(openai.UnprocessableEntityError, match="name must be 1 to"):
            client.vector_stores.update("sleuth:waders", name="a/b")
        with pytest.raises(openai.PermissionDeniedError, match="the index has the name of its folder"):
            client.vector_stores.update("sleuth", name="other index")
        with pytest.raises(openai.NotFoundError):
            client.vector_stores.update("nothing", name="other")
        with pytest.raises(openai.NotFoundError):
            client.vector_stores.files.content("ibis.md", vector_store_id="sleuth:other")
        for name in ("ibis.md", "ruff.md"):
            client.files.delete(name)


def test_a_file_that_cannot_be_read_fails(served: tuple[Local, dict[str, str]]) -> None:
    """The client's own polling ends, and says why."""
    with client_of(served) as client:
        file = client.files.create(file=("x.bin", UNREADABLE), purpose="assistants")
        assert file.status == "error"
        attached = client.vector_stores.files.create_and_poll(
            file.id, vector_store_id="sleuth", poll_interval_ms=50
        )
        assert attached.status == "failed"
        assert attached.last_error is not None
        assert "binary" in attached.last_error.message


def test_a_batch_is_polled(served: tuple[Local, dict[str, str]]) -> None:
    """A batch counts its files, those that failed too; files of one's own are uploaded by several threads."""
    with client_of(served) as client:
        files = [(f"note{n}.md", f"Note number {n} of the batch.".encode()) for n in range(12)]
        batch = client.vector_stores.file_batches.upload_and_poll(
            "sleuth", files=[*files, ("y.bin", UNREADABLE)], poll_interval_ms=50
        )
        counts = batch.file_counts
        assert (batch.status, counts.total, counts.completed, counts.failed) == ("completed", 13, 12, 1)
        again = client.vector_stores.file_batches.create_and_poll(
            "sleuth",
            files=[{"file_id": "note1.md", "attributes": {"rank": 1}}, {"file_id": "note2.md"}],
            poll_interval_ms=50,
        )
        assert again.file_counts.completed == 2
        filters = {"type": "eq", "key": "rank", "value": 1}
        hits = client.vector_stores.search("sleuth", query="note", filters=filters)  # type: ignore[arg-type]
        assert [hit.file_id for hit in hits] == ["note1.md"]
        mixed = client.vector_stores.file_batches.create_and_poll(
            "sleuth", file_ids=["note3.md", "y.bin"], poll_interval_ms=50
        )
        assert (mixed.file_counts.completed, mixed.file_counts.failed) == (1, 1)
        attached = client.vector_stores.files.retrieve("note3.md", vector_store_id="sleuth")
        assert (attached.status, attached.usage_bytes) == ("completed", 27)
        client.files.delete("note3.md")
        with pytest.raises(openai.NotFoundError):  # another file of its batch could not be read
            client.vector_stores.files.retrieve("note3.md", vector_store_id="sleuth")
        cancelled = client.vector_stores.file_batches.cancel(again.id, vector_store_id="sleuth")
        assert cancelled.status == "completed"
    with client_of(served, "bob") as other, pytest.raises(openai.NotFoundError):
        other.vector_stores.file_batches.retrieve(again.id, vector_store_id="sleuth")


def test_a_batch_in_progress(tmp_path: Path) -> None:
    """While another writer holds the index, a batch and its files are in progress; a cancelled one ends."""
    index = make_index(tmp_path / "sleuth")
    with (
        serving(index, deadline=2.0) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client,
    ):
        with Engine.open(index) as other, other.store.writer():
            file = client.files.create(file=("late.md", b"Late."), purpose="assistants")
            assert file.status == "uploaded"
            batch = client.vector_stores.file_batches.create("sleuth", file_ids=["late.md", "limits.md"])
            assert (batch.status, batch.file_counts.in_progress) == ("in_progress", 2)
            assert (
                client.vector_stores.files.retrieve("late.md", vector_store_id="sleuth").status
                == "in_progress"
            )
            client.vector_stores.file_batches.cancel(batch.id, vector_store_id="sleuth")
        ended = client.vector_stores.file_batches.poll(
            batch.id, vector_store_id="sleuth", poll_interval_ms=50
        )
        assert (ended.status, ended.file_counts.cancelled) == ("cancelled", 2)
        assert client.files.wait_for_processing("late.md", poll_interval=0.05).status == "processed"


def test_the_asynchronous_client(served: tuple[Local, dict[str, str]]) -> None:
    """Its upload and poll work as those of the other."""
    server, keys = served

    async def upload() -> str:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=keys["ann"]) as client:
            file = await client.vector_stores.files.upload_and_poll(
                vector_store_id="sleuth", file=("async.md", b"Asynchronous."), poll_interval_ms=50
            )
            return file.status

    assert asyncio.run(upload()) == "completed"


def test_a_scoped_name_is_a_vector_store(served: tuple[Local, dict[str, str]]) -> None:
    """A created store holds what is attached to it, and is searched, listed and deleted apart from the index."""
    with client_of(served) as client:
        store = client.vector_stores.create(name="zoo")
        assert (store.id, store.name, store.status) == ("sleuth:zoo", "zoo", "completed")
        assert client.vector_stores.retrieve(store.id).file_counts.total == 0
        for name, text in (("gnu.md", "Gnus graze."), ("emu.md", "Emus graze."), ("yak.md", "Yaks graze.")):
            client.files.create(file=(name, text.encode()), purpose="assistants")
        for name in ("gnu.md", "emu.md"):
            attached = client.vector_stores.files.create_and_poll(
                name, vector_store_id=store.id, poll_interval_ms=50
            )
            assert (attached.status, attached.vector_store_id) == ("completed", store.id)
        both = client.vector_stores.create(name="birds", file_ids=["emu.md"])
        assert both.status == "in_progress"
        wait_until(lambda: client.vector_stores.retrieve(both.id).file_counts.total == 1)
        assert [hit.file_id for hit in client.vector_stores.search(both.id, query="graze")] == ["emu.md"]
        assert {hit.file_id for hit in client.vector_stores.search(store.id, query="graze")} == {
            "gnu.md",
            "emu.md",
        }
        assert len(list(client.vector_stores.search("sleuth", query="graze"))) >= 3
        assert [file.id for file in client.vector_stores.files.list(store.id)] == ["emu.md", "gnu.md"]
        assert {"sleuth", "sleuth:birds", "sleuth:zoo"} == {each.id for each in client.vector_stores.list()}
        response = client.responses.create(
            model="sleuth",
            input="Who grazes?",
            tools=[{"type": "file_search", "vector_store_ids": [both.id]}],
            include=["file_search_call.results"],
        )
        (search,) = [each for each in response.output if each.type == "file_search_call"]
        assert [each.file_id for each in search.results or ()] == ["emu.md"]
        assert client.vector_stores.files.delete("emu.md", vector_store_id=store.id).deleted
        with pytest.raises(openai.NotFoundError):
            client.vector_stores.files.retrieve("emu.md", vector_store_id=store.id)
        assert client.vector_stores.files.retrieve("emu.md", vector_store_id=both.id).status == "completed"
        assert client.vector_stores.delete(store.id).deleted
        assert "sleuth:zoo" not in {each.id for each in client.vector_stores.list()}
        assert {"gnu.md", "emu.md", "yak.md"} <= {file.id for file in client.files.list()}
        assert len(client.vector_stores.create().id) > len("sleuth:")


def test_names_that_are_no_vector_store(served: tuple[Local, dict[str, str]]) -> None:
    """Other names are unknown, a name must be one of a path, and the index is not deleted."""
    with client_of(served) as client:
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
