"""LocalKnowledgeBase has the requests, responses and errors of both AWS clients, over an index."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sleuth import Document, Engine
from sleuth import knowledge_base as kb
from sleuth.errors import KnowledgeBaseError, LoadError, MissingPackageError
from sleuth.knowledge_base.errors import KnowledgeBaseTimeoutError, wrapped
from sleuth.knowledge_base.ingestion import MAX_DOCUMENTS
from sleuth.knowledge_base.results import uri_of
from sleuth.testing.aws import BedrockServer
from tests.code.conftest import write
from tests.knowledge_base.conftest import DS, KB

SOURCE_KEY = "x-amz-bedrock-kb-data-source-id"


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """Return a folder that stands for a bucket."""
    topic = json.dumps({"metadataAttributes": {"topic": "genealogy"}})
    files = {"judy.txt": "pictures of judy at the lake", "judy.txt.metadata.json": topic}
    files |= {"pictures.txt": "pictures of judy", "deep/rag.txt": "what is a knowledge base"}
    return write(tmp_path / "bucket", files)


@pytest.fixture
def local(hybrid: Engine, bucket: Path) -> Iterator[kb.LocalKnowledgeBase]:
    sources = {DS: "s3://bucket/"}
    with kb.LocalKnowledgeBase(hybrid, sources=sources, buckets={"bucket": bucket}) as base:
        yield base


def ingest(local: kb.LocalKnowledgeBase) -> dict[str, Any]:
    job = kb.start_ingestion_with_retry(KB, DS, client=local)
    return kb.wait_for_ingestion(KB, DS, job["ingestionJobId"], poll=0.005, timeout=120, client=local)


@pytest.fixture(params=["aws", "local"])
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return a runtime and an agent client of one index: boto3's over HTTP, and the index itself."""
    local = request.getfixturevalue("local")
    ingest(local)
    if request.param == "local":
        return local, local
    request.getfixturevalue("running").base = local
    return request.getfixturevalue("runtime"), request.getfixturevalue("agent")


GET = "get_knowledge_base_documents"
OBJECTS = [{"dataSourceType": "S3", "s3": {"uri": f"s3://b/{number}"}} for number in range(11)]
NO_SOURCE = "DSUNKNOWN0"


class TestBothAnswerAlike:
    """An index answers a client of AWS over HTTP as it answers in this process."""

    def test_retrieve(self, both: tuple[Any, Any]) -> None:
        """Results have the service's form, best first, and numberOfResults limits them."""
        answer = both[0].retrieve(
            knowledgeBaseId=KB,
            retrievalQuery={"text": "pictures of judy"},
            retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 2}},
        )
        results = answer["retrievalResults"]
        places = [one["location"]["s3Location"]["uri"] for one in results]
        assert places == ["s3://bucket/pictures.txt", "s3://bucket/judy.txt"]
        for one in results:
            assert set(one) >= {"content", "location", "metadata", "score"}
            assert one["content"]["text"].startswith("pictures")
            assert one["location"]["type"] == "S3"
            assert one["metadata"][SOURCE_KEY] == DS
            assert isinstance(one["score"], float)
            assert 0 <= one["score"] <= 1

    def test_slices(self, both: tuple[Any, Any]) -> None:
        """The same retriever works over both, with filters."""
        retriever = kb.MultiSliceRetriever(both[0])
        results = retriever.retrieve(
            "pictures of judy", KB, DS, {"topic": {"$eq": "genealogy"}}, num_results=2
        )
        assert {uri_of(one) for one in results} == {"s3://bucket/judy.txt", "s3://bucket/pictures.txt"}
        filtered = retriever.last_report[0]
        assert (filtered.name, filtered.status, filtered.hits) == ("filtered", "ok", 1)
        only = kb.MultiSliceRetriever(both[0], enabled=False)
        assert only.retrieve("judy", KB, DS, {"topic": {"$eq": "nothing"}}) == []
        with pytest.raises(KnowledgeBaseError, match=r"'DSOTHER000' does not exist; .*: DS12345678"):
            only.retrieve("judy", KB, "DSOTHER000", {"topic": {"$eq": "genealogy"}})

    def test_statuses(self, both: tuple[Any, Any]) -> None:
        """Existing documents are INDEXED, others NOT_FOUND."""
        uris = ["s3://bucket/judy.txt", "s3://bucket/none.txt"]
        statuses = kb.batch_check_document_statuses(KB, DS, uris, client=both[1])
        assert statuses == {uris[0]: "INDEXED", uris[1]: "NOT_FOUND"}

    def test_ingesting_text(self, both: tuple[Any, Any]) -> None:
        """A custom document is found once it is indexed."""
        runtime, agent = both
        inline = {"type": "TEXT", "textContent": {"data": "minutes of the harbour meeting"}}
        id = {"id": "note-1"}
        custom = {"customDocumentIdentifier": id, "sourceType": "IN_LINE", "inlineContent": inline}
        year = {"key": "year", "value": {"type": "NUMBER", "numberValue": 2020}}
        entry = {
            "content": {"dataSourceType": "CUSTOM", "custom": custom},
            "metadata": {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": [year]},
        }
        answer = kb.ingest_documents_with_retry(KB, DS, [entry], client=agent)
        name = {"dataSourceType": "CUSTOM", "custom": id}
        assert answer["documentDetails"][0]["identifier"] == name
        statuses = kb.wait_for_ingestion(KB, DS, s3_uris=["note-1"], poll=0.001, client=agent)
        assert statuses == {"note-1": "INDEXED"}
        retriever = kb.MultiSliceRetriever(runtime, enabled=False)
        [result] = retriever.retrieve("harbour meeting", KB, DS, {"year": {"$gte": 2020}})
        assert uri_of(result) == "note-1"
        assert result["location"]["type"] == "CUSTOM"

    def test_lists(self, both: tuple[Any, Any]) -> None:
        """Data sources are listed."""
        _, agent = both
        sources = agent.list_data_sources(knowledgeBaseId=KB)["dataSourceSummaries"]
        assert [source["dataSourceId"] for source in sources] == [DS]

    @pytest.mark.parametrize(
        ("operation", "request_", "code"),
        [
            (
                "retrieve",
                {"retrievalQuery": {"text": "q"}, "retrievalConfiguration": {
                    "vectorSearchConfiguration": {"numberOfResults": 101},
                }},
                "ValidationException",
            ),
            (GET, {"dataSourceId": DS, "documentIdentifiers": OBJECTS}, "ValidationException"),
            (GET, {"dataSourceId": NO_SOURCE, "documentIdentifiers": OBJECTS[:1]}, "ResourceNotFoundException"),
            ("get_ingestion_job", {"dataSourceId": DS, "ingestionJobId": "NOSUCHJOB0"}, "ResourceNotFoundException"),
            ("start_ingestion_job", {"dataSourceId": NO_SOURCE}, "ResourceNotFoundException"),
            ("list_ingestion_jobs", {"dataSourceId": NO_SOURCE}, "ResourceNotFoundException"),
        ],
    )  # fmt: skip
    def test_errors(self, both: tuple[Any, Any], operation: str, request_: dict[str, Any], code: str) -> None:
        """Exceeded limits and unknown names raise boto3's ClientError with the service's code."""
        client = both[0] if operation == "retrieve" else both[1]
        with pytest.raises(ClientError) as caught:
            getattr(client, operation)(knowledgeBaseId=KB, **request_)
        assert caught.value.response["Error"]["Code"] == code


class TestJobs:
    def test_statistics(self, local: kb.LocalKnowledgeBase, bucket: Path) -> None:
        """New, changed, deleted and unreadable documents are counted."""
        first = ingest(local)["statistics"]
        assert (first["numberOfDocumentsScanned"], first["numberOfNewDocumentsIndexed"]) == (3, 3)
        (bucket / "judy.txt").write_text("judy, changed")
        (bucket / "pictures.txt").unlink()
        (bucket / "bad.txt").write_bytes(b"\xff\xfe\x00")
        (bucket / ".hidden").write_text("secret")
        second = ingest(local)["statistics"]
        assert second == {
            "numberOfDocumentsScanned": 3,
            "numberOfNewDocumentsIndexed": 0,
            "numberOfModifiedDocumentsIndexed": 1,
            "numberOfDocumentsDeleted": 1,
            "numberOfDocumentsFailed": 1,
        }
        uris = [f"s3://bucket/{name}" for name in ("judy.txt", "pictures.txt", "bad.txt")]
        statuses = kb.batch_check_document_statuses(KB, DS, uris, client=local)
        assert list(statuses.values()) == ["INDEXED", "NOT_FOUND", "FAILED"]

    def test_one_at_a_time(self, hybrid: Engine, bucket: Path) -> None:
        """While a job runs, single documents are refused, as another job is; closing stops it."""
        begun, go_on = Event(), Event()

        def slowly(path: Path) -> list[Document]:
            begun.set()
            go_on.wait(600)
            return [Document(path.read_text())]

        with kb.LocalKnowledgeBase(hybrid, sources={DS: bucket}, read=slowly) as local:
            job = kb.start_ingestion_with_retry(KB, DS, client=local)["ingestionJobId"]
            assert begun.wait(60)
            with pytest.raises(ClientError, match="ongoing"):
                entry = {"s3": {"uri": (bucket / "judy.txt").as_uri()}}
                kb.ingest_documents_with_retry(KB, DS, [entry], max_retries=0, client=local)
            closing = Thread(target=local.close)
            closing.start()
            assert local._jobs._stop.wait(60)
            go_on.set()
            closing.join()
            with pytest.raises(KnowledgeBaseError, match="STOPPED"):
                kb.wait_for_ingestion(KB, DS, job, poll=0.005, client=local)
            jobs = local.list_ingestion_jobs(knowledgeBaseId=KB, dataSourceId=DS)["ingestionJobSummaries"]
            assert [one["ingestionJobId"] for one in jobs] == [job]

    def test_a_folder_that_is_not_there(self, hybrid: Engine, tmp_path: Path) -> None:
        """A job over a missing folder fails with the reason."""
        with (
            kb.LocalKnowledgeBase(hybrid, sources={DS: tmp_path / "none"}) as local,
            pytest.raises(KnowledgeBaseError, match=r"is FAILED.*not there"),
        ):
            ingest(local)

    def test_files(self, hybrid: Engine, bucket: Path) -> None:
        """A data source may be a plain folder; its documents are files with locations in the form of S3."""
        with kb.LocalKnowledgeBase(hybrid, sources={DS: bucket}) as local:
            ingest(local)
            result = kb.MultiSliceRetriever(local).retrieve("lake", KB, DS)[0]
            assert result["location"] == {"type": "S3", "s3Location": {"uri": (bucket / "judy.txt").as_uri()}}
            assert result["metadata"]["topic"] == "genealogy"

    def test_files_of_several_documents(self, hybrid: Engine, bucket: Path) -> None:
        """Each of several documents of a file is found, and deleted when the file has it no more."""

        def pages(path: Path) -> list[Document]:
            return [Document(f"{word} page", {}) for word in path.read_text().split()]

        with kb.LocalKnowledgeBase(hybrid, sources={DS: bucket}, read=pages) as local:
            ingest(local)
            results = kb.MultiSliceRetriever(local).retrieve("lake page", KB, DS, num_results=50)
            assert results[0]["content"] == "lake page"
            assert len(results) == 3  # of three files, one passage each
            (bucket / "judy.txt").write_text("one two three four")
            assert ingest(local)["statistics"]["numberOfDocumentsDeleted"] == 2
            (bucket / "judy.txt").write_text("last")
            uri = (bucket / "judy.txt").as_uri()
            kb.ingest_documents_with_retry(KB, DS, [{"s3": {"uri": uri}}], client=local)
            (bucket / "judy.txt").unlink()
            assert ingest(local)["statistics"]["numberOfDocumentsDeleted"] == 1


class TestOwnership:
    def test_documents_of_no_source_belong_to_each(
        self, hybrid: Engine, local: kb.LocalKnowledgeBase
    ) -> None:
        """A document without a data source is found under every one; one with a data source only under that."""
        ingest(local)
        own = Document("a harbour", {"source": "/x.md", SOURCE_KEY: "DSOTHER000"})
        hybrid.add([Document("judy in a plain file", {"source": "/notes/judy.md"}), own])
        retriever = kb.MultiSliceRetriever(local)
        mine = {uri_of(one) for one in retriever.retrieve("judy", KB, DS)}
        other = {uri_of(one) for one in retriever.retrieve("judy", KB, "DSOTHER000")}
        assert other == {"file:///notes/judy.md", "file:///x.md"}
        assert mine >= {"s3://bucket/judy.txt", "s3://bucket/pictures.txt", "file:///notes/judy.md"}
        assert "file:///x.md" not in mine

    def test_one_id_only(self, hybrid: Engine) -> None:
        """A base with an id refuses requests for another id."""
        local = kb.LocalKnowledgeBase(hybrid, knowledge_base_id=KB)
        assert local.retrieve(knowledgeBaseId=KB, retrievalQuery={"text": "q"}) == {"retrievalResults": []}
        with pytest.raises(KnowledgeBaseError, match="'KB99999999' does not exist"):
            kb.MultiSliceRetriever(local).retrieve("q", "KB99999999", None)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/../secret.txt", "s3://bucket/deep/../../secret.txt", "s3://elsewhere/judy.txt",
        "file:///etc/hostname", "https://example.org/x", "s3://bucket/link.txt",
    ],
)  # fmt: skip
def test_places_outside_are_refused(local: kb.LocalKnowledgeBase, bucket: Path, uri: str) -> None:
    """No address reaches a file outside of the configured folders; nothing is added of a request that names one."""
    (bucket.parent / "secret.txt").write_text("secret")
    (bucket / "link.txt").symlink_to(bucket.parent / "secret.txt")
    entries = [{"s3": {"uri": place}} for place in ("s3://bucket/judy.txt", uri)]
    with pytest.raises(ClientError) as caught:
        kb.ingest_documents_with_retry(KB, DS, entries, client=local)
    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert kb.check_document_status(KB, DS, "s3://bucket/judy.txt", False, client=local) == "NOT_FOUND"
    ingest(local)
    results = kb.MultiSliceRetriever(local).retrieve("secret", KB, DS, num_results=100)
    assert not any("secret" in one["content"] for one in results)


SEARCH = "vectorSearchConfiguration"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"knowledgeBaseId": None}, ""), ({"retrievalQuery": None}, ""), ({"retrievalQuery": {"image": {}}}, ""),
        ({"retrievalQuery": "q"}, ""), ({"retrievalConfiguration": 5}, "mapping"),
        ({"retrievalConfiguration": {SEARCH: {"filter": {"like": {}}}}}, ""),
        ({"retrievalConfigurations": {}}, "did you mean 'retrievalConfiguration'"),
        ({"retrievalConfiguration": {f"{SEARCH}s": {}}}, f"did you mean '{SEARCH}'"),
        ({"retrievalConfiguration": {SEARCH: {"fitler": {}}}}, "did you mean 'filter'"),
    ],
)  # fmt: skip
def test_bad_requests(local: kb.LocalKnowledgeBase, request_: dict[str, Any], message: str) -> None:
    """What the service's model does not allow is a ValidationException; a misspelt member has the nearest name."""
    members = {"knowledgeBaseId": KB, "retrievalQuery": {"text": "q"}, **request_}
    with pytest.raises(ClientError, match=f"ValidationException.*{message}"):
        local.retrieve(**{name: value for name, value in members.items() if value is not None})


@pytest.mark.parametrize("text", ["{", "[]", '{"metadataAttributes": 1}', "[" * 10_000])
def test_bad_sidecars(local: kb.LocalKnowledgeBase, bucket: Path, text: str) -> None:
    """An unreadable sidecar fails its document, not the job."""
    (bucket / "judy.txt.metadata.json").write_text(text)
    assert ingest(local)["statistics"]["numberOfDocumentsFailed"] == 1


def test_sidecar_in_the_longer_form(local: kb.LocalKnowledgeBase, bucket: Path) -> None:
    """Attributes may have explicit types, as the service documents."""
    attributes = {"year": {"value": {"type": "NUMBER", "numberValue": 1990}, "includeForEmbedding": True}}
    (bucket / "judy.txt.metadata.json").write_text(json.dumps({"metadataAttributes": attributes}))
    ingest(local)
    [result] = kb.MultiSliceRetriever(local, enabled=False).retrieve("judy", KB, DS, {"year": {"$eq": 1990}})
    assert result["metadata"]["year"] == 1990


def test_without_boto3_errors_are_ours(local: kb.LocalKnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without boto3 the errors have the same response."""
    import sys

    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(KnowledgeBaseError) as caught:
        local.retrieve(knowledgeBaseId=KB)
    assert caught.value.response["Error"]["Code"] == "ValidationException"  # type: ignore[attr-defined]


def test_server_and_index_know_the_same_limits(server: BedrockServer) -> None:
    """The limits of the index equal those of AWS's model."""
    model = server.client("bedrock-agent").meta.service_model
    for operation, member in (("Ingest", "documents"), ("Get", "documentIdentifiers")):
        shape = model.operation_model(f"{operation}KnowledgeBaseDocuments").input_shape
        assert shape.members[member].metadata["max"] == MAX_DOCUMENTS


def test_a_reader_with_a_bug(hybrid: Engine, bucket: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An exception of the reader is the reason of the failed job, and is logged if it is not a Sleuth error."""

    def broken(path: Path) -> list[Document]:
        raise ZeroDivisionError("a bug in a reader")

    with (
        kb.LocalKnowledgeBase(hybrid, sources={DS: bucket}, read=broken) as local,
        pytest.raises(KnowledgeBaseError, match="is FAILED: ZeroDivisionError: a bug in a reader"),
    ):
        ingest(local)
    assert "a bug in a reader" in caplog.text


MADE = type("Made", (ClientError,), {})({"Error": {"Code": "Slow"}}, "Retrieve")
ERRORS = [
    LoadError("a.txt", "bad"), MissingPackageError("ray", "ray", "a cluster"), wrapped(MADE, "slow"),
    KnowledgeBaseTimeoutError("too late", service="bedrock"),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
def test_errors_cross_processes(error: BaseException) -> None:
    """Errors are pickled with their message and attributes."""
    read = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(read), vars(read), type(read).__name__) == (str(error), vars(error), type(error).__name__)
