"""Documents are added, uploaded, listed, read, changed, counted and deleted over HTTP."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import Local, keyed


def test_what_is_added_is_found_at_once(writable: Local) -> None:
    """An add responds after its commit, and the next search finds the document, also from another process."""
    body = {"documents": [{"text": "Otters hold hands.", "id": "a/b #1?.md", "metadata": {"kind": "otter"}}]}
    report = writable.client.post("/v1/documents", json=body).json()
    assert (report["added"], report["updated"]) == (1, 0)
    hits = writable.client.post("/v1/search", json={"query": "otters", "k": 1}).json()["items"]
    assert hits[0]["text"] == "Otters hold hands."
    assert writable.client.post("/v1/documents", json=body).json()["unchanged"] == 1
    response = writable.client.get("/v1/documents/a%2Fb%20%231%3F.md")
    assert [p["text"] for p in response.json()["passages"]] == ["Otters hold hands."]
    assert writable.client.delete("/v1/documents/a%2Fb%20%231%3F.md").json() == {"ids": ["a/b #1?.md"]}
    assert writable.client.get("/v1/documents/a%2Fb%20%231%3F.md").status_code == 404


def test_an_add_says_which_documents_it_was_about(writable: Local) -> None:
    """Ids of an add read each document back: those that are given, those of sources, and those that are made."""
    texts = ["Geese fly south.", "Los gansos vuelan al sur cuando llega el invierno.", "Swans stay."]
    documents = [{"text": text} for text in texts] + [{"text": "Ducks dive.", "metadata": {"source": "d.md"}}]
    body = {"documents": [*documents, {"text": "Teals.", "id": "t"}, {"text": "Teals hide.", "id": "t"}]}
    ids = writable.client.post("/v1/documents", json=body).json()["ids"]
    assert ids[3:] == ["d.md", "t"]
    for id, text in zip(ids, [*texts, "Ducks dive.", "Teals hide."], strict=True):
        assert writable.client.get(f"/v1/documents/{id}").json()["passages"][0]["text"] == text
    again = writable.client.post("/v1/documents", json=body).json()
    assert (again["ids"], again["added"]) == (ids, 0)
    assert set(writable.client.post("/v1/documents/delete", json={"ids": ids}).json()["ids"]) == set(ids)


def test_files_are_read_as_index_reads_them(writable: Local) -> None:
    """Uploaded Markdown and CSV become documents with the paths of their files; an unreadable file is named."""
    files = [
        ("files", ("../../notes.md", b"# Bees\n\nBees dance to tell of flowers.\n")),
        ("files", ("rows.csv", b"text,year\nRow of ants,2001\nRow of wasps,2002\n")),
        ("files", ("x.bin", bytes(range(256)))),
        ("files", ("y.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")),
    ]
    answer = writable.client.post("/v1/documents/upload", files=files, data={"metadata": '{"batch": 7}'})
    assert answer.status_code == 200, answer.text
    assert answer.json()["added"] == 3
    assert [file["path"] for file in answer.json()["files"]] == ["notes.md", "rows.csv", "x.bin", "y.svg"]
    reasons = {entry["name"]: entry["reason"] for entry in answer.json()["skipped"]}
    assert reasons["x.bin"] == "binary"
    assert reasons["y.svg"].endswith("--all reads it (a command is for whoever runs this server)")
    page = writable.client.get("/v1/documents", params={"filter": "batch:7"}).json()
    assert sorted(document["id"] for document in page["documents"]) == sorted(answer.json()["ids"])
    assert {document["source"] for document in page["documents"]} == {"notes.md", "rows.csv#1", "rows.csv#2"}
    assert writable.client.post("/v1/documents/delete", json={"filter": "batch:7"}).json()["ids"]
    only = writable.client.post("/v1/documents/upload", files=files[2:3])
    assert (only.status_code, only.json()["code"]) == (422, "LoadError")


@pytest.mark.parametrize("wait", ["true", "false"])
def test_two_files_of_one_name_are_two_documents(writable: Local, wait: str) -> None:
    """Files of one name, also of one path or of one text, each have an id, and keep their path as the source."""
    paths = ("a/README.md", "b/README.md", "a/README.md", "/c/../d/README.md", "e\\README.md")
    files = [("files", (path, b"Newts are green.")) for path in paths]
    path, data = f"/v1/documents/upload?wait={wait}", {"metadata": json.dumps({"batch": f"names {wait}"})}
    ids: list[str] = []
    for _ in range(2):
        answer = writable.client.post(path, files=files, data=data).json()
        ids += (answer if wait == "true" else writable.ended(answer["id"]))["ids"]
    assert len(set(ids)) == 2 * len(paths)
    page = writable.client.get("/v1/documents", params={"filter": f'batch:"names {wait}"'}).json()
    assert {document["id"] for document in page["documents"]} == set(ids)
    sources = ["a/README.md", "a/README.md", "b/README.md", "d/README.md", "e/README.md"]
    assert sorted(document["source"] for document in page["documents"]) == sorted(2 * sources)
    assert {document["metadata"]["upload"]["name"] for document in page["documents"]} == {"README.md"}
    assert writable.client.post("/v1/documents/delete", json={"ids": ids}).json()["ids"] == ids


def test_wrong_metadata_of_an_upload_are_refused(writable: Local) -> None:
    """A key that the engine writes itself is refused by name, not overwritten; so is what is no JSON object."""
    wrong = {key: json.dumps({key: 1}) for key in ("source", "path", "size", "upload")}
    wrong |= {"[1]": "[1]", "NaN": '{"a": NaN}', "[[": '{"a": ' + "[" * 5000 + "1" + "]" * 5000 + "}"}
    for name, text in wrong.items():
        form: Any = {"files": [("files", ("a.md", b"a"))], "data": {"metadata": text}}
        answer = writable.client.post("/v1/documents/upload", **form)
        assert (answer.status_code, name in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize("door", ["upload", "documents"])
def test_a_key_fills_in_the_values_of_its_scope(tmp_path: Path, door: str) -> None:
    """A tenant adds without naming the tenant; a file cannot say another one, and a request that does is refused."""
    with keyed(tmp_path, {"acme": {"filter": "tenant:acme AND year:2021"}}) as server:
        text = b"---\ntenant: zoo\n---\nEfts are red."

        def post(**values: str) -> httpx.Response:
            if door == "documents":
                document = {"text": "Efts are red.", "metadata": values}
                return server.ask("acme", "POST", "/v1/documents", {"documents": [document]})
            files, data = [("files", ("a.md", text))], {"metadata": json.dumps(values)}
            return server.ask("acme", "POST", "/v1/documents/upload", files=files, data=data)

        assert post().status_code == 200
        found = server.ask("acme", "POST", "/v1/search", {"query": "efts red", "k": 1}).json()
        metadata = found["items"][0]["metadata"]
        assert (metadata["tenant"], metadata["year"]) == ("acme", 2021)
        wrong = post(tenant="zoo")
        assert wrong.status_code == 422
        assert "metadata['tenant'] must be 'acme'" in wrong.json()["detail"]
        assert server.engine.count("tenant:zoo").documents == 1


def test_listing_facets_and_updates(writable: Local) -> None:
    """Pages contain each document once; facets and counts follow query, filter and changed metadata."""
    client = writable.client
    ids, page = [], dict[str, Any](next_cursor="")
    while (cursor := page["next_cursor"]) is not None:
        params = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/documents", params=params).json()
        ids += [document["id"] for document in page["documents"]]
    assert ids == ["bucket.md", "cats.md", "limits.md"]
    facets = client.post("/v1/facets", json={"keys": ["tenant"], "query": "tokens"}).json()["facets"]
    assert facets == {"tenant": [{"value": "acme", "documents": 2}]}
    response = client.post("/v1/documents/update", json={"ids": ["cats.md"], "changes": {"mood": "calm"}})
    assert response.json() == {"ids": ["cats.md"]}
    assert client.post("/v1/count", json={"filter": "mood:calm"}).json() == {"documents": 1, "passages": 1}
    client.post("/v1/documents/update", json={"ids": ["cats.md"], "changes": {"mood": None}})


def test_wrong_changes_are_refused(writable: Local, server: Local) -> None:
    """Deleting without ids and filter, and writing to a read-only server, are refused."""
    assert writable.client.post("/v1/documents/delete", json={}).status_code == 422
    refused = server.client.post("/v1/documents", json={"documents": [{"text": "a"}]})
    assert (refused.status_code, refused.json()["code"]) == (403, "ReadOnlyError")
