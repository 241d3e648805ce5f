"""A knowledge base over an index on this machine, with the interface of AWS.

`LocalKnowledgeBase` has the methods for retrieval and ingestion of boto3's "bedrock-agent-runtime" and "bedrock-agent"
clients, with their answers and errors, over a Sleuth index. So both run without an AWS account, and tests of programs
written for AWS run offline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from threading import Event, RLock, Thread
from typing import Any, Protocol

from sleuth.arguments import check_kind, check_names
from sleuth.errors import ArgumentError, FilterError, LoadError, SleuthError
from sleuth.filters import And, Compare, Filter, Not, Or, from_bedrock
from sleuth.knowledge_base.errors import local_error
from sleuth.knowledge_base.ingestion import MAX_DOCUMENTS, identifier, uri_of_identifier
from sleuth.knowledge_base.local_places import Places, read_text
from sleuth.knowledge_base.results import SOURCE_KEY
from sleuth.knowledge_base.retriever import REQUEST_OPTIONS, SEARCH_OPTIONS
from sleuth.logs import logger_of
from sleuth.protocols import Closing
from sleuth.types import Document, Ranking, RetrievedItem

logger = logger_of("knowledge_base")

URI_KEY = "x-amz-bedrock-kb-source-uri"
MAX_RESULTS = 100
_SOURCE = ("knowledgeBaseId", "dataSourceId")
_PAGE = ("maxResults", "nextToken")
_MEMBERS: Mapping[str, Sequence[str]] = {
    "Retrieve": ("knowledgeBaseId", "retrievalQuery", "retrievalConfiguration", *REQUEST_OPTIONS),
    "retrievalConfiguration": tuple(SEARCH_OPTIONS),
    **{kind: ("numberOfResults", "filter", *options) for kind, options in SEARCH_OPTIONS.items()},
    "ListDataSources": ("knowledgeBaseId", *_PAGE),
    "StartIngestionJob": (*_SOURCE, "clientToken", "description"),
    "GetIngestionJob": (*_SOURCE, "ingestionJobId"),
    "ListIngestionJobs": (*_SOURCE, *_PAGE, "sortBy"),
    "IngestKnowledgeBaseDocuments": (*_SOURCE, "clientToken", "documents"),
    "GetKnowledgeBaseDocuments": (*_SOURCE, "documentIdentifiers"),
}
"""What a request of each operation, and each structure in it, may hold."""


class LocalIndex(Protocol):
    """The methods that an index must have; `sleuth.Engine` has them."""

    def add(self, documents: Iterable[Document]) -> Any: ...
    def delete(self, ids: Iterable[str]) -> list[str]: ...
    def documents(self, under: str | None = None) -> Sequence[Any]: ...
    def retrieve(
        self,
        query: str,
        k: int = 10,
        *,
        filter: Filter | None = None,
        per_document: int,
        legs: Sequence[str] | None = None,
    ) -> Ranking: ...


class LocalKnowledgeBase(Closing):
    """A knowledge base over an index, with methods of both AWS clients. Safe to share between threads.

    Documents ingested through a data source carry its id in their metadata. Documents added in other ways
    belong to no data source, and a search in any data source returns them.

    Args:
        engine: the index.
        sources: the place that each data source reads: a folder, or an `s3://` address below one of `buckets`.
        buckets: folders that stand for S3 buckets, by the bucket's name.
        knowledge_base_id: the only accepted id; None accepts any.
        read: returns the documents of a file; None reads UTF-8 text. A sidecar, the file's name with
            `.metadata.json` appended, adds its `metadataAttributes`, as in S3.
    """

    def __init__(
        self,
        engine: LocalIndex,
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
        self._opened = datetime.now(UTC)

    def __repr__(self) -> str:
        return f"LocalKnowledgeBase({self._engine!r})"

    def close(self) -> None:
        """Stop a running job and wait for its end. The index stays open."""
        self._jobs.close()

    # The runtime client

    def retrieve(self, **request: Any) -> dict[str, Any]:
        """Answer `Retrieve`: the passages that match `retrievalQuery`, best first."""
        self._base(request, "Retrieve")
        question = _required(request, "retrievalQuery", "Retrieve")
        text = question.get("text") if isinstance(question, Mapping) else None
        if not isinstance(text, str):
            raise _invalid("retrievalQuery.text must be a text", "Retrieve")
        search = _search_of(request)
        count = search.get("numberOfResults", 5)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_RESULTS:
            raise _invalid(f"numberOfResults must be 1 to {MAX_RESULTS}, got {count!r}", "Retrieve")
        try:
            condition = from_bedrock(search["filter"]) if search.get("filter") is not None else None
        except FilterError as error:
            raise _invalid(str(error), "Retrieve") from error
        legs = {"legs": ["dense"]} if search.get("overrideSearchType") == "SEMANTIC" else {}
        try:
            ranking = self._engine.retrieve(
                text, count, filter=None if condition is None else _unowned(condition), per_document=0, **legs
            )
        except ArgumentError as error:  # an index without vectors
            raise _invalid(str(error), "Retrieve") from error
        source = None  # that the filter requires
        for part in condition.parts if isinstance(condition, And) else (condition,):
            if isinstance(part, Compare) and part.key == SOURCE_KEY and part.operator == "eq":
                source = source or str(part.value)
        for name in _sources_in(condition).difference(item.metadata.get(SOURCE_KEY) for item in ranking):
            self._check_source(name, "Retrieve")
        return {"retrievalResults": [_result(item, source) for item in ranking]}

    # The agent client: data sources and jobs

    def list_data_sources(self, **request: Any) -> dict[str, Any]:
        """Answer `ListDataSources`: those with a place to read, and those of indexed documents."""
        base = self._base(request, "ListDataSources")
        common = {"knowledgeBaseId": base, "status": "AVAILABLE", "updatedAt": self._opened}
        summaries = [common | {"dataSourceId": name, "name": name} for name in self._source_names()]
        return _page(request, summaries, "dataSourceSummaries")

    def start_ingestion_job(self, **request: Any) -> dict[str, Any]:
        """Answer `StartIngestionJob`: read a whole data source in a thread, and delete documents gone from it."""
        base, source = self._base_and_source(request, "StartIngestionJob")
        if source not in self._places.sources:
            names = ", ".join(sorted(self._places.sources)) or "none"
            message = f"data source {source!r} reads no place; those that do: {names}"
            raise local_error("ResourceNotFoundException", message, "StartIngestionJob", 404)
        return {"ingestionJob": self._jobs.start(base, source)}

    def get_ingestion_job(self, **request: Any) -> dict[str, Any]:
        """Answer `GetIngestionJob`: the state of a job."""
        self._base_and_source(request, "GetIngestionJob")
        return {"ingestionJob": self._jobs.get(str(_required(request, "ingestionJobId", "GetIngestionJob")))}

    def list_ingestion_jobs(self, **request: Any) -> dict[str, Any]:
        """Answer `ListIngestionJobs`: jobs of a data source since this object was made, by their start."""
        _, source = self._base_and_source(request, "ListIngestionJobs")
        order = request.get("sortBy") or {"attribute": "STARTED_AT", "order": "DESCENDING"}
        if order.get("attribute") != "STARTED_AT":
            raise _invalid(f"sortBy.attribute must be STARTED_AT, got {order!r}", "ListIngestionJobs")
        jobs = self._jobs.of(source)  # newest first
        if order.get("order") != "DESCENDING":
            jobs.reverse()
        return _page(request, jobs, "ingestionJobSummaries")

    # The agent client: documents

    def ingest_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """Answer `IngestKnowledgeBaseDocuments`: add documents from S3 addresses, files or the request itself."""
        operation = "IngestKnowledgeBaseDocuments"
        base, source = self._base_and_source(request, operation)
        entries = _few(request, "documents", operation)
        if self._jobs.running() is not None:
            raise _invalid("documents cannot be ingested while an ingestion job is ongoing", operation)
        try:
            places = [self._places.documents_of(entry) for entry in entries]
        except ArgumentError as error:
            raise _invalid(str(error), operation) from error
        details = []
        for uri, documents in places:
            self._failed.pop((source, uri), None)
            old_ids = [document.id for document in self._parts(source, uri)]
            try:
                parts = _owned_by(source, uri, documents)
                self._engine.add(parts)
                self._engine.delete(set(old_ids).difference(part.id or "" for part in parts))
            except (LoadError, ArgumentError) as error:
                self._failed[source, uri] = str(error)
            details.append(self._detail(base, source, uri))
        return {"documentDetails": details, "ResponseMetadata": {"RequestId": token_hex(8)}}

    def get_knowledge_base_documents(self, **request: Any) -> dict[str, Any]:
        """Answer `GetKnowledgeBaseDocuments`: INDEXED, FAILED or NOT_FOUND, for each document."""
        operation = "GetKnowledgeBaseDocuments"
        base, source = self._base_and_source(request, operation)
        details = []
        for entry in _few(request, "documentIdentifiers", operation):
            if not (uri := uri_of_identifier(entry)):
                message = f"a document must be named by s3.uri or custom.id, got {dict(entry)!r}"
                raise _invalid(message, operation)
            details.append(self._detail(base, source, uri))
        return {"documentDetails": details}

    # Helpers

    def _base(self, request: Mapping[str, Any], operation: str) -> str:
        _check_members(request, operation)
        name = str(_required(request, "knowledgeBaseId", operation))
        if self._id is not None and name != self._id:
            message = f"knowledge base {name!r} does not exist; this one is {self._id!r}"
            raise local_error("ResourceNotFoundException", message, operation, 404)
        return name

    def _base_and_source(self, request: Mapping[str, Any], operation: str) -> tuple[str, str]:
        base, source = self._base(request, operation), str(_required(request, "dataSourceId", operation))
        self._check_source(source, operation)
        return base, source

    def _check_source(self, source: str, operation: str) -> None:
        if source not in self._places.sources and source not in (names := self._source_names()):
            message = f"data source {source!r} does not exist; those that do: {', '.join(names) or 'none'}"
            raise local_error("ResourceNotFoundException", message, operation, 404)

    def _source_names(self) -> list[str]:
        """Return the data sources with a place to read and those of indexed documents, sorted."""
        sources = {document.metadata.get(SOURCE_KEY) for document in self._engine.documents()}
        return sorted({*self._places.sources, *(name for name in sources if isinstance(name, str))})

    def _parts(self, source: str, uri: str) -> list[Any]:
        """Return the documents that were read from a file of a data source."""
        return [
            document
            for document in self._engine.documents(uri)
            if document.metadata.get(SOURCE_KEY) == source and uri in (document.source, document.id)
        ]

    def _detail(self, base: str, source: str, uri: str) -> dict[str, Any]:
        """Return the service's report of a document, with its status."""
        name = identifier(uri)
        if uri.startswith("file://"):  # of a data source that reads a folder
            name = {"dataSourceType": "S3", "s3": {"uri": uri}}
        detail = {"knowledgeBaseId": base, "dataSourceId": source, "identifier": name}
        if reason := self._failed.get((source, uri)):
            return {**detail, "status": "FAILED", "statusReason": reason}
        return {**detail, "status": "INDEXED" if self._parts(source, uri) else "NOT_FOUND"}

    def _ingest_source(self, source: str, stopped: Callable[[], bool]) -> dict[str, int]:
        """Read all of a data source and return the statistics of its job."""
        uri_by_id = {
            document.id: document.source or document.id
            for document in self._engine.documents()
            if document.metadata.get(SOURCE_KEY) == source
        }
        current_ids: set[str | None] = set()
        current_uris: set[str] = set()
        failed_uris: set[str] = set()

        def documents() -> Iterator[Document]:
            for uri, path in self._places.files_of(source):
                if stopped():
                    return
                current_uris.add(uri)
                self._failed.pop((source, uri), None)
                try:
                    parts = _owned_by(source, uri, self._places.read(path))
                except LoadError as error:
                    self._failed[source, uri] = str(error)
                    failed_uris.add(uri)
                else:
                    current_ids.update(part.id for part in parts)
                    yield from parts

        report = self._engine.add(documents())
        # What was read from a file that fails now stays; a file that is read has its new documents only.
        ids = [id for id, uri in uri_by_id.items() if id not in current_ids and uri not in failed_uris]
        deleted_ids = [] if stopped() else self._engine.delete(ids)
        return {
            "numberOfDocumentsScanned": len(current_uris),
            "numberOfNewDocumentsIndexed": report.added,
            "numberOfModifiedDocumentsIndexed": report.updated,
            "numberOfDocumentsDeleted": len(deleted_ids),
            "numberOfDocumentsFailed": len(failed_uris),
        }


def _owned_by(source: str, uri: str, documents: Iterable[Document]) -> list[Document]:
    """Add data source and URI to the documents of a file. The id of a single document is the file's URI."""
    parts = list(documents)
    ids = [uri] if len(parts) == 1 else [f"{uri}#{number}" for number in range(1, len(parts) + 1)]
    return [
        Document(document.page_content, {**document.metadata, "source": uri, SOURCE_KEY: source}, id=id)
        for id, document in zip(ids, parts, strict=True)
    ]


def _unowned(tree: Filter) -> Filter:
    """Widen a filter, so that documents without a data source match every data source."""
    if isinstance(tree, And | Or):
        return type(tree)(tuple(_unowned(part) for part in tree.parts))
    if isinstance(tree, Compare) and tree.key == SOURCE_KEY and tree.operator in ("eq", "in"):
        return Or((tree, Not(Compare(SOURCE_KEY, "exists", True))))
    return tree


def _sources_in(tree: Filter | None) -> set[str]:
    """Return the data sources among which a filter chooses."""
    if isinstance(tree, And | Or):
        return set().union(*map(_sources_in, tree.parts))
    if not isinstance(tree, Compare) or tree.key != SOURCE_KEY or tree.operator not in ("eq", "in"):
        return set()
    return set(map(str, tree.value if isinstance(tree.value, tuple) else (tree.value,)))


def _result(item: RetrievedItem, source: str | None) -> dict[str, Any]:
    uri = str(item.metadata.get("source") or item.id)
    uri = Path(uri).as_uri() if uri.startswith("/") else uri
    location: dict[str, Any] = {"type": "CUSTOM", "customDocumentLocation": {"id": uri}}
    if uri.startswith(("http://", "https://")):
        location = {"type": "WEB", "webLocation": {"url": uri}}
    elif uri.startswith(("s3://", "file://")):  # a file has an S3 location, for code that reads only those
        location = {"type": "S3", "s3Location": {"uri": uri}}
    owner, positive = item.metadata.get(SOURCE_KEY) or source, max(item.score or 0.0, 0.0)
    metadata = {**item.metadata, URI_KEY: uri} | ({SOURCE_KEY: owner} if owner else {})
    return {
        "content": {"text": item.text, "type": "TEXT"},
        "location": location,
        "metadata": metadata,
        "score": positive / (1.0 + positive),  # on the service's scale from 0 to 1, in the same order
    }


def _required(request: Mapping[str, Any], name: str, operation: str) -> Any:
    value = request.get(name)
    if not value:
        raise _invalid(f"{name} must be given", operation)
    return value


_OF_MODELS = (
    "rerankingConfiguration",
    "rerankingModelType",
    "implicitFilterConfiguration",
    "guardrailConfiguration",
    "userContext",
)
"""Members of a request that need a model or users, which an index on this machine lacks."""


def _search_of(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the vector search or the managed search of a request, after it was checked."""
    configuration = request.get("retrievalConfiguration") or {}
    _check_members(configuration, "Retrieve", "retrievalConfiguration")
    if len(configuration) > 1:
        raise _invalid(f"one of {', '.join(SEARCH_OPTIONS)} must be given, got both", "Retrieve")
    search: Mapping[str, Any] = {}
    for kind, members in configuration.items():
        search = {} if members is None else members
        _check_members(search, "Retrieve", kind)
    for name in _OF_MODELS:
        if search.get(name, request.get(name)) not in (None, "NONE"):
            problem = f"{name} must be left out: a local knowledge base lacks the models and users of AWS"
            raise _invalid(problem, "Retrieve")
    search_type = search.get("overrideSearchType")
    if search_type not in (None, "HYBRID", "SEMANTIC"):
        raise _invalid(f"overrideSearchType must be HYBRID or SEMANTIC, got {search_type!r}", "Retrieve")
    return search


def _check_members(members: Mapping[str, Any], operation: str, name: str = "") -> None:
    """Refuse what a request, or a structure in it, must not hold, as boto3 does."""
    try:
        check_kind(members, Mapping, name or "a request", "a mapping")
        check_names(members, _MEMBERS[name or operation], name or f"parameters of {operation}")
    except ArgumentError as error:
        raise _invalid(str(error), operation) from error


def _few(request: Mapping[str, Any], name: str, operation: str) -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = _required(request, name, operation)
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, Mapping) for entry in entries):
        raise _invalid(f"{name} must be a list of mappings, got {entries!r}", operation)
    if len(entries) > MAX_DOCUMENTS:
        message = f"{name} must have length less than or equal to {MAX_DOCUMENTS}, got {len(entries)}"
        raise _invalid(message, operation)
    return entries


def _invalid(message: str, operation: str) -> Exception:
    return local_error("ValidationException", message, operation)


def _page(request: Mapping[str, Any], items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the page of a list that a request asks for, and the token of the next page."""
    start = int(request.get("nextToken") or 0)
    end = start + int(request.get("maxResults") or 10)
    return {name: items[start:end], **({"nextToken": str(end)} if end < len(items) else {})}


Run = Callable[[str, Callable[[], bool]], dict[str, int]]
"""Reads a data source. Takes its id and a function that says whether to stop; returns statistics as AWS does."""


class Jobs:
    """Jobs by id, one running at a time, each in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._jobs: dict[str, dict[str, Any]] = {}
        self._lock = RLock()
        self._stop = Event()
        self._thread: Thread | None = None

    def start(self, base: str, source: str) -> dict[str, Any]:
        """Begin a job.

        Raises:
            LocalServiceError: a ConflictException, if one is running.
        """
        with self._lock:
            running = self.running()
            if running is not None:
                message = f"data source {running['dataSourceId']!r} has an ongoing ingestion job"
                raise local_error("ConflictException", message, "StartIngestionJob", 409)
            now = datetime.now(UTC)
            job: dict[str, Any] = {
                "knowledgeBaseId": base,
                "dataSourceId": source,
                "ingestionJobId": token_hex(5).upper(),
                "status": "STARTING",
                "startedAt": now,
                "updatedAt": now,
            }
            self._jobs[job["ingestionJobId"]] = job
            self._stop.clear()
            self._thread = Thread(target=self._work, args=(job,), name="sleuth-ingestion", daemon=True)
            started = dict(job)
            self._thread.start()
            return started

    def get(self, name: str) -> dict[str, Any]:
        """Return the current state of a job.

        Raises:
            LocalServiceError: a ResourceNotFoundException, if there is no such job.
        """
        with self._lock:
            if name not in self._jobs:
                raise local_error(
                    "ResourceNotFoundException", f"there is no ingestion job {name!r}", "GetIngestionJob", 404
                )
            return dict(self._jobs[name])

    def of(self, source: str) -> list[dict[str, Any]]:
        """Return the jobs of a data source, newest first."""
        with self._lock:
            return [dict(job) for job in reversed(self._jobs.values()) if job["dataSourceId"] == source]

    def running(self) -> dict[str, Any] | None:
        """Return the running job, or None."""
        with self._lock:
            jobs = (job for job in self._jobs.values() if job["status"] in ("STARTING", "IN_PROGRESS"))
            return next(map(dict, jobs), None)

    def close(self) -> None:
        """End a running job, and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _change(self, name: str, **values: Any) -> None:
        with self._lock:
            self._jobs[name] |= {**values, "updatedAt": datetime.now(UTC)}

    def _work(self, job: dict[str, Any]) -> None:
        name, source = job["ingestionJobId"], job["dataSourceId"]
        self._change(name, status="IN_PROGRESS")
        try:
            statistics = self._run(source, self._stop.is_set)
        except SleuthError as error:
            self._change(name, status="FAILED", failureReasons=[str(error)])
        except BaseException as error:
            self._change(name, status="FAILED", failureReasons=[f"{type(error).__name__}: {error}"])
            logger.exception("ingestion job %s of data source %r failed", name, source)
        else:
            self._change(name, status="STOPPED" if self._stop.is_set() else "COMPLETE", statistics=statistics)
