"""Vector stores as OpenAI's clients know them: the index, and scoped names in it.

The index is a vector store with the name of its folder. `INDEX:NAME` is one, too: the documents whose metadata key
`vector_store` holds NAME. Nothing else is kept of it, so that a name without documents is an empty store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.filters import Compare, Filter
from sleuth.plugins.vendors.attributes import STORES
from sleuth.surfaces.http import MISSING, Call, CurrentCall, JsonRouter, Refusal, json_response

router = JsonRouter("OpenAI")

MOST_NAME = 100
_MOST_STORES = 1_000


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


def checked_name(name: str) -> str:
    """Return the name of a scoped vector store without spaces around it.

    Raises:
        ArgumentError: it cannot be part of an id.
    """
    if not is_name(name.strip()):
        raise ArgumentError(
            f"name must be 1 to {MOST_NAME} printable characters without a slash, got {name!r}"
        )
    return name.strip()


def is_name(name: str) -> bool:
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


def take_all_out(store: str, call: Call) -> None:
    """Take all documents out of a scoped vector store; those of others that a key may not see stay."""
    scope, name = scope_of(store, call), name_in(store, call)
    while documents := call.engine.list_documents(filter=scope, limit=1000).documents:
        take_out(((document.id, document.metadata) for document in documents), name, call)


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
async def vector_stores(
    call: CurrentCall,
    limit: Annotated[int, Query(ge=1, le=_MOST_STORES)] = _MOST_STORES,
    after: Annotated[str | None, Query(max_length=4096)] = None,
) -> Response:
    """Return the vector stores in order of id: the index, and the scoped names that documents have."""

    def read() -> tuple[list[dict[str, Any]], bool]:
        index = call.service.name
        names = sorted(str(facet.value) for facet in call.engine.facets(STORES, limit=_MOST_STORES)[STORES])
        stores = [index, *(f"{index}:{name}" for name in names if is_name(name))]
        stores = [store for store in stores if after is None or store > after]
        return [store_object(store, call) for store in stores[:limit]], len(stores) > limit

    data, has_more = await call.read(read)
    return json_response(list_of(data, has_more=has_more))


@router.get("/v1/vector_stores/{vector_store_id}", responses=MISSING)
async def vector_store(vector_store_id: str, call: CurrentCall) -> Response:
    """Return the index, or a scoped name in it, as a vector store."""
    return json_response(await call.read(store_object, vector_store_id, call))


@router.delete("/v1/vector_stores/{vector_store_id}", responses=MISSING)
async def delete_vector_store(vector_store_id: str, call: CurrentCall) -> Response:
    """Take all documents out of a scoped vector store; they stay in the index. The index itself is not deleted."""
    if scope_of(vector_store_id, call) is None:
        raise Refusal(
            403,
            "ScopeError",
            "the index is not deleted over HTTP; POST /v1/documents/delete deletes documents",
        )
    await call.write(take_all_out, vector_store_id, call)
    return json_response({"id": vector_store_id, "object": "vector_store.deleted", "deleted": True})
