"""/v1/documents: added as JSON or as files, listed, read, changed and deleted; /v1/facets counts them."""

from __future__ import annotations

import reprlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

from fastapi import File, Form, Query, Request, UploadFile
from pydantic import BaseModel, Field
from pydantic_core import from_json
from starlette.datastructures import UploadFile as FormFile
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.errors import ArgumentError, LoadError
from sleuth.remote import in_thread
from sleuth.surfaces.http.answers import MISSING, Refusal, Strict, for_clients, json_response
from sleuth.surfaces.http.job_runs import RecordedJob, SkippedFile
from sleuth.surfaces.http.jobs import ACCEPTED, WAIT_PARAMETER, is_asynchronous, start_job
from sleuth.surfaces.http.routes import JsonRouter, writes
from sleuth.surfaces.http.search import FilterField
from sleuth.surfaces.http.service import Call, CurrentCall
from sleuth.types import RESERVED, UPLOAD

if TYPE_CHECKING:
    from sleuth.ingest import AddReport
    from sleuth.types import Document

STEP_DOCUMENTS = 500
"""Documents that a job adds at a time; changes of others come between two steps."""

router = JsonRouter("documents")


class NewDocument(Strict):
    """A document to add. Its id names it; without one its `source` does, or a hash of its text."""

    text: str
    metadata: dict[str, Any] = Field(default_factory=dict, examples=[{"source": "limits.md", "year": 2021}])
    id: str | None = Field(default=None, min_length=1, max_length=4096)


class AddRequest(Strict):
    """Documents to add."""

    documents: list[NewDocument] = Field(min_length=1, max_length=100_000)


class AddResponse(BaseModel):
    """What adding did. It is committed: the documents are there after a crash, and the next search finds them."""

    ids: list[str] = Field(
        description="Of the documents of the request, each once, in order; those that were there already too.",
        examples=[["limits.md"]],
    )
    added: int
    updated: int
    unchanged: int
    version: int | None = Field(
        description="Of the index; null for a key with a filter, as others write too."
    )


class UploadedFile(BaseModel):
    """A file that a client uploaded."""

    id: str = Field(examples=["file-18b2c3d4e5f60718a1b2c3d4"])
    name: str = Field(description="The last part of its path.")
    path: str = Field(default="", description="As the client sent it: the source of its documents.")
    bytes: int = Field(description="Its size.", examples=[2048])
    created_at: int
    purpose: str = Field(
        default="assistants", description="What it was uploaded for.", examples=["assistants"]
    )

    def skipped(self, name: str, reason: str) -> SkippedFile:
        """Return why the file, or a part of it with another name, is skipped."""
        return SkippedFile(id=self.id if name == self.path else None, name=name, reason=for_clients(reason))


class UploadResponse(AddResponse):
    """What adding files did."""

    files: list[UploadedFile] = Field(
        description="The files in order: metadata `upload.id` of their documents has the id.", examples=[[]]
    )
    skipped: list[SkippedFile]


@router.post("/v1/documents", response_model=AddResponse, responses=ACCEPTED, openapi_extra=WAIT_PARAMETER)
async def add(body: AddRequest, call: CurrentCall, request: Request) -> Response:
    """Add documents; those whose id is there are replaced. Answers when they are committed, or with a job."""
    from sleuth.types import Document

    documents = [Document(d.text, call.filled(d.metadata), id=d.id) for d in body.documents]
    if is_asynchronous(request):

        def add_some(first: int, job: RecordedJob) -> dict[str, Any]:
            batch, late = documents[first : first + STEP_DOCUMENTS], call.of_job()
            values = _report(late.engine.add(batch, timeout=late.remaining), batch, late)
            job.done = first + len(batch)
            return values

        steps = [partial(add_some, first) for first in range(0, len(documents), STEP_DOCUMENTS)]
        return await start_job("add", steps, len(documents), call)
    report = await call.write(call.engine.add, documents, timeout=call.remaining)
    return json_response(_report(report, documents, call))


@router.post(
    "/v1/documents/upload", response_model=UploadResponse, responses=ACCEPTED, openapi_extra=WAIT_PARAMETER
)
async def upload(
    call: CurrentCall,
    request: Request,
    files: Annotated[list[UploadFile], File(description="Files of any kind that `sleuth index` reads.")],
    metadata: Annotated[
        str, Form(description="A JSON object; every document gets its values.", max_length=1_000_000)
    ] = "{}",
) -> Response:
    """Add files. Each gets an id, and its path is the source of its documents; one of the same name stays.

    Answers when they are committed, or with a job.
    """
    call.require("write")
    try:
        values = from_json(metadata, allow_inf_nan=False)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ArgumentError(f"metadata must be a JSON object, got {reprlib.repr(metadata)}")
    if reserved := (RESERVED | {UPLOAD}).intersection(values):
        raise ArgumentError(
            f"metadata must be none of the keys that the engine writes itself, got {', '.join(sorted(reserved))}"
        )
    uploads = [Upload.of(file) for file in files]
    if not is_asynchronous(request):
        return json_response(await call.write(add_files, uploads, values, call))
    folder = tempfile.TemporaryDirectory(prefix="sleuth-job-")

    def keep() -> None:
        """Copy the files, since those of a form end with its request."""
        for number, upload in enumerate(uploads):
            with Path(folder.name, str(number)).open("xb") as out:
                shutil.copyfileobj(upload.data, out)

    def add_one(number: int, file: UploadedFile, job: RecordedJob) -> dict[str, Any]:
        with Path(folder.name, str(number)).open("rb") as data:
            try:
                report = add_files([Upload(file, data)], values, call.of_job())
            except LoadError as error:
                if len(uploads) == 1:
                    raise
                report = {"skipped": [file.skipped(file.path, error.reason)]}
        job.done = number + 1
        return report

    steps = [partial(add_one, number, upload.file) for number, upload in enumerate(uploads)]
    try:
        await in_thread(keep)
        return await start_job("upload", steps, len(steps), call, folder.cleanup)
    except BaseException:
        folder.cleanup()
        raise


class Upload(NamedTuple):
    """A file that came with a request."""

    file: UploadedFile
    data: BinaryIO

    @classmethod
    def of(cls, file: FormFile, purpose: str = "assistants") -> Upload:
        """Return a file of a form, with a new id: two of one name differ.

        Raises:
            ArgumentError: a name that could not name a file.
        """
        parts: list[str] = []
        for part in PurePosixPath((file.filename or "").replace("\\", "/")).parts:
            if part == ".." or part.endswith((":", "/")):
                parts.clear()  # what is before it is no folder of the upload
            else:
                parts.append(part)
        path = "/".join(parts)
        is_short = len(path.encode()) <= 4096 and all(len(part.encode()) <= 255 for part in parts)
        if not parts or not parts[-1].strip(" .") or not path.isprintable() or not is_short:
            raise ArgumentError(f"files must have printable names of 1 to 255 bytes, got {file.filename!r}")
        id, size, created_at = f"file-{secrets.token_hex(12)}", file.size or 0, int(time.time())
        uploaded = UploadedFile(
            id=id, name=parts[-1], path=path, bytes=size, created_at=created_at, purpose=purpose
        )
        return cls(uploaded, file.file)


def add_files(uploads: Sequence[Upload], values: dict[str, Any], call: Call) -> dict[str, Any]:
    """Add files, with the paths that the client sent; return what that did and which of them were skipped.

    Args:
        values: metadata of every document.

    Raises:
        LoadError: no file could be read.
    """
    from sleuth.ingest import ReadOptions, Skipped, read
    from sleuth.types import Document

    documents: list[Document] = []
    skips: list[SkippedFile] = []
    with tempfile.TemporaryDirectory(prefix="sleuth-upload-") as folder:
        for number, (file, data) in enumerate(uploads):
            path = Path(folder, str(number), file.name)
            path.parent.mkdir()
            with path.open("xb") as out:
                shutil.copyfileobj(data, out)
            about = file.model_dump(exclude={"path"}) | ({"names": list(values)} if values else {})
            file_metadata = {**call.filled(values), UPLOAD: about, "path": file.path}
            for record in read([path], options=ReadOptions(hidden=True)):
                if isinstance(record, Skipped):
                    name = record.path.replace(str(path), file.path)
                    skips.append(file.skipped(name, record.reason))
                elif isinstance(record, Document):
                    source = str(record.metadata.get("source", path))
                    metadata = record.metadata | file_metadata
                    metadata["source"] = source.replace(str(path), file.path)
                    id = source.replace(str(path), file.id)
                    documents.append(Document(record.page_content, metadata, id=id))
        if not documents and skips:
            raise LoadError(skips[0].name, skips[0].reason)
        report = call.engine.add(documents, timeout=call.remaining)
    files = [upload.file.model_dump() for upload in uploads]
    return {**_report(report, documents, call), "files": files, "skipped": skips}


def _report(report: AddReport, documents: Sequence[Document], call: Call) -> dict[str, Any]:
    from sleuth.ingest.options import AUTO
    from sleuth.ingest.validate import identify, with_language

    language = AUTO if call.engine.settings.tells_languages else ""
    named = (
        document if document.id or document.metadata.get("source") else with_language(document, language)
        for document in documents
    )
    values: dict[str, Any] = {"ids": list(dict.fromkeys(map(identify, named)))}
    values |= {name: getattr(report, name) for name in ("added", "updated", "unchanged")}
    return {**values, "version": report.version if call.key.filter is None else None}


class ListedDocument(BaseModel):
    """A document without its text."""

    id: str
    source: str
    title: str
    passages: int
    metadata: dict[str, Any]


class ListResponse(BaseModel):
    """Documents in order of id. `next_cursor` is null on the last page."""

    documents: list[ListedDocument]
    next_cursor: str | None


@router.get("/v1/documents", response_model=ListResponse)
def list_documents(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4096)] = None,
    filter: Annotated[str | None, Query(max_length=10_000, examples=["year>=2020"])] = None,
) -> dict[str, Any]:
    """List documents. A document that stays comes once, whatever is added or deleted between two pages."""
    page = call.engine.list_documents(filter=filter, after=cursor, limit=limit)
    documents = [
        {"id": d.id, "source": d.source, "title": d.title, "passages": d.chunks, "metadata": d.metadata}
        for d in page.documents
    ]
    return {"documents": documents, "next_cursor": page.after}


class StoredPassage(BaseModel):
    """A passage of a document."""

    id: str
    text: str
    metadata: dict[str, Any]


class DocumentResponse(BaseModel):
    """A document's passages in order, or the passage that the id names."""

    id: str
    passages: list[StoredPassage]


@router.get("/v1/documents/{id:path}", response_model=DocumentResponse, responses=MISSING)
def get(id: str, call: CurrentCall) -> dict[str, Any]:
    """Read a document, or one passage, by id."""
    items = call.engine.get(id)
    if not items:
        raise Refusal(404, "UnknownDocumentError", f"id must be of a document or passage, got {id!r}")
    passages = [{"id": item.id, "text": item.text, "metadata": item.metadata} for item in items]
    return {"id": id, "passages": passages}


class DeleteRequest(Strict):
    """Which documents: by id, by filter, or those of the ids that match the filter."""

    ids: list[str] | None = Field(default=None, max_length=100_000)
    filter: FilterField = None


class IdsResponse(BaseModel):
    """The documents that a change was about."""

    ids: list[str]


@router.delete("/v1/documents/{id:path}", response_model=IdsResponse, responses=MISSING)
@writes
def delete(id: str, call: CurrentCall) -> dict[str, Any]:
    """Delete a document; its text leaves the disk."""
    ids = call.engine.delete([id], timeout=call.remaining)
    if not ids:
        raise Refusal(404, "UnknownDocumentError", f"id must be of a document, got {id!r}")
    return {"ids": ids}


@router.post("/v1/documents/delete", response_model=IdsResponse)
@writes
def delete_many(body: DeleteRequest, call: CurrentCall) -> dict[str, Any]:
    """Delete documents by id or by filter; ids that are not there are left out of the answer."""
    return {"ids": call.engine.delete(body.ids, filter=body.filter, timeout=call.remaining)}


class UpdateRequest(DeleteRequest):
    """New metadata of documents; null removes a key."""

    changes: dict[str, Any] = Field(min_length=1, examples=[{"year": 2022, "draft": None}])


@router.post("/v1/documents/update", response_model=IdsResponse)
@writes
def update(body: UpdateRequest, call: CurrentCall) -> dict[str, Any]:
    """Change metadata of documents; their text is neither read nor embedded again."""
    return {"ids": call.engine.update(body.changes, body.ids, filter=body.filter, timeout=call.remaining)}


class FacetsRequest(Strict):
    """Which metadata keys to count, and among which documents."""

    keys: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field(min_length=1, max_length=50)
    query: str | None = Field(
        default=None, max_length=MOST_QUERY, description="Count documents that hold a word of it."
    )
    filter: FilterField = None
    limit: int = Field(default=10, ge=1, le=1000, description="Values per key, the most frequent first.")


class FacetValue(BaseModel):
    """One value of a key, and how many documents have it."""

    value: str | int | float | bool
    documents: int


class FacetsResponse(BaseModel):
    """Values by key."""

    facets: dict[str, list[FacetValue]]


@router.post("/v1/facets", response_model=FacetsResponse)
def facets(body: FacetsRequest, call: CurrentCall) -> dict[str, Any]:
    """Count, for each value of metadata keys, the documents that match a query and a filter."""
    counts = call.engine.facets(body.keys, query=body.query, filter=body.filter, limit=body.limit)
    return {"facets": {key: [facet._asdict() for facet in values] for key, values in counts.items()}}


class CountRequest(Strict):
    """What to count."""

    filter: FilterField = None
    query: Annotated[
        str | None, Field(max_length=MOST_QUERY, description="Count only passages that hold a word of it.")
    ] = None


class CountResponse(BaseModel):
    """How much matches."""

    documents: int
    passages: int


@router.post("/v1/count", response_model=CountResponse)
def count(body: CountRequest, call: CurrentCall) -> dict[str, Any]:
    """Count the documents and passages that match a filter."""
    return call.engine.count(body.filter, query=body.query)._asdict()
