"""Sleuth in Haystack: a document store, and a retriever component.

from haystack import Document, Pipeline
from sleuth.plugins.frameworks.haystack import SleuthDocumentStore, SleuthRetriever

store = SleuthDocumentStore("notes")
store.write_documents([Document(content="A bucket is refilled every second.")])
documents = SleuthRetriever(store).run("refilling buckets")["documents"]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import cached_property
from operator import ge, gt, le, lt
from typing import Any, cast

from sleuth.errors import ArgumentError, requires
from sleuth.filters import Compare, Filter, Not, all_of, any_of, field
from sleuth.logs import logger_of
from sleuth.plugins.frameworks.whole import VectorsOfOthers, Whole, WholeIndex, nothing
from sleuth.remote import async_twin

with requires("haystack-ai", "haystack", "stores and retrievers of Haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
    from haystack.errors import FilterError

logger = logger_of("frameworks")

_ID = "_id"
_REST = "_haystack"
"""Metadata key of the fields of a document beside its text and metadata, as JSON; absent where they are empty."""
_KEPT = ("blob", "embedding", "sparse_embedding")
OF_DOCUMENTS = "documents"
"""Spelling of the embedder of a store whose documents bring their vectors."""


class SleuthDocumentStore:
    """An index of Sleuth as a document store of Haystack. Documents need a text; they come back as they were.

    Vectors are made by the index, and `SleuthRetriever` searches by words and meaning. With `embedder="documents"` the
    documents bring their embeddings, and the retriever takes those of queries.
    """

    def __init__(self, path: str | None = None, embedder: str | None = None) -> None:
        """Create a store; its index is opened, or made, when it is first used.

        Args:
            path: folder of the index; None for one that goes with the store, which a written pipeline does not hold.
            embedder: spelling of the embedder, as of `Engine.open`, or "documents"; None for the default one.
        """
        self.path, self.embedder = path, embedder

    @cached_property
    def _index(self) -> WholeIndex:
        return WholeIndex.open(self.path, VectorsOfOthers() if self.has_vectors else self.embedder)

    @property
    def has_vectors(self) -> bool:
        """Whether documents bring the vectors that are searched."""
        return self.embedder == OF_DOCUMENTS

    @property
    def engine(self) -> Any:
        """The engine; `store.engine.close()` closes the index."""
        return self._index.engine

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` needs; documents of a store without a path are not in it, which the log says."""
        if self.path is None and (count := self.count_documents()):
            logger.warning("%d documents are not written with their store: it has no path", count)
        values: dict[str, Any] = default_to_dict(self, path=self.path, embedder=self.embedder)
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SleuthDocumentStore:
        """Return the store that `to_dict` wrote."""
        store: SleuthDocumentStore = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_documents_by_filter({})

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return how many documents match."""
        count: int = self.engine.count(as_filter(filters)).documents
        return count

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, by id.

        Raises:
            FilterError: filters that cannot be read.
        """
        page = self.engine.list_documents(filter=as_filter(filters), limit=max(1, self.count_documents()))
        return list(map(_document, self._index.get(document.id for document in page.documents)))

    def write_documents(
        self, documents: Iterable[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Add documents, and return how many; a blank one is left out, with a warning in the log.

        Args:
            policy: for an id that exists already, or comes twice: SKIP the document, OVERWRITE the one before it, or
                (NONE, FAIL) raise.

        Raises:
            ValueError: `documents` is not a list of Documents, or one lacks the embedding that the store searches.
            DuplicateDocumentError: an id exists already; no document is added then.
        """
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            raise ArgumentError(f"documents must be a list of Documents, got {documents!r}")
        new_documents: dict[str, Document] = {}
        for document in documents:
            if not isinstance(document, Document):
                raise ArgumentError(f"documents must be a list of Documents, got {document!r}")
            if not (document.content or "").strip():
                logger.warning("The document %s was left out: its content is blank", document.id)
                continue
            if self.has_vectors and document.embedding is None:
                raise ArgumentError(f"embedding of the document {document.id!r} must be a vector, got None")
            if policy != DuplicatePolicy.OVERWRITE and (
                document.id in new_documents or self.engine.get(document.id)
            ):
                if policy == DuplicatePolicy.SKIP:
                    continue
                raise DuplicateDocumentError(f"ID '{document.id}' already exists.")
            new_documents[document.id] = document
        self._index.add(
            [document.content or "" for document in new_documents.values()],
            map(_metadata, new_documents.values()),
            list(new_documents),
            [document.embedding for document in new_documents.values()] if self.has_vectors else None,
        )
        return len(new_documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the documents with these ids that are there."""
        self.engine.delete(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Delete every document; with `recreate_index`, give their space back to the disk, too."""
        self.delete_documents([document.id for document in self.engine.documents()])
        if recreate_index:
            self.engine.compact()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match, and return how many."""
        ids = [document.id for document in self.filter_documents(filters)]
        self.delete_documents(ids)
        return len(ids)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Lay metadata over that of the documents that match, and return how many."""
        documents = self.filter_documents(filters)
        for document in documents:
            document.meta.update(meta)
        return self.write_documents(documents, DuplicatePolicy.OVERWRITE)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each metadata field: keyword, int, float or boolean."""
        return {
            key: {"type": _type(kinds)}
            for key, kinds in self._index.types().items()
            if key not in (_ID, _REST)
        }

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the greatest value of a field; None where there are no values that compare."""
        values = self._index.values(metadata_field.removeprefix("meta."))
        try:
            return {"min": min(values, default=None), "max": max(values, default=None)}
        except TypeError:
            return {"min": None, "max": None}

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return how many values each field has in the documents that match."""
        return {name.removeprefix("meta."): len(self._values(name, filters)) for name in metadata_fields}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the values of a field, and how many there are; `search_term` must be part of each."""
        term = (search_term or "").lower()
        values = [value for value in self._values(metadata_field, filters) if term in str(value).lower()]
        return values[from_ : from_ + size], len(values)

    def _values(self, name: str, filters: dict[str, Any] | None) -> list[Any]:
        """Return each value of a field once, by its text and type.

        The columns of an index do not tell 1.0 from 1, which Haystack wants told apart: whole numbers are read from the
        documents.
        """
        key = name.removeprefix("meta.")
        values = self._index.values(key, as_filter(filters))
        if any(type(value) is int for value in values):
            values = [document.meta.get(key) for document in self.filter_documents(filters)]
        unique = {(str(value), type(value).__name__): value for value in values if value is not None}
        return [unique[place] for place in sorted(unique)]

    count_documents_async = async_twin(count_documents)
    count_documents_by_filter_async = async_twin(count_documents_by_filter)
    filter_documents_async = async_twin(filter_documents)
    write_documents_async = async_twin(write_documents)
    delete_documents_async = async_twin(delete_documents)
    delete_all_documents_async = async_twin(delete_all_documents)
    delete_by_filter_async = async_twin(delete_by_filter)
    update_by_filter_async = async_twin(update_by_filter)
    get_metadata_fields_info_async = async_twin(get_metadata_fields_info)
    get_metadata_field_min_max_async = async_twin(get_metadata_field_min_max)
    count_unique_metadata_by_filter_async = async_twin(count_unique_metadata_by_filter)
    get_metadata_field_unique_values_async = async_twin(get_metadata_field_unique_values)


@component
class SleuthRetriever:
    """Finds documents of a `SleuthDocumentStore` by words and meaning, or by the vector of a text embedder."""

    def __init__(
        self,
        document_store: SleuthDocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        """Create a component.

        Args:
            top_k: how many documents.
            filters: of all searches.
            filter_policy: whether filters of `run` take their place, or are added to them.
        """
        self.document_store, self.top_k = document_store, top_k
        self.filters, self.filter_policy = filters, filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` needs."""
        store, policy = self.document_store.to_dict(), self.filter_policy.value
        values: dict[str, Any] = default_to_dict(
            self, document_store=store, top_k=self.top_k, filters=self.filters, filter_policy=policy
        )
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SleuthRetriever:
        """Return the component that `to_dict` wrote."""
        parameters = data["init_parameters"]
        parameters["document_store"] = SleuthDocumentStore.from_dict(parameters["document_store"])
        parameters["filter_policy"] = FilterPolicy.from_str(parameters.get("filter_policy", "replace"))
        retriever: SleuthRetriever = default_from_dict(cls, data)
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        query_embedding: list[float] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the best documents, with their scores.

        Args:
            query_embedding: for a store with `embedder="documents"`, beside `query` or in its place.
        """
        store, k = self.document_store, self.top_k if top_k is None else top_k
        tree = as_filter(apply_filter_policy(self.filter_policy, self.filters, filters))
        if query is None and query_embedding is None:
            raise ArgumentError("query or query_embedding must be given, got neither")
        if query_embedding is not None and not store.has_vectors:
            raise ArgumentError(
                "query_embedding must be for a store that searches the embeddings of its documents: "
                f"write SleuthDocumentStore(path, embedder={OF_DOCUMENTS!r})"
            )
        if query is None:
            documents = store._index.nearest(cast("list[float]", query_embedding), k, tree)
        elif query_embedding is None:
            legs = ["lexical"] if store.has_vectors else None
            documents = store._index.search(query, k, filter=tree, legs=legs)
        else:
            with store.engine.embedder.holding(query, query_embedding):
                documents = store._index.search(query, k, filter=tree)
        return {"documents": list(map(_document, documents))}

    run_async = async_twin(run)


def as_filter(filters: dict[str, Any] | None) -> Filter | None:
    """Return filters of Haystack as a filter of Sleuth; None without any.

    Raises:
        FilterError: the filter is malformed, or compares by order (such as `<`) texts that are not dates, or lists:
            Haystack forbids both.
    """
    if not filters:
        return None
    if "field" in filters:
        return _comparison(filters)
    if "operator" not in filters or "conditions" not in filters:
        raise FilterError(f"filters must have 'operator' and 'conditions', or 'field', got {filters!r}")
    operator = filters["operator"]
    if operator not in ("AND", "OR", "NOT"):
        raise FilterError(f"operator must be AND, OR or NOT, got {operator!r}")
    parts = [part for condition in filters["conditions"] if (part := as_filter(condition)) is not None]
    if operator == "OR":
        return any_of(*parts)
    together = all_of(*parts)
    return together if operator == "AND" or together is None else Not(together)


def _comparison(condition: dict[str, Any]) -> Filter:
    if "operator" not in condition or "value" not in condition:
        raise FilterError(f"a comparison must have 'operator' and 'value', got {condition!r}")
    name, operator, value = condition["field"], condition["operator"], condition["value"]
    if positive := {"!=": "==", "not in": "in"}.get(operator):
        return Not(_comparison({**condition, "operator": positive}))
    key = field(_ID if name == "id" else name.removeprefix("meta."))
    if operator == "==":
        return _equals(key.key, value)
    if operator == "in":
        if not isinstance(value, list):
            raise FilterError(f"value of 'in' and 'not in' must be a list, got {value!r}")
        return any_of(*(_equals(key.key, member) for member in value)) if value else nothing(key.key)
    comparisons: dict[str, Callable[[Any, Any], Filter]] = {">": gt, ">=": ge, "<": lt, "<=": le}
    if operator not in comparisons:
        raise FilterError(
            f"operator must be one of ==, !=, in, not in, {', '.join(comparisons)}, got {operator!r}"
        )
    if value is None:
        return nothing(key.key)
    try:
        is_ordered = not isinstance(value, list)
        if isinstance(value, str):
            datetime.fromisoformat(value)
    except ValueError:
        is_ordered = False
    if not is_ordered:
        raise FilterError(f"value of {operator!r} must be a number or a date, got {value!r}")
    return comparisons[operator](key, value)


def _equals(key: str, value: Any) -> Filter:
    if value is None:
        return field(key).exists(False)
    if isinstance(value, list):
        return all_of(*map(field(key).contains, value)) or nothing(key)
    return Compare(key, "eq", value)


def _type(kinds: Collection[str]) -> str:
    """Return the name that Haystack has for JSON types; texts, and values of several kinds, are keywords."""
    names = {"boolean": "boolean", "integer": "int", "number": "float"}
    if set(kinds) == {"integer", "number"}:
        return "float"
    return names.get("".join(set(kinds)), "keyword")


def _metadata(document: Document) -> dict[str, Any]:
    """Return what is kept of a document beside its text."""
    fields = document.to_dict(flatten=False)
    other_fields = {key: fields[key] for key in _KEPT if fields[key] is not None}
    return {**document.meta, _ID: document.id, **({_REST: json.dumps(other_fields)} if other_fields else {})}


def _document(whole: Whole) -> Document:
    meta = dict(whole.metadata)
    meta.pop(_ID, None)
    other_fields = json.loads(meta.pop(_REST, "{}"))
    return Document.from_dict(
        {"id": whole.id, "content": whole.text, "meta": meta, "score": whole.score, **other_fields}
    )
