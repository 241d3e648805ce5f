"""Files as clients of OpenAI's API upload them and attach them to the vector store, each in one request."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from fastapi import File, Form, Query, UploadFile
from pydantic import Field
from starlette.responses import Response

from sleuth.engine import text_of
from sleuth.errors import ArgumentError
from sleuth.filters import Compare, Filter, any_of, matches
from sleuth.plugins.vendors.vector_stores import (
    MOST_NAME,
    OWN_KEYS,
    STORES,
    file_of,
    files_page,
    is_name,
    list_of,
    name_in,
    names_of,
    scope_of,
    store_file,
    store_object,
    take_out,
    upload_of,
)
from sleuth.surfaces.http import (
    MISSING,
    Call,
    CurrentCall,
    JsonRouter,
    Refusal,
    Strict,
    Upload,
    UploadedFile,
    add_files,
    json_response,
    writes,
)
from sleuth.types import UPLOAD, RetrievedItem

router = JsonRouter("OpenAI")

Attributes = Annotated[
    dict[str, str | float | bool] | None,
    Field(description="Metadata of the documents of the file.", examples=[{"tenant": "acme"}]),
]
Purpose: TypeAlias = Literal["assistants", "user_data"]


class AttributesRequest(Strict):
    """Attributes of a file, in place of those that it has."""

    attributes: Attributes = None


class Attachment(AttributesRequest):
    """A file that was uploaded, for the vector store."""

    file_id: str = Field(min_length=1, max_length=4096)


class VectorStoreRequest(Strict):
    """A scoped name in the index."""

    name: str | None = Field(
        default=None,
        max_length=MOST_NAME,
        description="Part of the id after the name of the index; random where it is left out.",
        examples=["handbook"],
    )
    file_ids: list[Annotated[str, Field(min_length=1, max_length=4096)]] = Field(
        default=[],
        max_length=2000,
        description="Uploaded files or documents to attach.",
        examples=[["limits.md"]],
    )


@router.post("/v1/files")
async def upload_file(
    call: CurrentCall,
    file: Annotated[UploadFile, File(description="A file of any kind that `sleuth index` reads.")],
    purpose: Annotated[Purpose, Form(description="What it is for; both mean the same here.")] = "assistants",
) -> Response:
    """Upload a file and add its documents. Uploading it again makes another file."""
    upload = Upload.of(file, purpose)
    await call.write(add_files, [upload], {}, call)
    return json_response(_file_object(upload.file))


@router.get("/v1/files")
def list_files(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    after: Annotated[str | None, Query(max_length=4096)] = None,
    purpose: Annotated[Purpose | None, Query(description="Only files of this purpose.")] = None,
) -> dict[str, Any]:
    """Return the files of the index, in order of id; a document that was not uploaded is one, too."""
    key = f"{UPLOAD}.purpose"
    parts: list[Filter] = [] if purpose is None else [Compare(key, "eq", purpose)]
    if purpose == "assistants":  # as documents that were not uploaded are, too
        parts.append(Compare(key, "exists", False))
    scope = any_of(*parts) if parts else None
    documents, has_more = files_page(call, scope, after, limit)
    data = [_file_object(file_of(document.id, document.metadata)) for document in documents]
    return list_of(data, has_more=has_more)


@router.get(
    "/v1/files/{file_id:path}/content",
    response_class=Response,
    responses=MISSING | {200: {"description": "The text.", "content": {"text/plain": {}}}},
)
def file_content(file_id: str, call: CurrentCall) -> Response:
    """Return the text that was read from a file. The file itself is not kept."""
    return Response("\n".join(_texts(file_id, None, call)), media_type="text/plain; charset=utf-8")


@router.get("/v1/files/{file_id:path}", responses=MISSING)
def get_file(file_id: str, call: CurrentCall) -> dict[str, Any]:
    """Return a file that was uploaded; any document is one, too."""
    return _file_object(_stored(file_id, call).facts)


@router.delete("/v1/files/{file_id:path}", responses=MISSING)
@writes
def delete_file(file_id: str, call: CurrentCall) -> dict[str, Any]:
    """Delete the documents of a file."""
    call.engine.delete(_stored(file_id, call).ids, timeout=call.remaining)
    return {"id": file_id, "object": "file", "deleted": True}


@router.post("/v1/vector_stores")
@writes
def create_vector_store(body: VectorStoreRequest, call: CurrentCall) -> dict[str, Any]:
    """Return a scoped name in the index as a vector store, and attach files to it."""
    name = secrets.token_hex(8) if body.name is None else body.name.strip()
    if not is_name(name):
        raise ArgumentError(
            f"name must be 1 to {MOST_NAME} printable characters without a slash, got {body.name!r}"
        )
    store = f"{call.service.name}:{name}"
    for id in body.file_ids:
        attach(Attachment(file_id=id), store, call)
    return store_object(store, call)


@router.post("/v1/vector_stores/{vector_store_id}/files", responses=MISSING)
@writes
def attach_file(vector_store_id: str, body: Attachment, call: CurrentCall) -> dict[str, Any]:
    """Attach an uploaded file; its documents get the attributes."""
    scope_of(vector_store_id, call)
    file = attach(body, vector_store_id, call)
    return store_file(file.facts, file.passages[0].metadata, vector_store_id)


@router.get("/v1/vector_stores/{vector_store_id}/files/{file_id:path}/content", responses=MISSING)
def vector_store_file_content(vector_store_id: str, file_id: str, call: CurrentCall) -> dict[str, Any]:
    """Return the text of a file of the vector store."""
    texts = _texts(file_id, scope_of(vector_store_id, call), call)
    data = [{"type": "text", "text": text} for text in texts]
    return {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}


@router.get("/v1/vector_stores/{vector_store_id}/files/{file_id:path}", responses=MISSING)
def vector_store_file(vector_store_id: str, file_id: str, call: CurrentCall) -> dict[str, Any]:
    """Return a file of the vector store."""
    file = _stored(file_id, call, scope_of(vector_store_id, call))
    return store_file(file.facts, file.passages[0].metadata, vector_store_id)


@router.post("/v1/vector_stores/{vector_store_id}/files/{file_id:path}", responses=MISSING)
@writes
def update_vector_store_file(
    vector_store_id: str, file_id: str, body: AttributesRequest, call: CurrentCall
) -> dict[str, Any]:
    """Give a file of the vector store other attributes."""
    _stored(file_id, call, scope_of(vector_store_id, call))
    file = attach(Attachment(file_id=file_id, attributes=body.attributes), vector_store_id, call)
    return store_file(file.facts, file.passages[0].metadata, vector_store_id)


@router.delete("/v1/vector_stores/{vector_store_id}/files/{file_id:path}", responses=MISSING)
@writes
def delete_vector_store_file(vector_store_id: str, file_id: str, call: CurrentCall) -> dict[str, Any]:
    """Delete a document of the index, whose text leaves the disk; take it out of a scoped vector store."""
    scope = scope_of(vector_store_id, call)
    file = _stored(file_id, call, scope)
    if scope is None:
        call.engine.delete(file.ids, timeout=call.remaining)
    else:
        metadata = file.passages[0].metadata
        take_out(((id, metadata) for id in file.ids), name_in(vector_store_id, call), call)
    return {"id": file_id, "object": "vector_store.file.deleted", "deleted": True}


def attach(attachment: Attachment, store: str, call: Call) -> _StoredFile:
    """Give the documents of a file attributes and the name of a vector store, and return the file as it is then.

    Raises:
        Refusal: 404.
        ArgumentError: as of `Call.filled`.
    """
    file, name = _stored(attachment.file_id, call), name_in(store, call)
    metadata, attributes = file.passages[0].metadata, attachment.attributes
    values: dict[str, Any] = {}
    if attributes is not None:  # in place of those that it has
        upload = upload_of(metadata)
        plain = {key: value for key, value in attributes.items() if key not in OWN_KEYS}
        fields = {key: value for key, value in attributes.items() if key in OWN_KEYS}
        former = dict.fromkeys(key for key in upload.get("names", ()) if key not in OWN_KEYS)
        facts = {**upload, "names": list(plain), "attributes": fields}
        values = {**former, **call.filled(plain), UPLOAD: facts}
    if name:
        values[STORES] = list(dict.fromkeys([*names_of(metadata), name]))
    if values:
        call.engine.update(values, file.ids, timeout=call.remaining)
    return _stored(attachment.file_id, call)


class _StoredFile(NamedTuple):
    """A file: the ids of its documents, and the passages of the first one."""

    facts: UploadedFile
    ids: Sequence[str]
    passages: Sequence[RetrievedItem]


def _stored(file_id: str, call: Call, scope: Filter | None = None) -> _StoredFile:
    """Return the document of that id, else the documents of the uploaded file.

    Raises:
        Refusal: 404, for neither, or where its documents are not in the scope of a vector store.
    """
    ids = [file_id] if call.engine.get(file_id) else []
    uploaded, cursor, is_over = Compare(f"{UPLOAD}.id", "eq", file_id), None, bool(ids)
    while not is_over:
        page = call.engine.list_documents(filter=uploaded, after=cursor, limit=1000)
        ids += [document.id for document in page.documents]
        cursor, is_over = page.after, page.after is None
    passages = call.engine.get(ids[0]) if ids else []
    if not passages or (scope is not None and not matches(scope, passages[0].metadata)):
        raise Refusal(
            404, "UnknownDocumentError", f"file_id must be of an uploaded file or a document, got {file_id!r}"
        )
    return _StoredFile(file_of(file_id, passages[0].metadata), ids, passages)


def _texts(file_id: str, scope: Filter | None, call: Call) -> list[str]:
    """Return the texts of the documents of a file; raises as `_stored` does."""
    return [text_of(call.engine.get(id)) for id in _stored(file_id, call, scope).ids]


def _file_object(file: UploadedFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": file.created_at,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
    }
