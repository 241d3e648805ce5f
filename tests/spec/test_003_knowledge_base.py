"""Document 003, slices and ingestion: its own examples, with only the import changed, on the embedded
default.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,arg-type,misc"
# The document's examples are untyped, and stand here as they are written.

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from sleuth import Document, Engine
from sleuth.knowledge_base import (
    LocalKnowledgeBase,
    MultiSliceRetriever,
    batch_check_document_statuses,
    check_document_status,
    deduplicate_results,
    ingest_documents_with_retry,
    ingestion,
    set_default_client,
    start_ingestion_with_retry,
    wait_for_ingestion,
)
from sleuth.knowledge_base.local_places import read_text
from tests.code.conftest import write

logger = logging.getLogger(__name__)


@pytest.fixture(autouse=True)
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalKnowledgeBase]:
    """Use an index in place of AWS: two photographs and a page, in a folder that stands for a bucket."""
    topic = json.dumps({"metadataAttributes": {"topic": "genealogy"}})
    files = {"doc1.txt": "Pictures of Judy with her family", "doc1.txt.metadata.json": topic}
    files |= {"doc2.txt": "Pictures of Judy", "document.txt": "What is RAGStack? A stack for retrieval."}
    bucket = write(tmp_path / "bucket", files)
    monkeypatch.setattr(ingestion, "SETTLE_SECONDS", 0.01)
    with Engine.open(tmp_path / "index", create=True) as engine:
        local = LocalKnowledgeBase(engine, sources={"DS456": "s3://bucket/"}, buckets={"bucket": bucket})
        set_default_client(local)
        wait_for_ingestion(
            "KB123", "DS456", start_ingestion_with_retry("KB123", "DS456")["ingestionJobId"], poll=0.01
        )
        yield local
        set_default_client(None)
        local.close()


def test_initialize() -> None:
    """The document's three ways to create a retriever work."""
    # Default config
    retriever = MultiSliceRetriever()

    # Custom config
    retriever = MultiSliceRetriever(
        timeout_seconds=10.0,
        max_slices=2,
        enabled=True,
        filtered_score_boost=1.3,  # 30% boost
    )

    # Disable multi-slice (fallback to single query)
    retriever = MultiSliceRetriever(enabled=False)
    assert retriever.retrieve("RAGStack", "KB123", "DS456")[0]["content"].startswith("What is RAGStack?")


def test_retrieve_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """A simple query, one with a filter, and the loop over results work."""
    retriever = MultiSliceRetriever()

    # Simple query (no filter)
    results = retriever.retrieve(
        query="What is RAGStack?", knowledge_base_id="KB123", data_source_id="DS456", num_results=5
    )
    assert results[0]["location"]["s3Location"]["uri"] == "s3://bucket/document.txt"

    # Query with metadata filter
    metadata_filter = {"topic": {"$eq": "genealogy"}}
    results = retriever.retrieve(
        query="Pictures of Judy", knowledge_base_id="KB123", data_source_id="DS456",
        metadata_filter=metadata_filter, num_results=10,
    )  # fmt: skip

    # Process results
    for result in results:
        print(f"Score: {result['score']:.3f}")
        print(f"Content: {result['content'][:100]}...")
        print(f"URI: {result['location']['s3Location']['uri']}")
    printed = capsys.readouterr().out
    assert "Content: Pictures of Judy with her family..." in printed
    assert "URI: s3://bucket/doc1.txt" in printed


def test_result_format() -> None:
    """Results have the documented form, with the data source in their metadata."""
    [result] = MultiSliceRetriever(enabled=False).retrieve(
        "Judy", "KB123", "DS456", metadata_filter={"topic": {"$eq": "genealogy"}}
    )
    assert set(result) == {"score", "content", "location", "metadata"}
    assert isinstance(result["score"], float)
    assert isinstance(result["content"], str)
    assert result["location"] == {"type": "S3", "s3Location": {"uri": "s3://bucket/doc1.txt"}}
    assert result["metadata"]["topic"] == "genealogy"
    assert result["metadata"]["x-amz-bedrock-kb-data-source-id"] == "DS456"


def test_filtered_score_boost() -> None:
    """A filtered result with 0.75 is boosted to 0.94 and ranks before an unfiltered one with 0.80."""

    class Client:
        def retrieve(self, **request):
            search = request["retrievalConfiguration"]["vectorSearchConfiguration"]
            uri, score = ("filtered", 0.75) if "andAll" in search["filter"] else ("unfiltered", 0.80)
            location = {"type": "S3", "s3Location": {"uri": f"s3://bucket/{uri}"}}
            return {"retrievalResults": [{"content": {"text": uri}, "location": location, "score": score}]}

    question = ("q", "KB123", "DS456", {"topic": {"$eq": "genealogy"}})
    results = MultiSliceRetriever(Client()).retrieve(*question)
    scores = [(result["content"], round(result["score"], 2)) for result in results]
    assert scores == [("filtered", 0.94), ("unfiltered", 0.8)]
    plain = MultiSliceRetriever(Client(), filtered_score_boost=1.0)
    assert plain.retrieve(*question)[0]["content"] == "unfiltered"


def test_deduplicate_results() -> None:
    """The result with the highest score stays for each S3 URI."""

    def result(uri, score):
        location = {"type": "S3", "s3Location": {"uri": uri}}
        return {"score": score, "content": "", "location": location, "metadata": {}}

    # Manually deduplicate result list
    filtered_results = [result("s3://bucket/a", 0.9), result("s3://bucket/b", 0.3)]
    unfiltered_results = [result("s3://bucket/a", 0.7), result("s3://bucket/b", 0.5)]
    all_results = filtered_results + unfiltered_results

    unique_results = deduplicate_results(all_results)
    # Keeps highest score for each unique S3 URI
    assert unique_results == [result("s3://bucket/a", 0.9), result("s3://bucket/b", 0.5)]


def test_start_full_ingestion(capsys: pytest.CaptureFixture[str]) -> None:
    """A full sync returns the id of its job and its status."""
    # Trigger full KB sync
    response = start_ingestion_with_retry(kb_id="KB123", ds_id="DS456", max_retries=5, base_delay=5.0)

    ingestion_job_id = response["ingestionJobId"]
    print(f"Started job: {ingestion_job_id}")
    assert response["status"] == "STARTING"
    assert len(capsys.readouterr().out) > len("Started job: ")
    assert wait_for_ingestion("KB123", "DS456", ingestion_job_id, poll=0.01)["status"] == "COMPLETE"


def test_ingest_specific_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """Documents in the service's own form are ingested; the response has the request id."""
    documents = [
        {"dataSourceId": "DS456", "s3": {"uri": "s3://bucket/doc1.txt"}},
        {"dataSourceId": "DS456", "s3": {"uri": "s3://bucket/doc2.txt"}},
    ]

    response = ingest_documents_with_retry(kb_id="KB123", ds_id="DS456", documents=documents)

    print(f"Ingestion job: {response['ingestionJobId']}")
    assert len(capsys.readouterr().out) > len("Ingestion job: ")
    assert [detail["status"] for detail in response["documentDetails"]] == ["INDEXED", "INDEXED"]


def test_check_document_status(capsys: pytest.CaptureFixture[str]) -> None:
    """The status of one document is returned."""
    status = check_document_status(kb_id="KB123", ds_id="DS456", s3_uri="s3://bucket/document.txt")

    print(f"Status: {status}")  # INDEXED, PARTIALLY_INDEXED, FAILED, etc.
    assert capsys.readouterr().out == "Status: INDEXED\n"


def test_batch_check_document_statuses() -> None:
    """The result has a status for every requested URI."""
    s3_uris = ["s3://bucket/doc1.txt", "s3://bucket/doc2.txt", "s3://bucket/doc3.txt"]

    statuses = batch_check_document_statuses(kb_id="KB123", ds_id="DS456", s3_uris=s3_uris, batch_size=25)

    for uri, status in statuses.items():
        print(f"{uri}: {status}")
    assert statuses == dict(zip(s3_uris, ["INDEXED", "INDEXED", "NOT_FOUND"], strict=True))


def test_retrieval_errors(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """If all slices fail, the error that the document catches is raised."""
    set_default_client(None)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    retriever = MultiSliceRetriever(timeout_seconds=10.0)

    try:
        results = retriever.retrieve("Judy", "KB123", "DS456")
    except Exception as e:  # noqa: BLE001 - as the document has it
        # Timeout, KB not found, permission denied, etc.
        logger.error(f"Retrieval failed: {e}")  # noqa: TRY400 - likewise
        results = []
    assert results == []
    assert "AWS_REGION must be set" in caplog.text


def test_ingestion_conflicts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If a job still conflicts after all retries, the service's own error is raised, as the document catches it."""
    import botocore.exceptions

    begun, go_on = Event(), Event()

    def slowly(path: Path) -> list[Document]:
        begun.set()
        go_on.wait(600)
        return list(read_text(path))

    with (
        Engine.open(tmp_path / "other", create=True) as engine,
        LocalKnowledgeBase(engine, sources={"DS456": tmp_path / "bucket"}, read=slowly) as client,
    ):
        kb_id, ds_id = "KB123", "DS456"
        start_ingestion_with_retry(kb_id, ds_id, client=client)
        assert begun.wait(60)
        try:
            start_ingestion_with_retry(kb_id, ds_id, max_retries=1, base_delay=0.01, client=client)
        except botocore.exceptions.ClientError as e:
            if e.response["Error"]["Code"] == "ConflictException":
                # Retries exhausted, still conflicting job
                logger.error("Ingestion already in progress")  # noqa: TRY400 - likewise
            else:
                raise
        go_on.set()
    assert "Ingestion already in progress" in caplog.text
