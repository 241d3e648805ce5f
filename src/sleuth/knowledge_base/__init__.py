"""What does a hosted knowledge base hold? Retrieval in slices, ingestion, and an index that answers in its
place.
"""

from sleuth.knowledge_base.clients import set_default_client
from sleuth.knowledge_base.ingestion import (
    abatch_check_document_statuses,
    acheck_document_status,
    aingest_documents_with_retry,
    astart_ingestion_with_retry,
    batch_check_document_statuses,
    check_document_status,
    ingest_documents_with_retry,
    start_ingestion_with_retry,
)
from sleuth.knowledge_base.local import LocalKnowledgeBase
from sleuth.knowledge_base.results import deduplicate_results
from sleuth.knowledge_base.retriever import MultiSliceRetriever
from sleuth.knowledge_base.waiting import await_for_ingestion, wait_for_ingestion

__all__ = [
    "LocalKnowledgeBase",
    "MultiSliceRetriever",
    "abatch_check_document_statuses",
    "acheck_document_status",
    "aingest_documents_with_retry",
    "astart_ingestion_with_retry",
    "await_for_ingestion",
    "batch_check_document_statuses",
    "check_document_status",
    "deduplicate_results",
    "ingest_documents_with_retry",
    "set_default_client",
    "start_ingestion_with_retry",
    "wait_for_ingestion",
]
