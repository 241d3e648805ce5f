"""What does a hosted knowledge base hold? Retrieval in slices, ingestion, and an index in its place."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.knowledge_base.clients import set_default_client as set_default_client
    from sleuth.knowledge_base.ingestion import (
        abatch_check_document_statuses as abatch_check_document_statuses,
    )
    from sleuth.knowledge_base.ingestion import acheck_document_status as acheck_document_status
    from sleuth.knowledge_base.ingestion import aingest_documents_with_retry as aingest_documents_with_retry
    from sleuth.knowledge_base.ingestion import astart_ingestion_with_retry as astart_ingestion_with_retry
    from sleuth.knowledge_base.ingestion import batch_check_document_statuses as batch_check_document_statuses
    from sleuth.knowledge_base.ingestion import check_document_status as check_document_status
    from sleuth.knowledge_base.ingestion import ingest_documents_with_retry as ingest_documents_with_retry
    from sleuth.knowledge_base.ingestion import start_ingestion_with_retry as start_ingestion_with_retry
    from sleuth.knowledge_base.local import LocalKnowledgeBase as LocalKnowledgeBase
    from sleuth.knowledge_base.ranking import KnowledgeBaseRetriever as KnowledgeBaseRetriever
    from sleuth.knowledge_base.results import deduplicate_results as deduplicate_results
    from sleuth.knowledge_base.retriever import MultiSliceRetriever as MultiSliceRetriever
    from sleuth.knowledge_base.waiting import await_for_ingestion as await_for_ingestion
    from sleuth.knowledge_base.waiting import wait_for_ingestion as wait_for_ingestion

_HOMES = {
    "KnowledgeBaseRetriever": "sleuth.knowledge_base.ranking",
    "LocalKnowledgeBase": "sleuth.knowledge_base.local",
    "MultiSliceRetriever": "sleuth.knowledge_base.retriever",
    "abatch_check_document_statuses": "sleuth.knowledge_base.ingestion",
    "acheck_document_status": "sleuth.knowledge_base.ingestion",
    "aingest_documents_with_retry": "sleuth.knowledge_base.ingestion",
    "astart_ingestion_with_retry": "sleuth.knowledge_base.ingestion",
    "await_for_ingestion": "sleuth.knowledge_base.waiting",
    "batch_check_document_statuses": "sleuth.knowledge_base.ingestion",
    "check_document_status": "sleuth.knowledge_base.ingestion",
    "deduplicate_results": "sleuth.knowledge_base.results",
    "ingest_documents_with_retry": "sleuth.knowledge_base.ingestion",
    "set_default_client": "sleuth.knowledge_base.clients",
    "start_ingestion_with_retry": "sleuth.knowledge_base.ingestion",
    "wait_for_ingestion": "sleuth.knowledge_base.waiting",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
