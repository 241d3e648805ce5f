"""What clients of OpenAI's API ask of a vector store: searches, and the files in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.filters import And, Filter, Or, all_of
from sleuth.plugins.vendors.attributes import attribute_filter, attributes_of, file_of
from sleuth.plugins.vendors.scores import scored_page
from sleuth.plugins.vendors.stores import list_of, scope_of
from sleuth.surfaces.http import MISSING, Call, CurrentCall, JsonRouter, Strict, json_response
from sleuth.types import document_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sleuth.surfaces.http import UploadedFile
    from sleuth.types import RetrievedItem, StoredDocument

router = JsonRouter("OpenAI")

_ID: Final = re.compile(r"file-[0-9a-f]{24}")
_LAST: Final = "\U0010ffff"
"""Comes after the ids of all documents of a file, which begin with its id."""

QueryText = Annotated[str, Field(max_length=MOST_QUERY)]


class ComparisonFilter(Strict):
    """One attribute against a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str
    value: str | int | float | bool | list[str | int | float | bool]

    def tree(self) -> Filter:
        """Return the comparison as a filter of Sleuth's."""
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        return attribute_filter(self.key, self.type, value)


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
async def search_vector_store(
    vector_store_id: str, body: VectorStoreSearchRequest, call: CurrentCall
) -> Response:
    """Search a vector store: the index, by the name of its folder, or a scoped name in it."""
    scope = scope_of(vector_store_id, call)
    queries = [body.query] if isinstance(body.query, str) else body.query
    tree = body.filters.tree() if body.filters else None
    options = body.ranking_options or RankingOptions()
    page = await call.read(
        scored_page,
        " ".join(queries),
        body.max_num_results,
        all_of(scope, tree),
        call,
        least=options.score_threshold or 0.0,
    )
    return json_response(
        {
            "object": "vector_store.search_results.page",
            "search_query": queries,
            "data": [_hit(item, score) for item, score in page.hits],
            "has_more": False,
            "next_page": None,
            **page.remarks,
        }
    )


def file_values(item: RetrievedItem) -> dict[str, Any]:
    """Return the document of a passage as OpenAI's clients know a file: its id, name and attributes."""
    file = file_of(document_of(item.id), item.metadata)
    return {"file_id": file.id, "filename": file.name, "attributes": attributes_of(item.metadata)}


def _hit(item: RetrievedItem, score: float) -> dict[str, Any]:
    return {**file_values(item), "score": score, "content": [{"type": "text", "text": item.text}]}


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
async def vector_store_files(
    vector_store_id: str,
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=4096)] = None,
) -> Response:
    """Return the files of a vector store in order of id."""
    scope = scope_of(vector_store_id, call)
    documents, has_more = await call.read(files_page, call, scope, after, limit)
    data = [store_file(file_of(row.id, row.metadata), row.metadata, vector_store_id) for row in documents]
    return json_response(list_of(data, has_more=has_more))
