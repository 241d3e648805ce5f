"""Files as clients of OpenAI's API upload them, attach them to the vector store and wait for them.

What OpenAI's clients poll are jobs: one reads the file, another attaches it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from fastapi import File, Form, Query, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.filters import Compare, Filter, any_of, matches
from sleuth.plugins.vendors.attributes import OWN_KEYS, STORES, attributes_of, file_of, upload_of
from sleuth.plugins.vendors.openai import Content, VectorStoreFile, files_page
from sleuth.plugins.vendors.stores import (
    MOST_NAME,
    OpenAIList,
    VectorStoreObject,
    checked_name,
    list_of,
    move,
    name_in,
    names_of,
    scope_of,
    store_object,
)
from sleuth.surfaces.http import (
    MISSING,
    Call,
    CurrentCall,
    JsonRouter,
    RecordedJob,
    Refusal,
    Strict,
    Upload,
    UploadedFile,
    job_of,
    json_response,
    start_job,
    text_of,
    upload_job,
)
from sleuth.types import UPLOAD, RetrievedItem

router = JsonRouter("OpenAI")

_WAIT = 10.0
"""Seconds that an upload waits until its file is read; a client polls from then on."""

Attributes = Annotated[
    dict[str, str | float | bool] | None,
    Field(description="Metadata of the documents of the file.", examples=[{"tenant": "acme"}]),
]
Purpose: TypeAlias = Literal["assistants", "user_data"]

_STATES = {"queued": "in_progress", "interrupted": "failed"}
"""What OpenAI's clients call the states of jobs that they have no word for."""


class FileObject(BaseModel):
    """An uploaded file; `uploaded` until it is read, then `processed` or `error`."""

    id: str = Field(examples=["file-18b2c3d4e5f60718a1b2c3d4"])
    object: Literal["file"]
    bytes: int = Field(
        description="Its size; 0 for a document that was added without a file.", examples=[2048]
    )
    created_at: int = Field(description="When it was uploaded; 0 where nothing says so.")
    filename: str
    purpose: str = Field(description="What it was uploaded for.", examples=["assistants"])
    status: Literal["uploaded", "processed", "error"]
    status_details: str | None = Field(description="Why it could not be read; null otherwise.")


class Attachment(Strict):
    """A file that was uploaded, for the vector store."""

    file_id: str = Field(min_length=1, max_length=4096)
    attributes: Attributes = None


class FileBatchRequest(Strict):
    """Files that were uploaded, for the vector store: `file_ids`, or `files` with attributes of their own."""

    file_ids: list[Annotated[str, Field(min_length=1, max_length=4096)]] | None = Field(
        default=None, max_length=2000, description="Ids of files.", examples=[["limits.md"]]
    )
    files: list[Attachment] | None = Field(
        default=None, max_length=2000, description="Ids of files with their attributes."
    )
    attributes: Attributes = None


class FileBatch(BaseModel):
    """Files on their way into the vector store."""

    id: str = Field(description="Id of the job.", examples=["job_18b2c3d4e5f60718a1b2c3d4"])
    object: Literal["vector_store.files_batch"]
    created_at: int
    status: Literal["in_progress", "completed", "cancelled", "failed"]
    file_counts: dict[str, int]
    vector_store_id: str


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


class DeletedFile(BaseModel):
    """A file whose documents are deleted."""

    id: str
    object: Literal["file", "vector_store.file.deleted"]
    deleted: Literal[True]


@router.post("/v1/files", response_model=FileObject)
async def upload_file(
    call: CurrentCall,
    file: Annotated[UploadFile, File(description="A file of any kind that `sleuth index` reads.")],
    purpose: Annotated[Purpose, Form(description="What it is for; both mean the same here.")] = "assistants",
) -> Response:
    """Upload a file; its documents are added at once. Uploading it again makes another file."""
    upload = Upload.of(file, purpose)
    job = await upload_job([upload], {}, call)
    await call.service.jobs.wait(job.id, min(_WAIT, call.remaining / 2))
    return json_response(_file_object(upload.file, await job_of(job.id, call)))


class FileList(OpenAIList):
    """Files, and documents that were added in another way, in order of id."""

    data: list[FileObject]


@router.get("/v1/files", response_model=FileList)
async def list_files(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    after: Annotated[str | None, Query(max_length=4096)] = None,
    purpose: Annotated[Purpose | None, Query(description="Only files of this purpose.")] = None,
) -> Response:
    """Return the files of the index, in order of id; a document that was not uploaded is one, too."""
    key = f"{UPLOAD}.purpose"
    parts: list[Filter] = [] if purpose is None else [Compare(key, "eq", purpose)]
    if purpose == "assistants":  # as documents that were not uploaded are, too
        parts.append(Compare(key, "exists", False))
    scope = any_of(*parts) if parts else None
    documents, has_more = await call.read(files_page, call, scope, after, limit)
    data = [_file_object(file_of(document.id, document.metadata), None) for document in documents]
    return json_response(list_of(data, has_more=has_more))


@router.get(
    "/v1/files/{file_id:path}/content",
    response_class=Response,
    responses=MISSING | {200: {"description": "The text.", "content": {"text/plain": {}}}},
)
async def file_content(file_id: str, call: CurrentCall) -> Response:
    """Return the text that was read from a file. The file itself is not kept."""
    texts = await call.read(_texts, file_id, None, call)
    return Response("\n".join(texts), media_type="text/plain; charset=utf-8")


@router.get("/v1/files/{file_id:path}", response_model=FileObject, responses=MISSING)
async def get_file(file_id: str, call: CurrentCall) -> Response:
    """Return a file that was uploaded; any document is one, too."""
    job, file = await call.read(_known, file_id, call, "upload")
    return json_response(_file_object(file.facts, job))


@router.delete("/v1/files/{file_id:path}", response_model=DeletedFile, responses=MISSING)
async def delete_file(file_id: str, call: CurrentCall) -> Response:
    """Delete the documents of a file."""
    await call.write(delete_file_of, file_id, call)
    return json_response({"id": file_id, "object": "file", "deleted": True})


def delete_file_of(file_id: str, call: Call) -> None:
    """Delete a document, or the documents of an uploaded file.

    Raises:
        Refusal: 404.
    """
    if not call.engine.delete(_stored(file_id, call).ids, timeout=call.remaining):
        raise _unknown(file_id)


@router.post("/v1/vector_stores", response_model=VectorStoreObject)
async def create_vector_store(body: VectorStoreRequest, call: CurrentCall) -> Response:
    """Return a scoped name in the index as a vector store, and attach files to it."""
    call.require("write")
    name = secrets.token_hex(8) if body.name is None else checked_name(body.name)
    store = f"{call.service.name}:{name}"
    if body.file_ids:
        await attach([Attachment(file_id=id) for id in body.file_ids], store, call)
    return json_response(await call.read(store_object, store, call, is_whole=not body.file_ids))


@router.post("/v1/vector_stores/{vector_store_id}/files", response_model=VectorStoreFile, responses=MISSING)
async def attach_file(vector_store_id: str, body: Attachment, call: CurrentCall) -> Response:
    """Attach an uploaded file, once it is read; its documents get the attributes."""
    scope_of(vector_store_id, call)
    _, file = await call.read(_known, body.file_id, call, "upload")
    job = await attach([body], vector_store_id, call)
    return json_response(_store_file(file._replace(passages=()), job, vector_store_id))


class FileContent(BaseModel):
    """The texts of a file: one for each of its documents."""

    object: Literal["vector_store.file_content.page"]
    data: list[Content]
    has_more: bool
    next_page: str | None


@router.get(
    "/v1/vector_stores/{vector_store_id}/files/{file_id:path}/content",
    response_model=FileContent,
    responses=MISSING,
)
async def vector_store_file_content(vector_store_id: str, file_id: str, call: CurrentCall) -> Response:
    """Return the text of a file of the vector store."""
    scope = scope_of(vector_store_id, call)
    data = [{"type": "text", "text": text} for text in await call.read(_texts, file_id, scope, call)]
    page = {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}
    return json_response(page)


@router.get(
    "/v1/vector_stores/{vector_store_id}/files/{file_id:path}",
    response_model=VectorStoreFile,
    responses=MISSING,
)
async def vector_store_file(vector_store_id: str, file_id: str, call: CurrentCall) -> Response:
    """Return a file of the vector store, and whether it is read."""
    scope = scope_of(vector_store_id, call)
    job, file = await call.read(_known, file_id, call, "upload", "attach")
    if file.passages:
        file.check_in(scope)
    return json_response(_store_file(file, job, vector_store_id))


@router.delete(
    "/v1/vector_stores/{vector_store_id}/files/{file_id:path}", response_model=DeletedFile, responses=MISSING
)
async def delete_vector_store_file(vector_store_id: str, file_id: str, call: CurrentCall) -> Response:
    """Delete a document of the index, whose text leaves the disk; take it out of a scoped vector store."""
    scope = scope_of(vector_store_id, call)

    def take_out() -> None:
        file = _stored(file_id, call)
        file.check_in(scope)
        metadata = file.passages[0].metadata
        move(((id, metadata) for id in file.ids), name_in(vector_store_id, call), "", call)

    if scope is None:
        await call.write(delete_file_of, file_id, call)
    else:
        await call.write(take_out)
    return json_response({"id": file_id, "object": "vector_store.file.deleted", "deleted": True})


@router.post("/v1/vector_stores/{vector_store_id}/file_batches", response_model=FileBatch, responses=MISSING)
async def attach_batch(vector_store_id: str, body: FileBatchRequest, call: CurrentCall) -> Response:
    """Attach several uploaded files."""
    scope_of(vector_store_id, call)
    attachments = [Attachment(file_id=id, attributes=body.attributes) for id in body.file_ids or ()]
    if bool(attachments) is bool(body.files):
        raise ArgumentError("file_ids or files must name at least one file, and not both")
    job = await attach(attachments or body.files or (), vector_store_id, call)
    return json_response(_batch(job, vector_store_id))


@router.get(
    "/v1/vector_stores/{vector_store_id}/file_batches/{batch_id}", response_model=FileBatch, responses=MISSING
)
async def file_batch(vector_store_id: str, batch_id: str, call: CurrentCall) -> Response:
    """Return how far a batch of files is."""
    scope_of(vector_store_id, call)
    call.require("read")
    return json_response(_batch(await job_of(batch_id, call), vector_store_id))


@router.post(
    "/v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel",
    response_model=FileBatch,
    responses=MISSING,
)
async def cancel_batch(vector_store_id: str, batch_id: str, call: CurrentCall) -> Response:
    """Attach no more files of a batch; those that are read stay."""
    scope_of(vector_store_id, call)
    call.require("write")
    await call.service.jobs.cancel(await job_of(batch_id, call))
    return json_response(_batch(await job_of(batch_id, call), vector_store_id))


async def attach(attachments: Sequence[Attachment], store: str, call: Call) -> RecordedJob:
    """Start the job that waits for uploaded files, and gives their documents attributes and the name of the store."""
    store_name = name_in(store, call)
    for each in attachments:
        _attribute_changes({}, each.attributes or {}, call)  # refuses them before the job

    def attach_one(number: int, tell: Callable[[int, int | None], None]) -> Mapping[str, Any]:
        id, attributes, late = attachments[number].file_id, attachments[number].attributes, call.of_job()
        upload = _newest_job(id, late, "upload")
        if upload is not None and upload.is_active:  # another worker reads it
            raise Refusal(503, "QueueFullError", f"{id!r} is not read yet")
        file = _stored(id, late)
        if not file.ids:
            tell(number + 1, len(attachments))
            return {"skipped": [{"id": id, "name": file.facts.name, "reason": _why(id, upload)}]}
        metadata = file.passages[0].metadata
        values = {} if attributes is None else _attribute_changes(metadata, attributes, late)
        if store_name:
            values[STORES] = list(dict.fromkeys([*names_of(metadata), store_name]))
        if values:
            late.engine.update(values, file.ids, timeout=late.remaining)
        tell(number + 1, len(attachments))
        return {"ids": file.ids}

    steps = [partial(attach_one, number) for number in range(len(attachments))]
    files = dict.fromkeys(each.file_id for each in attachments)
    return await start_job("attach", lambda *_: steps, call, total=len(attachments), files=files)


def _attribute_changes(
    metadata: Mapping[str, Any], attributes: Mapping[str, Any], call: Call
) -> dict[str, Any]:
    """Return the changes of metadata that give a document these attributes, in place of those it has.

    Raises:
        ArgumentError: as of `Call.filled`.
    """
    upload = upload_of(metadata)
    plain = {name: value for name, value in attributes.items() if name not in OWN_KEYS}
    own = {name: value for name, value in attributes.items() if name in OWN_KEYS}
    former = dict.fromkeys(name for name in upload.get("names", ()) if name not in OWN_KEYS)
    return {**former, **call.filled(plain), UPLOAD: {**upload, "names": list(plain), "attributes": own}}


def _newest_job(file_id: str, call: Call, *kinds: str) -> RecordedJob | None:
    """Return the newest job of the caller about a file; None if the record has none."""
    jobs = call.service.jobs.record.of_key(call.key.name)
    return next((each for each in jobs if file_id in each.files and each.kind in kinds), None)


class _StoredFile(NamedTuple):
    """A file: the ids of its documents, and the passages of the first one; none where it could not be read."""

    facts: UploadedFile
    ids: Sequence[str] = ()
    passages: Sequence[RetrievedItem] = ()

    def check_in(self, scope: Filter | None) -> None:
        """Refuse a file that is not in a vector store.

        Raises:
            Refusal: 404.
        """
        if not self.passages or (scope is not None and not matches(scope, self.passages[0].metadata)):
            raise _unknown(self.facts.id)


def _known(file_id: str, call: Call, *kinds: str) -> tuple[RecordedJob | None, _StoredFile]:
    """Return the newest job about a file and its documents; no documents while it is read or where it could not be.

    Raises:
        Refusal: 404, for a file that no such job is about and that has no documents.
    """
    job, upload = _newest_job(file_id, call, *kinds), _newest_job(file_id, call, "upload")
    file = _stored(file_id, call)
    if upload is not None and (facts := upload.files[file_id]) is not None:
        file = file._replace(facts=facts)
    if job is not None and (job.status != "completed" or _why(file_id, job)):
        return job, _StoredFile(file.facts)
    if not file.ids:
        raise _unknown(file_id)
    return job, file


def _stored(file_id: str, call: Call) -> _StoredFile:
    """Return the document of that id, else the documents of the uploaded file."""
    if passages := call.engine.get(file_id):
        return _StoredFile(file_of(file_id, passages[0].metadata), [file_id], passages)
    ids, after, is_over = list[str](), None, False
    scope = Compare(f"{UPLOAD}.id", "eq", file_id)
    while not is_over:
        page = call.engine.list_documents(filter=scope, after=after, limit=1000)
        ids += [document.id for document in page.documents]
        after, is_over = page.after, page.after is None
    passages = call.engine.get(ids[0]) if ids else []
    return _StoredFile(file_of(file_id, passages[0].metadata if passages else {}), ids, passages)


def _texts(file_id: str, scope: Filter | None, call: Call) -> list[str]:
    """Return the texts of the documents of a file.

    Raises:
        Refusal: 404, for a file without documents in the vector store.
    """
    file = _stored(file_id, call)
    file.check_in(scope)
    return [text_of(call.engine.get(id)) for id in file.ids]


def _unknown(file_id: str) -> Refusal:
    return Refusal(
        404, "UnknownDocumentError", f"file_id must be of an uploaded file or a document, got {file_id!r}"
    )


def _why(file_id: str, job: RecordedJob | None) -> str:
    """Return why a file has no documents, or is not in the vector store; "" where nothing says so."""
    if job is None:
        return "it was not uploaded"
    reasons = [each.reason for each in job.skipped if each.id == file_id]
    return reasons[0] if reasons else job.error.detail if job.error else ""


def _file_object(file: UploadedFile, job: RecordedJob | None) -> dict[str, Any]:
    why = _why(file.id, job) if job is not None else ""
    is_read = job is None or job.status == "completed"
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": file.created_at,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "error" if why else "processed" if is_read else "uploaded",
        "status_details": why or None,
    }


def _store_file(file: _StoredFile, job: RecordedJob | None, store: str) -> dict[str, Any]:
    why = _why(file.facts.id, job) if job is not None else ""
    status = "completed" if job is None else _STATES.get(job.status, job.status)
    return {
        "id": file.facts.id,
        "object": "vector_store.file",
        "created_at": file.facts.created_at,
        "status": "failed" if why else status,
        "usage_bytes": file.facts.bytes,
        "vector_store_id": store,
        "attributes": attributes_of(file.passages[0].metadata) if file.passages else {},
        "last_error": {"code": "unsupported_file", "message": why} if why else None,
    }


def _batch(job: RecordedJob, store: str) -> dict[str, Any]:
    total, failed = job.total or 0, len(job.skipped)
    status = _STATES.get(job.status, job.status)
    rest = total - job.done
    counts = {
        "in_progress": 0,
        "completed": job.done - failed,
        "failed": failed,
        "cancelled": 0,
        "total": total,
    }
    counts[status] += rest
    return {
        "id": job.id,
        "object": "vector_store.files_batch",
        "created_at": int(job.created_at),
        "status": status,
        "file_counts": counts,
        "vector_store_id": store,
    }
