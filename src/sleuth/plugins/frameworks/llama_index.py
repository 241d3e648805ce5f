"""Sleuth in LlamaIndex: a retriever, and a vector store for `VectorStoreIndex`.

from llama_index.core import StorageContext, VectorStoreIndex
from sleuth.plugins.frameworks.llama_index import SleuthVectorStore

store = SleuthVectorStore.open("notes")
index = VectorStoreIndex.from_documents(documents, StorageContext.from_defaults(vector_store=store))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from sleuth.arguments import check_names
from sleuth.engine import Fusion
from sleuth.errors import ArgumentError, FilterError, requires
from sleuth.filters import Filter, Not, all_of, any_of, field
from sleuth.plugins.frameworks.whole import VectorsOfOthers, Whole, WholeIndex, nothing
from sleuth.remote import async_twin
from sleuth.types import RESERVED

with requires("llama-index-core", "llama-index", "retrievers and stores of LlamaIndex"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

_NODE_ID = "_node_id"
_NOT_FOR_MODELS = sorted(RESERVED - {"source"})
"""Metadata keys that the engine writes for programs: they cost a model tokens, and say nothing about a text."""
_WORDS = {VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH}
_BOTH = {VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID}


class SleuthRetriever(BaseRetriever):
    """Any retriever of Sleuth as one of LlamaIndex: an `Engine`, a `CodeRetriever`, `Sources`, a client of Chroma."""

    def __init__(self, source: Any, k: int = 10, **options: Any) -> None:
        """Create a retriever.

        Args:
            source: has `retrieve(query, k, ...)`.
            k: how many nodes.
            options: further arguments of `source.retrieve`, such as `filter`.
        """
        super().__init__()
        self._source, self._k, self._options = source, k, options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._find(query_bundle.query_str)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await self._afind(query_bundle.query_str)

    def _find(self, query: str) -> list[NodeWithScore]:
        ranking = self._source.retrieve(query, self._k, **self._options)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=item.id,
                    text=item.text,
                    metadata=dict(item.metadata),
                    excluded_llm_metadata_keys=_NOT_FOR_MODELS,
                    excluded_embed_metadata_keys=_NOT_FOR_MODELS,
                ),
                score=item.score,
            )
            for item in ranking
        ]

    _afind = async_twin(_find)


class SleuthVectorStore(BasePydanticVectorStore):
    """An index of Sleuth as a vector store of LlamaIndex, which makes the vectors.

    Modes of a query: "default" by the vector, "mmr" by it and by how nodes differ, "sparse" and "text_search" by words,
    "hybrid" and "semantic_hybrid" by both, where `alpha` from 0 (words) to 1 (vector) divides the weight.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    engine: Any

    @classmethod
    def open(cls, path: str | Path | None = None) -> SleuthVectorStore:
        """Open the index in a folder, or make it there; None is one in memory. `store.engine.close()` closes it."""
        return cls(engine=WholeIndex.open(path, VectorsOfOthers()).engine)

    @property
    def client(self) -> Any:
        """The engine."""
        return self.engine

    @property
    def _index(self) -> WholeIndex:
        return WholeIndex(self.engine)

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Add nodes with their vectors, and replace those whose id is there."""
        check_names(options, ())
        return self._index.add(
            [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes],
            map(_metadata, nodes),
            [node.node_id for node in nodes],
            [node.get_embedding() for node in nodes],
        )

    def delete(self, ref_doc_id: str, **options: Any) -> None:
        """Delete the nodes of a document."""
        check_names(options, ())
        self._delete(field("ref_doc_id") == ref_doc_id)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **options: Any
    ) -> None:
        """Delete the nodes with these ids that match."""
        check_names(options, ("node_ids", "filters"))
        choice = self._chosen(node_ids, filters)
        if choice is None:
            raise ArgumentError("node_ids or filters must say which nodes, got neither")
        self._delete(choice)

    def clear(self) -> None:
        """Delete all nodes."""
        self._delete(field(_NODE_ID).exists())

    def _delete(self, choice: Filter) -> None:
        if self.engine.count(choice).documents:
            self.engine.delete(filter=choice)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes with these ids that match, in order of id."""
        page = self.engine.list_documents(
            filter=self._chosen(node_ids, filters), limit=self.engine.count().documents or 1
        )
        return list(map(_node, self._index.get(document.id for document in page.documents)))

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """Return the nodes that answer a query best, with their scores.

        Args:
            options: of mode "mmr": `mmr_threshold` from 0 (difference) to 1 (the vector), and `mmr_prefetch_factor`,
                how many times as many nodes are compared. All that other modes take is in the query.

        Raises:
            ArgumentError: a mode that is not offered, a query without what its mode needs, or an option.
        """
        is_varied = query.mode == VectorStoreQueryMode.MMR
        check_names(options, ("mmr_threshold", "mmr_prefetch_factor") if is_varied else ())
        filter = all_of(self._chosen(query.node_ids, query.filters), _one_of("ref_doc_id", query.doc_ids))
        wholes = self._varied(query, filter, **options) if is_varied else self._hits(query, filter)
        nodes = list(map(_node, wholes))
        return VectorStoreQueryResult(
            nodes, [document.score or 0.0 for document in wholes], [node.node_id for node in nodes]
        )

    def _hits(self, query: VectorStoreQuery, filter: Filter | None) -> list[Whole]:
        text, vector, k = query.query_str, query.query_embedding, query.similarity_top_k
        if query.mode == VectorStoreQueryMode.DEFAULT:
            if vector is None:
                raise ArgumentError("query_embedding must be a vector in mode 'default', got None")
            return self._index.nearest(vector, k, filter)
        if query.mode not in _WORDS | _BOTH:
            offered = {VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR, *_WORDS, *_BOTH}
            modes = ", ".join(sorted(mode.value for mode in offered))
            raise ArgumentError(f"mode must be one of {modes}, got {query.mode.value!r}")
        if text is None or (query.mode in _BOTH and vector is None):
            raise ArgumentError("query_str (and query_embedding in mode 'hybrid') must be given, got None")
        if query.mode in _WORDS:
            return self._index.search(text, query.sparse_top_k or k, filter=filter, legs=["lexical"])
        share = 0.5 if query.alpha is None else query.alpha
        fusion = Fusion(weights={"lexical": 1 - share, "dense": share})
        with self.engine.embedder.holding(text, cast("Sequence[float]", vector)):
            return self._index.search(text, query.hybrid_top_k or k, filter=filter, fusion=fusion)

    def _varied(
        self,
        query: VectorStoreQuery,
        filter: Filter | None,
        mmr_threshold: float | None = None,
        mmr_prefetch_factor: float = 4.0,  # as of other stores of LlamaIndex
    ) -> list[Whole]:
        """Return nodes by maximal marginal relevance, with the scores by which LlamaIndex chooses them."""
        vector, k = query.query_embedding, query.similarity_top_k
        if vector is None:
            raise ArgumentError("query_embedding must be a vector in mode 'mmr', got None")
        nearest = self._index.nearest(vector, max(k, int(k * mmr_prefetch_factor)), filter)
        scores, places = get_top_k_mmr_embeddings(
            vector,
            self._index.vectors(nearest),
            similarity_top_k=k,
            embedding_ids=list(range(len(nearest))),
            mmr_threshold=query.mmr_threshold if mmr_threshold is None else mmr_threshold,
        )
        return [nearest[place]._replace(score=score) for score, place in zip(scores, places, strict=True)]

    def _chosen(self, node_ids: Sequence[str] | None, filters: MetadataFilters | None) -> Filter | None:
        return all_of(_one_of(_NODE_ID, node_ids), self._filter(filters))

    def _filter(self, filters: MetadataFilters | None) -> Filter | None:
        if filters is None or not filters.filters:
            return None
        parts = [part for condition in filters.filters if (part := self._part(condition)) is not None]
        if filters.condition == FilterCondition.OR:
            return any_of(*parts)
        together = cast("Filter", all_of(*parts))
        return Not(together) if filters.condition == FilterCondition.NOT else together

    def _part(self, part: MetadataFilter | MetadataFilters) -> Filter | None:
        if isinstance(part, MetadataFilters):
            return self._filter(part)
        key, value = field(part.key), part.value
        values = value if isinstance(value, list) else [value]
        if part.operator == FilterOperator.TEXT_MATCH_INSENSITIVE:  # by the values that the index has
            values_there = self._index.values(part.key)
            return _in(part.key, [item for item in values_there if str(value).lower() in str(item).lower()])
        try:
            return _comparison(key, part.operator, value, values)
        except KeyError:
            raise FilterError(f"operator must be a FilterOperator, got {part.operator!r}") from None


def _comparison(key: Any, operator: FilterOperator, value: Any, values: list[Any]) -> Filter:
    """Return a comparison of LlamaIndex as a filter. A missing key matches `!=`, `nin` and `is_empty`."""
    comparisons: dict[FilterOperator, Any] = {
        FilterOperator.EQ: lambda: key == value,
        FilterOperator.NE: lambda: key != value,
        FilterOperator.GT: lambda: key > value,
        FilterOperator.GTE: lambda: key >= value,
        FilterOperator.LT: lambda: key < value,
        FilterOperator.LTE: lambda: key <= value,
        FilterOperator.IN: lambda: _in(key.key, values),
        FilterOperator.NIN: lambda: Not(_in(key.key, values)),
        FilterOperator.ANY: lambda: any_of(*map(key.contains, values)),
        FilterOperator.ALL: lambda: all_of(*map(key.contains, values)),
        FilterOperator.CONTAINS: lambda: key.contains(value),
        FilterOperator.TEXT_MATCH: lambda: key.has_substring(value),
        FilterOperator.IS_EMPTY: lambda: key.exists(False),
    }
    comparison: Filter = comparisons[operator]()
    return comparison


def _in(key: str, values: Sequence[Any]) -> Filter:
    """Return the filter of membership; of no value at all nothing is a member."""
    return field(key).is_in(values) if values else nothing(key)


def _one_of(key: str, values: Sequence[str] | None) -> Filter | None:
    """Return the filter of these values; `VectorStoreIndex` means all nodes by an empty list."""
    return field(key).is_in(values) if values else None


def _metadata(node: BaseNode) -> dict[str, Any]:
    """Return what is kept of a node: its metadata for filters, and the node itself without text and vector.

    Empty lists are left out, so that `is_empty` means a missing key; the node itself has them.
    """
    metadata = node_to_metadata_dict(node, remove_text=True)
    return {key: value for key, value in metadata.items() if value != []} | {_NODE_ID: node.node_id}


def _node(whole: Whole) -> BaseNode:
    return metadata_dict_to_node(whole.metadata, whole.text)
