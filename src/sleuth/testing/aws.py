"""A local server for `bedrock-agent-runtime` and `bedrock-agent`: what a Bedrock knowledge base would answer.

Real boto3 clients talk to it over a socket. Requests are checked against botocore's own model of the
services; filters are evaluated; jobs and documents move on by one state each time their status is asked
for, so that nothing waits.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import sqrt
from time import sleep
from typing import Any

from sleuth.testing import aws_filters
from sleuth.testing.aws_model import (
    Route,
    ServiceError,
    encode,
    error_reply,
    read_params,
    routes,
    validate,
)
from sleuth.testing.serving import LocalServer, Reply, Request

SOURCE_KEY = "x-amz-bedrock-kb-data-source-id"
URI_KEY = "x-amz-bedrock-kb-source-uri"

Rule = Callable[[str, Mapping[str, Any]], Reply | float | None]
"""Takes an operation's name and parameters. Gives a reply to send instead, seconds to wait, or None."""

_JOB_STATES = ("STARTING", "IN_PROGRESS", "COMPLETE")
_DOCUMENT_STATES = ("STARTING", "IN_PROGRESS", "INDEXED")
_URL_KEYS = {
    "S3": ("s3Location", "uri"),
    "WEB": ("webLocation", "url"),
    "CONFLUENCE": ("confluenceLocation", "url"),
    "SALESFORCE": ("salesforceLocation", "url"),
    "SHAREPOINT": ("sharePointLocation", "url"),
    "CUSTOM": ("customDocumentLocation", "id"),
    "KENDRA": ("kendraDocumentLocation", "uri"),
}


@dataclass
class Stored:
    """A document of a data source: in its bucket, and searchable once it is INDEXED."""

    uri: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    kind: str = "S3"
    status: str = "INDEXED"
    updated: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Job:
    """An ingestion job."""

    id: str
    source: str
    status: str = "STARTING"
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Base:
    """A knowledge base: documents by data source, then by URI; jobs by id."""

    sources: dict[str, dict[str, Stored]] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)


class BedrockServer(LocalServer):
    """Both services on one port, up inside its `with` block.

    Args:
        page_size: results at most in one answer of Retrieve; the others follow with `nextToken`.

    Attributes:
        bases: the knowledge bases by id.
        rules: asked in turn before an operation runs; the first that gives something decides.
        calls: operations and parameters, in order of arrival.
    """

    def __init__(self, *, page_size: int = 100) -> None:
        super().__init__()
        self.page_size = page_size
        self.bases: dict[str, Base] = {}
        self.rules: list[Rule] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._routes = [*routes("bedrock-agent-runtime"), *routes("bedrock-agent")]

    def hold(
        self,
        base: str,
        source: str,
        uri: str,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        kind: str = "S3",
        indexed: bool = True,
    ) -> None:
        """Puts a document into a data source; base and source come into being with their first document."""
        stored = Stored(uri, text, dict(metadata or {}), kind, "INDEXED" if indexed else "NOT_FOUND")
        self.bases.setdefault(base, Base()).sources.setdefault(source, {})[uri] = stored

    def client(self, service: str, **config: Any) -> Any:
        """Return a real boto3 client of this server. `config` goes to botocore's Config."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            service,
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106 - no secret: the server is on loopback
            config=Config(**{"retries": {"total_max_attempts": 1}, **config}),
        )

    def refusal(self, request: Request) -> Reply:
        """Return the service's own throttling error."""
        return error_reply(None, "ThrottlingException", "Too many requests")

    def answer(self, request: Request) -> Reply | None:
        """Return the reply of the operation that a request means."""
        path = request.path.partition("?")[0]
        route = next(
            (one for one in self._routes if one.method == request.method and one.pattern.fullmatch(path)),
            None,
        )
        if route is None:
            return error_reply(None, "UnknownOperationException", f"No operation at {request.method} {path}")
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return error_reply(None, "MissingAuthenticationTokenException", "Missing Authentication Token")
        try:
            return self._run(route, request)
        except ServiceError as error:
            return error_reply(route.operation, error.code, error.message)

    def _run(self, route: Route, request: Request) -> Reply:
        params = read_params(route, request)
        with self._lock:
            self.calls.append((route.operation.name, params))
        for rule in self.rules:
            decided = rule(route.operation.name, params)
            if isinstance(decided, Reply):
                return decided
            if decided is not None:
                sleep(decided)
                break
        validate(route.operation.input_shape, params)
        run = getattr(self, f"_{_snake(route.operation.name)}", None)
        if run is None:
            raise ServiceError("UnknownOperationException", f"{route.operation.name} is not served here")
        with self._lock:
            value = run(params)
        validate(route.operation.output_shape, _plain(value))
        return Reply(
            route.operation.http["responseCode"], encode(value), {"Content-Type": "application/json"}
        )

    def error(self, operation: str, code: str, message: str = "") -> Reply:
        """Return an error reply of an operation, for rules."""
        model = next(route.operation for route in self._routes if route.operation.name == operation)
        return error_reply(model, code, message or code)

    # bedrock-agent-runtime

    def _retrieve(self, params: dict[str, Any]) -> dict[str, Any]:
        base = self._base(params)
        search = params.get("retrievalConfiguration", {}).get("vectorSearchConfiguration", {})
        condition = search.get("filter")
        if condition is not None:
            aws_filters.check(condition)
        query = params["retrievalQuery"].get("text", "")
        results = []
        for source, documents in base.sources.items():
            for stored in documents.values():
                metadata = {**stored.metadata, SOURCE_KEY: source, URI_KEY: stored.uri}
                if stored.status == "INDEXED" and (
                    condition is None or aws_filters.matches(condition, metadata)
                ):
                    results.append(_result(stored, metadata, similarity(query, stored.text)))
        results.sort(key=lambda result: -result["score"])
        start = int(base64.b64decode(params["nextToken"])) if "nextToken" in params else 0
        limit = search.get("numberOfResults", 5)
        page = results[start : min(start + self.page_size, limit)]
        end = start + len(page)
        more = (
            {"nextToken": base64.b64encode(str(end).encode()).decode()}
            if end < min(limit, len(results))
            else {}
        )
        return {"retrievalResults": page, **more}

    # bedrock-agent: knowledge bases and data sources

    def _base(self, params: Mapping[str, Any]) -> Base:
        name = params["knowledgeBaseId"]
        if name not in self.bases:
            raise ServiceError("ResourceNotFoundException", f"Knowledge Base with id {name} does not exist")
        return self.bases[name]

    def _source(self, params: Mapping[str, Any]) -> dict[str, Stored]:
        name = params["dataSourceId"]
        sources = self._base(params).sources
        if name not in sources:
            raise ServiceError("ResourceNotFoundException", f"DataSource with id {name} does not exist")
        return sources[name]

    def _list_data_sources(self, params: dict[str, Any]) -> dict[str, Any]:
        summaries = [
            {
                "knowledgeBaseId": params["knowledgeBaseId"],
                "dataSourceId": name,
                "name": name,
                "status": "AVAILABLE",
                "updatedAt": datetime.now(UTC),
            }
            for name in self._base(params).sources
        ]
        return _page(params, summaries, "dataSourceSummaries")

    # bedrock-agent: jobs

    def _start_ingestion_job(self, params: dict[str, Any]) -> dict[str, Any]:
        base, _ = self._base(params), self._source(params)
        if running := next((job for job in base.jobs.values() if job.status in _JOB_STATES[:2]), None):
            message = f"Data source {running.source} has an ongoing ingestion job {running.id}"
            raise ServiceError("ConflictException", message)
        job = Job(f"JOB{len(base.jobs):07d}", params["dataSourceId"])
        base.jobs[job.id] = job
        return {"ingestionJob": self._job(params, job)}

    def _get_ingestion_job(self, params: dict[str, Any]) -> dict[str, Any]:
        job = self._base(params).jobs.get(params["ingestionJobId"])
        if job is None:
            raise ServiceError("ResourceNotFoundException", f"No job {params['ingestionJobId']}")
        job.status = _following(job.status, _JOB_STATES)
        if job.status == "COMPLETE":
            for stored in self._source(params).values():
                stored.status = "INDEXED"
        return {"ingestionJob": self._job(params, job)}

    def _stop_ingestion_job(self, params: dict[str, Any]) -> dict[str, Any]:
        job = self._base(params).jobs[params["ingestionJobId"]]
        job.status = "STOPPED"
        return {"ingestionJob": self._job(params, job)}

    def _list_ingestion_jobs(self, params: dict[str, Any]) -> dict[str, Any]:
        self._source(params)
        jobs = [self._job(params, job) for job in self._base(params).jobs.values()]
        mine = [job for job in jobs if job["dataSourceId"] == params["dataSourceId"]]
        order = params.get("sortBy", {"attribute": "STARTED_AT", "order": "DESCENDING"})
        key = "startedAt" if order["attribute"] == "STARTED_AT" else "status"
        mine.sort(key=lambda job: job[key], reverse=order["order"] == "DESCENDING")
        return _page(params, mine, "ingestionJobSummaries")

    def _job(self, params: Mapping[str, Any], job: Job) -> dict[str, Any]:
        count = len(self._base(params).sources[job.source])
        done = count if job.status == "COMPLETE" else 0
        return {
            "knowledgeBaseId": params["knowledgeBaseId"],
            "dataSourceId": job.source,
            "ingestionJobId": job.id,
            "status": job.status,
            "statistics": {"numberOfDocumentsScanned": count, "numberOfNewDocumentsIndexed": done},
            "startedAt": job.started,
            "updatedAt": datetime.now(UTC),
        }

    # bedrock-agent: documents

    def _ingest_knowledge_base_documents(self, params: dict[str, Any]) -> dict[str, Any]:
        documents = self._source(params)
        if any(job.status in _JOB_STATES[:2] for job in self._base(params).jobs.values()):
            raise ServiceError(
                "ValidationException", "Documents cannot be ingested while an ingestion job is ongoing"
            )
        details = []
        for entry in params["documents"]:
            content = entry["content"]
            if content["dataSourceType"] == "S3":
                uri = _member(content, "s3")["s3Location"]["uri"]
                stored = documents.get(uri) or Stored(uri, "", status="NOT_FOUND")
            else:
                custom = _member(content, "custom")
                uri = custom["customDocumentIdentifier"]["id"]
                stored = Stored(uri, _inline(custom), _attributes(entry), "CUSTOM")
            stored.status = "FAILED" if stored.kind == "S3" and uri not in documents else "STARTING"
            documents[uri] = stored
            details.append(_detail(params, stored))
        return {"documentDetails": details}

    def _get_knowledge_base_documents(self, params: dict[str, Any]) -> dict[str, Any]:
        documents, details = self._source(params), []
        for identifier in params["documentIdentifiers"]:
            uri = _uri(identifier)
            stored = documents.get(uri) or Stored(
                uri, "", kind=identifier["dataSourceType"], status="NOT_FOUND"
            )
            stored.status = _following(stored.status, _DOCUMENT_STATES)
            details.append(_detail(params, stored))
        return {"documentDetails": details}

    def _list_knowledge_base_documents(self, params: dict[str, Any]) -> dict[str, Any]:
        details = [_detail(params, stored) for stored in self._source(params).values()]
        return _page(params, details, "documentDetails")

    def _delete_knowledge_base_documents(self, params: dict[str, Any]) -> dict[str, Any]:
        documents, details = self._source(params), []
        for identifier in params["documentIdentifiers"]:
            stored = documents.pop(_uri(identifier), None)
            if stored is not None:
                stored.status = "DELETING"
                details.append(_detail(params, stored))
        return {"documentDetails": details}


def similarity(query: str, text: str) -> float:
    """Cosine of word counts: a stand-in for the vectors of the service, from 0 to 1."""
    one, other = (Counter(re.findall(r"\w+", words.lower())) for words in (query, text))
    product = sum(one[word] * other[word] for word in one)
    norms = sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return product / norms if norms else 0.0


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _plain(value: Any) -> Any:
    """Convert an answer for the validator: times become strings."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _following(status: str, states: Sequence[str]) -> str:
    return states[states.index(status) + 1] if status in states[:-1] else status


def _page(params: Mapping[str, Any], items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    start = int(params.get("nextToken", 0))
    end = start + params.get("maxResults", 10)
    return {name: items[start:end], **({"nextToken": str(end)} if end < len(items) else {})}


def _result(stored: Stored, metadata: dict[str, Any], score: float) -> dict[str, Any]:
    place, key = _URL_KEYS[stored.kind]
    return {
        "content": {"text": stored.text, "type": "TEXT"},
        "location": {"type": stored.kind, place: {key: stored.uri}},
        "metadata": metadata,
        "score": score,
    }


def _member(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    if name not in content:
        raise ServiceError("ValidationException", f"content.{name} must be given for its dataSourceType")
    member: dict[str, Any] = content[name]
    return member


def _inline(custom: Mapping[str, Any]) -> str:
    inline = custom.get("inlineContent", {})
    if "byteContent" in inline:
        return base64.b64decode(inline["byteContent"]["data"]).decode("utf-8", errors="replace")
    return str(inline.get("textContent", {}).get("data", ""))


def _attributes(entry: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {}
    for attribute in entry.get("metadata", {}).get("inlineAttributes", ()):
        [value] = [member for name, member in attribute["value"].items() if name != "type"]
        attributes[attribute["key"]] = value
    return attributes


def _uri(identifier: Mapping[str, Any]) -> str:
    if identifier["dataSourceType"] == "S3":
        return str(_member(identifier, "s3")["uri"])
    return str(_member(identifier, "custom")["id"])


def _detail(params: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    custom = stored.kind == "CUSTOM"
    identifier = (
        {"dataSourceType": "CUSTOM", "custom": {"id": stored.uri}}
        if custom
        else {"dataSourceType": "S3", "s3": {"uri": stored.uri}}
    )
    return {
        "knowledgeBaseId": params["knowledgeBaseId"],
        "dataSourceId": params["dataSourceId"],
        "status": stored.status,
        "identifier": identifier,
        "updatedAt": stored.updated,
    }
