"""What if the knowledge base is an index on this machine?

`LocalKnowledgeBase` takes the requests of boto3's "bedrock-agent-runtime" and "bedrock-agent" clients and
gives their answers and errors, from a Sleuth index. So retrieval and ingestion run with no AWS account, and
tests of programs written for AWS run offline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from sleuth.errors import ArgumentError, FilterError, LoadError
from sleuth.filters import And, Compare, Filter, Not, Or, from_bedrock
from sleuth.knowledge_base.errors import local_error
from sleuth.knowledge_base.ingestion import uri_of_identifier
from sleuth.knowledge_base.local_jobs import Jobs
from sleuth.knowledge_base.local_places import Places, read_text
from sleuth.knowledge_base.results import SOURCE_KEY
from sleuth.types import Document, Ranking, RetrievedItem

if TYPE_CHECKING:
    from types import TracebackType

URI_KEY = "x-amz-bedrock-kb-source-uri"
MAX_RESULTS = 100
MAX_DOCUMENTS = 10


class Held(Protocol):
    """What is asked of a document that an index lists."""

    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


class Added(Protocol):
    """What is asked of the report of an index that added documents."""

    added: int
    updated: int


class Index(Protocol):
    """What is asked of an index: `sleuth.Engine` has it."""

    def add(self, documents: Iterable[Document]) -> Added: ...
    def delete(self, ids: Iterable[str]) -> list[str]: ...
    def documents(self, under: str | None = None) -> Sequence[Held]: ...
    def retrieve(self, query: str, k: int = 10, *, filter: Filter | None = None) -> Ranking: ...


class LocalKnowledgeBase:
    """A knowledge base over an index, with the methods of both AWS clients. Safe to share between threads.

    Documents that came in through a data source carry its id in their metadata. Those that were added
    otherwise belong to no data source, and are found under every one that is asked for.

    Args:
        engine: the index.
        sources: what data sources read: a folder each, or an `s3://` address below one of `buckets`.
        buckets: folders that stand for S3 buckets, by the bucket's name.
        knowledge_base_id: the one id that is answered; None answers to any.
        read: gives the documents of a file; None reads UTF-8 text. A file beside it, named as it is with
            `.metadata.json`, adds the `metadataAttributes` in it, as in S3.
    """

    def __init__(
        self,
        engine: Index,
        *,
        sources: Mapping[str, str | Path] | None = None,
        buckets: Mapping[str, str | Path] | None = None,
        knowledge_base_id: str | None = None,
        read: Callable[[Path], Iterable[Document]] | None = None,
    ) -> None:
        self._engine = engine
        self._id = knowledge_base_id
        self._places = Places(sources or {}, buckets or {}, read or read_text)
        self._jobs = Jobs(self._ingest_source)
        self._failed: dict[tuple[str, str], str] = {}

    def __repr__(self) -> str:
        return f"LocalKnowledgeBase({self._engine!r})"

    def __enter__(self) -> LocalKnowledgeBase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops a job that is running and waits for its end. The index stays open."""
        self._jobs.close()

    # The runtime client

    def retrieve(self, **request: Any) -> dict[str, Any]:
        """`Retrieve`: the passages that answer `retrievalQuery`, best first."""
        base = self._base(request, "Retrieve")
        text = _required(request, "retrievalQuery", "Retrieve").get("text")
        if not isinstance(text, str):
            raise _invalid("retrievalQuery.text must be a text", "Retrieve")
        search = (request.get("retrievalConfiguration") or {}).get("vectorSearchConfiguration") or {}
        count = search.get("numberOfResults", 5)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_RESULTS:
            raise _invalid(f"numberOfResults must be 1 to {MAX_RESULTS}, got {count!r}", "Retrieve")
        try:
            wanted = from_bedrock(search["filter"]) if search.get("filter") is not None else None
        except FilterError as error:
            raise _invalid(str(error), "Retrieve") from error
        ranking = self._engine.retrieve(text, count, filter=None if wanted is None else _unowned(wanted))
        asked = _asked_source(wanted)
        return {"retrievalResults": [_result(item, base, asked) for item in ranking]}

    # The agent client: data sources and jobs

    def list_data_sources(self, **request: Any) -> dict[str, Any]:
        """`ListDataSources`: those that read a place, and those of documents that are in the index."""
        base = self._base(request, "ListDataSources")
        held = {document.metadata.get(SOURCE_KEY) for document in self._engine.documents()}
        names = sorted({*self._places.sources, *(name for name in held if isinstance(name, str))})
        summaries = [
            {"knowledgeBaseId": base, "dataSourceId": name, "name": name, "status": "AVAILABLE"}
            for name in names
        ]
        return _page(request, summaries, "dataSourceSummaries")

    def start_ingestion_job(self, **request: Any) -> dict[str, Any]:
        """`StartIngestionJob`: reads the whole of a data source, in a thread; what is gone from it is
        deleted.
        """
        base, source = self._base_and_source(request, "StartIngestionJob")
        if source not in self._places.sources:
            known = ", ".join(sorted(self._places.sources)) or "none"
            told = f"data source {source!r} reads no place; those that do: {known}"
            raise local_error("ResourceNotFoundException", told, "StartIngestionJob", 404)
        return {"ingestionJob": self._jobs.start(base, source)}

    def get_ingestion_job(self, **request: Any) -> dict[str, Any]:
        """`GetIngestionJob`: how far a job is."""
        self._base_and_source(request, "GetIngestionJob")
        return {"ingestionJob": self._jobs.get(str(_required(request, "ingestionJobId", "GetIngestionJob")))}

    def stop_ingestion_job(self, **request: Any) -> dict[str, Any]:
        """`StopIngestionJob`: ends a job after the document that it is at."""
        self._base_and_source(request, "StopIngestionJob")
        return {
            "ingestionJob": self._jobs.stop(str(_required(request, "ingestionJobId", "StopIngestionJob")))
        }

    def list_ingestion_jobs(self, **request: Any) -> dict[str, Any]:
        """`ListIngestionJobs`: the jobs of a data source since this object was made, newest first."""
        _, source = self._base_and_source(request, "ListIngestionJobs")
        return _page(request, self._jobs.of(source), "ingestionJobSummaries")

    # The agent client: documents

    def ingest_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """`IngestKnowledgeBaseDocuments`: adds documents of S3 addresses, files, or given in the request."""
        operation = "IngestKnowledgeBaseDocuments"
        base, source = self._base_and_source(request, operation)
        entries = _few(request, "documents", operation)
        if self._jobs.running() is not None:
            raise _invalid("documents cannot be ingested while an ingestion job is ongoing", operation)
        details = [self._ingest(base, source, entry, operation) for entry in entries]
        return {"documentDetails": details, "ResponseMetadata": {"RequestId": token_hex(8)}}

    def get_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """`GetKnowledgeBaseDocuments`: INDEXED, FAILED or NOT_FOUND, for each document."""
        operation = "GetKnowledgeBaseDocuments"
        base, source = self._base_and_source(request, operation)
        uris = [_named(one, operation) for one in _few(request, "documentIdentifiers", operation)]
        return {"documentDetails": [self._detail(base, source, uri) for uri in uris]}

    def list_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """`ListKnowledgeBaseDocuments`: the documents of a data source."""
        base, source = self._base_and_source(request, "ListKnowledgeBaseDocuments")
        uris = sorted({document.source or document.id for document in self._owned(source)})
        return _page(request, [_detail(base, source, uri, "INDEXED") for uri in uris], "documentDetails")

    def delete_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """`DeleteKnowledgeBaseDocuments`: removes documents from the index."""
        operation = "DeleteKnowledgeBaseDocuments"
        base, source = self._base_and_source(request, operation)
        uris = [_named(one, operation) for one in _few(request, "documentIdentifiers", operation)]
        gone = [document.id for uri in uris for document in self._found(source, uri)]
        self._engine.delete(gone)
        return {"documentDetails": [_detail(base, source, uri, "DELETING") for uri in uris]}

    # What is beneath

    def _base(self, request: Mapping[str, Any], operation: str) -> str:
        name = str(_required(request, "knowledgeBaseId", operation))
        if self._id is not None and name != self._id:
            told = f"knowledge base {name!r} does not exist; this one is {self._id!r}"
            raise local_error("ResourceNotFoundException", told, operation, 404)
        return name

    def _base_and_source(self, request: Mapping[str, Any], operation: str) -> tuple[str, str]:
        return self._base(request, operation), str(_required(request, "dataSourceId", operation))

    def _owned(self, source: str, under: str | None = None) -> list[Held]:
        return [held for held in self._engine.documents(under) if held.metadata.get(SOURCE_KEY) == source]

    def _found(self, source: str, uri: str) -> list[Held]:
        return [held for held in self._owned(source, uri) if uri in (held.source, held.id)]

    def _detail(self, base: str, source: str, uri: str) -> dict[str, Any]:
        if (source, uri) in self._failed:
            return _detail(base, source, uri, "FAILED", self._failed[source, uri])
        return _detail(base, source, uri, "INDEXED" if self._found(source, uri) else "NOT_FOUND")

    def _ingest(self, base: str, source: str, entry: Mapping[str, Any], operation: str) -> dict[str, Any]:
        try:
            uri, documents = self._places.documents_of(entry)
        except ArgumentError as error:
            raise _invalid(str(error), operation) from error
        self._failed.pop((source, uri), None)
        try:
            self._engine.add(_owned_by(source, uri, documents))
        except (LoadError, ArgumentError) as error:
            self._failed[source, uri] = str(error)
        return self._detail(base, source, uri)

    def _ingest_source(self, source: str, stopped: Callable[[], bool]) -> dict[str, int]:
        """Reads all of a data source; gives the statistics of its job."""
        counts = dict.fromkeys(("scanned", "new", "modified", "deleted", "failed"), 0)
        before = {held.id: held.source or held.id for held in self._owned(source)}
        seen: set[str] = set()

        def documents() -> Iterator[Document]:
            for uri, path in self._places.files_of(source):
                if stopped():
                    return
                seen.add(uri)
                self._failed.pop((source, uri), None)
                try:
                    yield from _owned_by(source, uri, self._places.read(path))
                except LoadError as error:
                    self._failed[source, uri] = str(error)
                    counts["failed"] += 1

        report = self._engine.add(documents())
        gone = [] if stopped() else [id for id, uri in before.items() if uri not in seen]
        counts["deleted"] = len(self._engine.delete(gone)) if gone else 0
        return counts | {"scanned": len(seen), "new": report.added, "modified": report.updated}


def _owned_by(source: str, uri: str, documents: Iterable[Document]) -> list[Document]:
    """Documents that name their data source and place; a file of one document gives it the file's URI as
    its id.
    """
    found = list(documents)
    ids = [uri] if len(found) == 1 else [f"{uri}#{number}" for number in range(1, len(found) + 1)]
    return [
        Document(document.page_content, {**document.metadata, "source": uri, SOURCE_KEY: source}, id=id)
        for id, document in zip(ids, found, strict=True)
    ]


def _unowned(tree: Filter) -> Filter:
    """The filter under which documents of no data source belong to each."""
    if isinstance(tree, And):
        return And(tuple(_unowned(part) for part in tree.parts))
    if isinstance(tree, Or):
        return Or(tuple(_unowned(part) for part in tree.parts))
    if isinstance(tree, Compare) and tree.key == SOURCE_KEY and tree.operator in ("eq", "in"):
        return Or((tree, Not(Compare(SOURCE_KEY, "exists", True))))
    return tree


def _asked_source(tree: Filter | None) -> str | None:
    """The data source that a filter demands, where it demands one."""
    parts = tree.parts if isinstance(tree, And) else (tree,)
    for part in parts:
        if isinstance(part, Compare) and part.key == SOURCE_KEY and part.operator == "eq":
            return str(part.value)
    return None


def _result(item: RetrievedItem, base: str, asked: str | None) -> dict[str, Any]:
    uri = str(item.metadata.get("source") or item.id)
    owner = item.metadata.get(SOURCE_KEY) or asked
    metadata = {**item.metadata, URI_KEY: _address(uri)} | ({SOURCE_KEY: owner} if owner else {})
    return {
        "content": {"text": item.text, "type": "TEXT"},
        "location": _location(_address(uri)),
        "metadata": metadata,
        "score": item.score or 0.0,
    }


def _address(source: str) -> str:
    """A source as a URI: paths of this machine become `file://` addresses."""
    return Path(source).as_uri() if source.startswith("/") else source


def _location(uri: str) -> dict[str, Any]:
    """Where a document is. Files are given as S3 places, so that code written for those reads them."""
    if uri.startswith(("http://", "https://")):
        return {"type": "WEB", "webLocation": {"url": uri}}
    if uri.startswith(("s3://", "file://")):
        return {"type": "S3", "s3Location": {"uri": uri}}
    return {"type": "CUSTOM", "customDocumentLocation": {"id": uri}}


def _detail(base: str, source: str, uri: str, status: str, reason: str = "") -> dict[str, Any]:
    s3 = uri.startswith(("s3://", "file://"))
    name = (
        {"dataSourceType": "S3", "s3": {"uri": uri}}
        if s3
        else {"dataSourceType": "CUSTOM", "custom": {"id": uri}}
    )
    detail = {"knowledgeBaseId": base, "dataSourceId": source, "status": status, "identifier": name}
    return {**detail, "statusReason": reason} if reason else detail


def _required(request: Mapping[str, Any], name: str, operation: str) -> Any:
    value = request.get(name)
    if not value:
        raise _invalid(f"{name} must be given", operation)
    return value


def _few(request: Mapping[str, Any], name: str, operation: str) -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = list(_required(request, name, operation))
    if len(entries) > MAX_DOCUMENTS:
        told = f"{name} must have length less than or equal to {MAX_DOCUMENTS}, got {len(entries)}"
        raise _invalid(told, operation)
    return entries


def _named(entry: Mapping[str, Any], operation: str) -> str:
    uri = uri_of_identifier(entry)
    if not uri:
        raise _invalid(f"a document must be named by s3.uri or custom.id, got {dict(entry)!r}", operation)
    return uri


def _invalid(message: str, operation: str) -> Exception:
    return local_error("ValidationException", message, operation)


def _page(request: Mapping[str, Any], items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The part of a list that a request asks for, and where it goes on."""
    start = int(request.get("nextToken") or 0)
    end = start + int(request.get("maxResults") or 10)
    return {name: items[start:end], **({"nextToken": str(end)} if end < len(items) else {})}
