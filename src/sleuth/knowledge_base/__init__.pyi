from sleuth.knowledge_base.clients import set_default_client as set_default_client
from sleuth.knowledge_base.ingestion import abatch_check_document_statuses as abatch_check_document_statuses
from sleuth.knowledge_base.ingestion import acheck_document_status as acheck_document_status
from sleuth.knowledge_base.ingestion import aingest_documents_with_retry as aingest_documents_with_retry
from sleuth.knowledge_base.ingestion import astart_ingestion_with_retry as astart_ingestion_with_retry
from sleuth.knowledge_base.ingestion import batch_check_document_statuses as batch_check_document_statuses
from sleuth.knowledge_base.ingestion import check_document_status as check_document_status
from sleuth.knowledge_base.ingestion import ingest_documents_with_retry as ingest_documents_with_retry
from sleuth.knowledge_base.ingestion import start_ingestion_with_retry as start_ingestion_with_retry
from sleuth.knowledge_base.local import LocalKnowledgeBase as LocalKnowledgeBase
from sleuth.knowledge_base.ranking import KnowledgeBaseRetriever as KnowledgeBaseRetriever
from sleuth.knowledge_base.ranking import item_of as item_of
from sleuth.knowledge_base.results import deduplicate_results as deduplicate_results
from sleuth.knowledge_base.retriever import MultiSliceRetriever as MultiSliceRetriever
from sleuth.knowledge_base.waiting import await_for_ingestion as await_for_ingestion
from sleuth.knowledge_base.waiting import wait_for_ingestion as wait_for_ingestion

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.knowledge_base.clients import default_client as default_client
from sleuth.knowledge_base.clients import limit_of as limit_of
from sleuth.knowledge_base.errors import LocalServiceError as LocalServiceError
from sleuth.knowledge_base.errors import local_error as local_error
from sleuth.knowledge_base.local_places import read_text as read_text
from sleuth.knowledge_base.results import documented as documented
from sleuth.knowledge_base.results import uri_of as uri_of
