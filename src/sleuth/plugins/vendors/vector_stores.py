"""Vector stores as OpenAI's clients know them: the index, scoped names in it, their files, and searches.

The index is a vector store with the name of its folder. `INDEX:NAME` is one, too: the documents whose metadata key
`vector_store` holds NAME. Nothing else is kept of it, so that a name without documents is an empty store.

Documents are files with attributes. An attribute is metadata like any other, unless the engine has a key of its name;
then it is in `upload.attributes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Annotated, Any, Final, Literal, NamedTuple

from fastapi import Query
from pydantic import Field, ValidationError

from sleuth.arguments import MOST_QUERY
from sleuth.engine import SearchRequest
from sleuth.filters import And, Compare, Filter, Or, all_of, any_of
from sleuth.surfaces.http import (
    MISSING,
    Call,
    CurrentCall,
    JsonRouter,
    Refusal,
    Strict,
    UploadedFile,
    remarks_of,
    retrieve,
    writes,
)
from sleuth.types import RESERVED, UPLOAD, RetrievedItem, StoredDocument, document_of

router = JsonRouter("OpenAI")

STORES: Final = "vector_store"
"""Metadata key: names of the scoped vector stores that a document is in."""
OWN_KEYS: Final = RESERVED | {"title", "language", STORES, UPLOAD}
"""Metadata keys that mean something to the engine; attributes of these names have a place of their own."""

MOST_NAME = 100
_MOST_STORES = 1_000

_ID: Final = re.compile(r"file-[0-9a-f]{24}")
_LAST: Final = "\U0010ffff"
"""Comes after the ids of all documents of a file, which begin with its id."""


def file_of(id: str, metadata: Mapping[str, Any]) -> UploadedFile:
    """Return the file of a document: the uploaded one, or for a document of another origin the document itself."""
    try:
        return UploadedFile.model_validate(metadata.get(UPLOAD))
    except ValidationError:
        source, size, modified = (metadata.get(key) for key in ("source", "size", "modified"))
        try:
            created_at = int(datetime.fromisoformat(str(modified)).timestamp())
        except (ValueError, OverflowError):
            created_at = 0
        name = str(source or id)
        name = name.rstrip("/").rpartition("/")[2] or name
        return UploadedFile(id=id, name=name, bytes=size if type(size) is int else 0, created_at=created_at)


def upload_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document says of the file that it was uploaded in; empty where it was not."""
    values = metadata.get(UPLOAD)
    return dict(values) if isinstance(values, Mapping) else {}


def attributes_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a file as its client gave them; of another document, its own metadata."""
    upload = upload_of(metadata)
    fields = upload.get("attributes", {})
    names = upload.get("names", ()) if upload else metadata.keys() - RESERVED
    values = {name: fields.get(name, metadata.get(name)) for name in metadata if name in names} | fields
    return {name: value for name, value in values.items() if isinstance(value, str | int | float | bool)}


def list_of(data: Sequence[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """Return objects as a list of OpenAI's API."""
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": has_more,
    }


def scope_of(store: str, call: Call) -> Filter | None:
    """Return the filter of a vector store; None for the index, which is all of it.

    Raises:
        Refusal: 404.
    """
    index = call.service.name
    if store == index:
        return None
    name = store.removeprefix(f"{index}:")
    if name == store or not is_name(name):
        raise Refusal(
            404, "UnknownStoreError", f"the vector store must be {index!r} or '{index}:NAME', got {store!r}"
        )
    return Compare(STORES, "eq", name)


def is_name(name: str) -> bool:
    """Return whether a name can be part of the id of a vector store."""
    return 0 < len(name) <= MOST_NAME and name.isprintable() and name == name.strip() and "/" not in name


def name_in(store: str, call: Call) -> str:
    """Return the scoped name of a vector store that `scope_of` accepts; "" for the index."""
    return "" if store == call.service.name else store.removeprefix(f"{call.service.name}:")


def names_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the scoped names that a document has."""
    value = metadata.get(STORES)
    return [str(name) for name in (value if isinstance(value, list) else [value] if value else [])]


def take_out(documents: Iterable[tuple[str, Mapping[str, Any]]], name: str, call: Call) -> None:
    """Take documents, given by id and metadata, out of a scoped vector store; they stay in the index."""
    ids_by_names: dict[tuple[str, ...], list[str]] = {}
    for id, metadata in documents:
        names = tuple(store_name for store_name in names_of(metadata) if store_name != name)
        ids_by_names.setdefault(names, []).append(id)
    for names, ids in ids_by_names.items():
        call.engine.update({STORES: list(names) or None}, ids, timeout=call.remaining)


def store_object(store: str, call: Call) -> dict[str, Any]:
    """Return a vector store; a key with a filter counts its own documents.

    Raises:
        Refusal: 404.
    """
    documents = call.engine.count(scope_of(store, call)).documents
    counts = {"in_progress": 0, "completed": documents, "failed": 0, "cancelled": 0, "total": documents}
    return {
        "id": store,
        "object": "vector_store",
        "created_at": 0,
        "name": name_in(store, call) or store,
        "status": "completed",
        "file_counts": counts,
        "usage_bytes": 0,
        "metadata": {},
    }


@router.get("/v1/vector_stores")
def vector_stores(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=_MOST_STORES)] = _MOST_STORES,
    after: Annotated[str | None, Query(max_length=4096)] = None,
) -> dict[str, Any]:
    """Return the vector stores in order of id: the index, and the scoped names that documents have."""
    index = call.service.name
    names = sorted(str(facet.value) for facet in call.engine.facets(STORES, limit=_MOST_STORES)[STORES])
    stores = [index, *(f"{index}:{name}" for name in names if is_name(name))]
    stores = [store for store in stores if after is None or store > after]
    data = [store_object(store, call) for store in stores[:limit]]
    return list_of(data, has_more=len(stores) > limit)


@router.get("/v1/vector_stores/{vector_store_id}", responses=MISSING)
def vector_store(vector_store_id: str, call: CurrentCall) -> dict[str, Any]:
    """Return the index, or a scoped name in it, as a vector store."""
    return store_object(vector_store_id, call)


@router.delete("/v1/vector_stores/{vector_store_id}", responses=MISSING)
@writes
def delete_vector_store(vector_store_id: str, call: CurrentCall) -> dict[str, Any]:
    """Take all documents out of a scoped vector store; they stay in the index. The index itself is not deleted.

    Those of others that a key may not see stay in the store.
    """
    scope, name = scope_of(vector_store_id, call), name_in(vector_store_id, call)
    if scope is None:
        raise Refusal(
            403,
            "ScopeError",
            "the index is not deleted over HTTP; POST /v1/documents/delete deletes documents",
        )
    while documents := call.engine.list_documents(filter=scope, limit=1000).documents:
        take_out(((document.id, document.metadata) for document in documents), name, call)
    return {"id": vector_store_id, "object": "vector_store.deleted", "deleted": True}


class ScoredPage(NamedTuple):
    """Passages with their scores from 0 to 1, and the fields of `Remarks`."""

    hits: list[tuple[RetrievedItem, float]]
    remarks: dict[str, Any]


def scored_page(query: str, k: int, filter: Filter | None, call: Call, *, least: float = 0.0) -> ScoredPage:
    """Return the engine's best `k` passages in its order, with the scores of `score_hits`, without those below `least`.

    The engine's own scores are scaled by the hits of one query, so that they do not compare with those of another.
    No score is above that of a better hit: clients that sort by score keep the order.
    """
    from sleuth.engine import score_hits

    ranking = retrieve(SearchRequest(query=query, k=k, explain=True), call, k, filter=filter)
    scores = accumulate(score_hits(call.engine, query, ranking), min)
    hits = [(item, score) for item, score in zip(ranking, scores, strict=True) if score >= least]
    return ScoredPage(hits, remarks_of(ranking))


QueryText = Annotated[str, Field(max_length=MOST_QUERY)]


class ComparisonFilter(Strict):
    """One attribute against a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str
    value: str | int | float | bool | list[str | int | float | bool]

    def tree(self) -> Filter:
        """Return the comparison as a filter; a name of the engine's means the client's attribute where it gave one."""
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        comparison = Compare(self.key, self.type, value)
        if self.key not in OWN_KEYS:
            return comparison
        own_key = f"{UPLOAD}.attributes.{self.key}"
        return any_of(
            And((Compare(own_key, "exists", True), Compare(own_key, self.type, value))),
            And((Compare(own_key, "exists", False), comparison)),
        )


class CompoundFilter(Strict):
    """Several filters, of which all or any must hold."""

    type: Literal["and", "or"]
    filters: list[ComparisonFilter | CompoundFilter] = Field(min_length=1, max_length=1000)

    def tree(self) -> Filter:
        """Return the compound filter as a filter of Sleuth's."""
        parts = tuple(part.tree() for part in self.filters)
        if len(parts) == 1:
            return parts[0]
        return And(parts) if self.type == "and" else Or(parts)


class RankingOptions(Strict):
    """How hits are cut; there is one ranker."""

    ranker: Literal["auto"] | None = None
    score_threshold: float | None = Field(default=None, ge=0, le=1)


class VectorStoreSearchRequest(Strict):
    """A search as OpenAI's clients ask it. Queries of a list are searched as one text."""

    query: QueryText | list[QueryText] = Field(examples=["how do I rotate a key"])
    filters: ComparisonFilter | CompoundFilter | None = None
    max_num_results: int = Field(default=10, ge=1, le=50)
    ranking_options: RankingOptions | None = None
    rewrite_query: Literal[False] | None = Field(
        default=None, description="Queries are searched as they are.", examples=[False]
    )


@router.post("/v1/vector_stores/{vector_store_id}/search", responses=MISSING)
def search_vector_store(
    vector_store_id: str, body: VectorStoreSearchRequest, call: CurrentCall
) -> dict[str, Any]:
    """Search a vector store: the index, by the name of its folder, or a scoped name in it."""
    queries = [body.query] if isinstance(body.query, str) else body.query
    tree = all_of(scope_of(vector_store_id, call), body.filters.tree() if body.filters else None)
    threshold = (body.ranking_options or RankingOptions()).score_threshold or 0.0
    page = scored_page(" ".join(queries), body.max_num_results, tree, call, least=threshold)
    return {
        "object": "vector_store.search_results.page",
        "search_query": queries,
        "data": [
            {**file_values(item), "score": score, "content": [{"type": "text", "text": item.text}]}
            for item, score in page.hits
        ],
        "has_more": False,
        "next_page": None,
        **page.remarks,
    }


def file_values(item: RetrievedItem) -> dict[str, Any]:
    """Return the document of a passage as OpenAI's clients know a file: its id, name and attributes."""
    file = file_of(document_of(item.id), item.metadata)
    return {"file_id": file.id, "filename": file.name, "attributes": attributes_of(item.metadata)}


def files_page(
    call: Call, filter: Filter | None, after: str | None, limit: int
) -> tuple[list[StoredDocument], bool]:
    """Return one document of each file, in order of id, and whether more follow.

    Args:
        after: id of the last file of the page before.
    """
    documents: dict[str, StoredDocument] = {}
    cursor, is_over = after, False
    while len(documents) <= limit and not is_over:
        if cursor is not None and (id := _ID.match(cursor)):
            cursor = id[0] + _LAST
        page = call.engine.list_documents(filter=filter, after=cursor, limit=limit + 1)
        for document in page.documents:
            documents.setdefault(file_of(document.id, document.metadata).id, document)
        cursor, is_over = page.after, page.after is None
    return list(documents.values())[:limit], len(documents) > limit


def store_file(file: UploadedFile, metadata: Mapping[str, Any], store: str) -> dict[str, Any]:
    """Return a file of a vector store, whose attributes are in the metadata of its documents."""
    return {
        "id": file.id,
        "object": "vector_store.file",
        "created_at": file.created_at,
        "status": "completed",
        "usage_bytes": file.bytes,
        "vector_store_id": store,
        "attributes": attributes_of(metadata),
    }


@router.get("/v1/vector_stores/{vector_store_id}/files", responses=MISSING)
def vector_store_files(
    vector_store_id: str,
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=4096)] = None,
) -> dict[str, Any]:
    """Return the files of a vector store in order of id."""
    documents, has_more = files_page(call, scope_of(vector_store_id, call), after, limit)
    data = [store_file(file_of(row.id, row.metadata), row.metadata, vector_store_id) for row in documents]
    return list_of(data, has_more=has_more)
