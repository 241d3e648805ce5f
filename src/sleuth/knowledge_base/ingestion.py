"""Ingests documents into a hosted knowledge base, checks their status, and waits until they are ingested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from sleuth.arguments import (
    check_count,
    check_mapping,
    check_method,
    check_name,
    check_names,
    check_positive,
    check_strings,
    check_weight,
)
from sleuth.errors import ArgumentError, KnowledgeBaseError
from sleuth.knowledge_base.clients import default_client, endpoint_of
from sleuth.knowledge_base.errors import again_when_busy, again_when_down
from sleuth.logs import logger_of
from sleuth.remote import Deadline, async_twin, retry

logger = logger_of("knowledge_base")

UNKNOWN = "UNKNOWN"
"""The status of a document that the service does not report."""
SETTLE_SECONDS = 2.0
"""Seconds that `check_document_status` sleeps first: the service needs a moment to register a document."""
TIMEOUT = 30.0
"""Seconds for one request, of clients made here."""
_RUNNING_JOBS = ("STARTING", "IN_PROGRESS", "STOPPING")
_RUNNING_DOCUMENTS = ("STARTING", "PENDING", "IN_PROGRESS", "DELETING", "DELETE_IN_PROGRESS", UNKNOWN)

Progress = Callable[[dict[str, Any]], None]
"""Called with the job, or with the documents' statuses by URI, after each request."""
_STATUS_RETRIES = 3
_STATUS_DELAY = 0.5
MAX_DOCUMENTS = 10
"""Documents of one request at most, for a client that does not say how many."""


def start_ingestion_with_retry(
    kb_id: str, ds_id: str, max_retries: int = 5, base_delay: float = 5, client: Any = None
) -> dict[str, Any]:
    """Start an ingestion job that reads a whole data source into its knowledge base.

    Args:
        max_retries: retries while other jobs are running or the service throttles or fails.
        base_delay: seconds of the first wait; it doubles with each retry, and jitter adds up to half.
        client: of boto3's "bedrock-agent", or a `LocalKnowledgeBase`; None makes one for `AWS_REGION`.

    Returns:
        The job: `ingestionJobId`, `status` ("STARTING") and the service's other fields.

    Raises:
        ClientError: of boto3, the service's own, once the retries are spent.
    """
    answer = _ask(
        client, "start_ingestion_job", kb_id, ds_id, needs="ingestionJob",
        retries=max_retries, base=base_delay,
    )  # fmt: skip
    return dict(answer["ingestionJob"])


def ingest_documents_with_retry(  # noqa: PLR0917 - as documented
    kb_id: str,
    ds_id: str,
    documents: list[dict[str, Any]],
    max_retries: int = 5,
    base_delay: float = 2,
    client: Any = None,
) -> dict[str, Any]:
    """Ingest these documents into a knowledge base, in batches that the service accepts.

    Args:
        documents: `{"dataSourceId", "s3": {"uri"}}` each, with an optional `"metadata": {...}`, or in the
            service's own form, with `"content"`.
        max_retries, base_delay, client: as in `start_ingestion_with_retry`; retries are counted per batch.

    Returns:
        `documentDetails`, the service's report of each document, and `ingestionJobId`, the id of the request:
        the service has no job for single documents. Check their status for progress.

    Raises:
        ArgumentError: something else than documents; nothing was sent.
        ClientError: of boto3, the service's own, once the retries are spent; a note says how many documents
            had been accepted.
    """
    is_list = isinstance(documents, list | tuple) and all(isinstance(entry, Mapping) for entry in documents)
    if not is_list or not documents:
        raise ArgumentError(f"documents must be a list of at least one mapping, got {documents!r}")
    entries = [document_entry(document, ds_id) for document in documents]
    details: list[dict[str, Any]] = []
    names: list[str] = []
    size = _limit_of(client, "KnowledgeBaseDocuments")
    for start in range(0, len(entries), size):
        try:
            answer = _ask(
                client, "ingest_knowledge_base_documents", kb_id, ds_id, needs="documentDetails",
                retries=max_retries, base=base_delay, documents=entries[start : start + size],
            )  # fmt: skip
        except BaseException as error:
            if start:
                error.add_note(f"{start} of {len(entries)} documents had been accepted")
            raise
        details += answer["documentDetails"]
        names.append(str(answer.get("ResponseMetadata", {}).get("RequestId", f"{kb_id}/{ds_id}/{start}")))
    return {"ingestionJobId": names[0], "documentDetails": details}


def check_document_status(
    kb_id: str, ds_id: str, s3_uri: str, sleep_first: bool = True, client: Any = None
) -> str:
    """Return the status of one document: "INDEXED", "PENDING", "FAILED" and so on, or "UNKNOWN".

    Args:
        sleep_first: wait two seconds before asking, for a document that was just ingested.
    """
    if sleep_first:
        Deadline(SETTLE_SECONDS).sleep(SETTLE_SECONDS)
    return batch_check_document_statuses(kb_id, ds_id, [s3_uri], client=client)[s3_uri]


def batch_check_document_statuses(
    kb_id: str, ds_id: str, s3_uris: list[str], batch_size: int = 25, client: Any = None
) -> dict[str, str]:
    """Return the status of each document, "UNKNOWN" if the service does not report it.

    Args:
        s3_uris: URIs of S3; any other text is the identifier of a custom document.
        batch_size: maximum documents per request; the service's own limit is lower (10).

    Returns:
        A status for every URI, in the same order. If a batch fails and another is answered, the documents of the
        failed one are "UNKNOWN", and a warning is logged.

    Raises:
        ClientError: of boto3, if no batch was answered.
    """
    batch_size = check_count(batch_size, "batch_size", least=1)
    check_strings(s3_uris, "s3_uris")
    statuses = {check_name(uri, "s3_uri", most=2048): UNKNOWN for uri in s3_uris}  # as in the service's model
    size = min(batch_size, _limit_of(client, "DocumentIdentifiers"))
    uris = list(statuses)
    failure: Exception | None = None
    answered = 0
    for start in range(0, len(uris), size):
        identifiers = [identifier(uri) for uri in uris[start : start + size]]
        try:
            answer = _ask(
                client, "get_knowledge_base_documents", kb_id, ds_id, documentIdentifiers=identifiers
            )
        except Exception as error:  # noqa: BLE001 - raised below, unless another batch was answered
            failure = failure or error
            if again_when_down(error) is not None:  # the next batches would fail too
                break
            continue
        answered += 1
        for detail in answer.get("documentDetails") or ():
            uri = uri_of_identifier(detail.get("identifier") or {})
            if uri in statuses:
                statuses[uri] = str(detail.get("status") or UNKNOWN)
    if failure is not None:
        if not answered:
            raise failure
        logger.warning("%d documents have no status: %s", [*statuses.values()].count(UNKNOWN), failure)
    return statuses


def wait_for_ingestion(
    kb_id: str,
    ds_id: str,
    ingestion_job_id: str | None = None,
    *,
    s3_uris: Sequence[str] = (),
    timeout: float = 3600.0,  # a large source takes long; a stuck job is given up
    poll: float = 5.0,  # learns the end late by no more, with few requests
    progress: Progress | None = None,
    client: Any = None,
) -> dict[str, Any]:
    """Wait until a job, or a set of documents, is done.

    Args:
        ingestion_job_id: the job; None waits for the newest of the data source, or for `s3_uris`.
        s3_uris: documents to wait for, instead of a job.
        timeout: seconds to wait at most.
        poll: seconds between two requests.
        progress: called with every answer.
        client: of boto3's "bedrock-agent", or a `LocalKnowledgeBase`; None makes one for `AWS_REGION`.

    Returns:
        The complete job, or the status of every document, failed ones included, once all are final.

    Raises:
        KnowledgeBaseError: the job failed or was stopped, the data source has none, or the timeout passed.
        ClientError: of boto3, the service's own, once retries of a request are spent, or for an unknown job.
    """
    check_positive(poll, "poll")
    check_weight(timeout, "timeout")
    check_strings(s3_uris, "s3_uris")
    if s3_uris and ingestion_job_id is not None:
        raise ArgumentError("either ingestion_job_id or s3_uris must be given, got both")
    if s3_uris:
        return _poll(
            lambda: dict(batch_check_document_statuses(kb_id, ds_id, list(s3_uris), client=client)),
            lambda statuses: not any(status in _RUNNING_DOCUMENTS for status in statuses.values()),
            timeout, poll, progress,
        )  # fmt: skip
    name = ingestion_job_id
    if name is None:
        newest = {"attribute": "STARTED_AT", "order": "DESCENDING"}
        answer = _ask(client, "list_ingestion_jobs", kb_id, ds_id, sortBy=newest, maxResults=1)
        if not answer.get("ingestionJobSummaries"):
            message = f"data source {ds_id!r} of knowledge base {kb_id!r} has no ingestion job: start one"
            raise KnowledgeBaseError(message, service="bedrock")
        name = str(answer["ingestionJobSummaries"][0]["ingestionJobId"])
    job = _poll(
        lambda: _ask(
            client, "get_ingestion_job", kb_id, ds_id, needs="ingestionJob", ingestionJobId=name
        )["ingestionJob"],
        lambda job: job.get("status") not in _RUNNING_JOBS,
        timeout, poll, progress,
    )  # fmt: skip
    if job.get("status") != "COMPLETE":
        reasons = "; ".join(map(str, job.get("failureReasons") or ())) or "no reason given"
        raise KnowledgeBaseError(f"ingestion job {name} is {job.get('status')}: {reasons}", service="bedrock")
    return job


def _poll(
    ask: Callable[[], dict[str, Any]],
    is_final: Callable[[dict[str, Any]], bool],
    timeout: float,
    poll: float,
    progress: Progress | None,
) -> dict[str, Any]:
    deadline = Deadline(timeout)
    while True:
        answer = ask()
        if progress is not None:
            progress(answer)
        if is_final(answer):
            return answer
        if deadline.passed():
            raise KnowledgeBaseError(f"ingestion was not done within {timeout:g} s", service="bedrock")
        deadline.sleep(poll)


def document_entry(document: Mapping[str, Any], ds_id: str) -> dict[str, Any]:
    """Convert a document to the service's form.

    Raises:
        ArgumentError: another data source, no URI, an unknown member, or metadata that the service cannot hold.
    """
    source_id = document.get("dataSourceId", ds_id)
    if source_id != ds_id:
        raise ArgumentError(f"dataSourceId of each document must be {ds_id!r}, got {source_id!r}")
    if "content" in document:
        return {name: value for name, value in document.items() if name != "dataSourceId"}
    place = document.get("s3") or document.get("s3Location")
    uri = place.get("uri") if isinstance(place, Mapping) else None
    if not isinstance(uri, str) or not uri:
        raise ArgumentError(f'each document must have {{"s3": {{"uri": ...}}}}, got {document!r}')
    check_names(document, ("dataSourceId", "s3", "s3Location", "metadata"), f"members of {uri!r}")
    entry: dict[str, Any] = {"content": {"dataSourceType": "S3", "s3": {"s3Location": {"uri": uri}}}}
    metadata = check_mapping(document.get("metadata"), f"metadata of {uri!r}")
    if metadata:
        attributes = [_attribute(uri, key, value) for key, value in metadata.items()]
        entry["metadata"] = {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": attributes}
    return entry


def _attribute(uri: str, key: str, value: object) -> dict[str, Any]:
    check_name(key, f"each key of the metadata of {uri!r}")
    if isinstance(value, bool):
        return {"key": key, "value": {"type": "BOOLEAN", "booleanValue": value}}
    if isinstance(value, int | float) and math.isfinite(value):
        return {"key": key, "value": {"type": "NUMBER", "numberValue": value}}
    if isinstance(value, str) and value:
        return {"key": key, "value": {"type": "STRING", "stringValue": value}}
    if isinstance(value, list | tuple) and value and all(isinstance(text, str) for text in value):
        return {"key": key, "value": {"type": "STRING_LIST", "stringListValue": list(value)}}
    rule = "a text that is not empty, a finite number, a boolean or a list of at least one text"
    raise ArgumentError(f"metadata {key!r} of {uri!r} must be {rule}, got {value!r}")


def identifier(uri: str) -> dict[str, Any]:
    """Convert a URI or custom id to the service's form."""
    if uri.startswith("s3://"):
        return {"dataSourceType": "S3", "s3": {"uri": uri}}
    return {"dataSourceType": "CUSTOM", "custom": {"id": uri}}


def uri_of_identifier(value: Mapping[str, Any]) -> str | None:
    """Return the URI or custom id of an identifier in the service's form."""
    uri = (value.get("s3") or {}).get("uri") or (value.get("custom") or {}).get("id")
    return uri if isinstance(uri, str) else None


def _agent(client: Any) -> Any:
    return default_client("bedrock-agent", TIMEOUT) if client is None else client


def _limit_of(client: Any, shape: str) -> int:
    """Return how many members a list of a request may have, as the model of a client of boto3 says."""
    model = getattr(getattr(_agent(client), "meta", None), "service_model", None)
    length = None if model is None else model.shape_for(shape).metadata.get("max")
    return length if isinstance(length, int) else MAX_DOCUMENTS


def _ask(
    client: Any,
    method: str,
    kb_id: str,
    ds_id: str,
    *,
    needs: str = "",
    retries: int = _STATUS_RETRIES,
    base: float = _STATUS_DELAY,
    **members: Any,
) -> Any:
    """Return the answer of a client's method, with the member that it `needs`; retry while the service is busy."""
    client = _agent(client)
    endpoint = endpoint_of(client)
    call = check_method(client, method, "client", "a LocalKnowledgeBase or boto3.client('bedrock-agent')")
    names = {"knowledgeBaseId": check_name(kb_id, "kb_id"), "dataSourceId": check_name(ds_id, "ds_id")}
    if endpoint is not None and method.startswith(("start", "ingest")):
        # Of all attempts: one whose answer was lost is not done twice.
        members["clientToken"] = str(uuid4())
    answer = retry.call(
        lambda _: call(**names, **members),
        again=again_when_busy,
        retries=check_count(retries, "max_retries"),
        base=check_weight(base, "base_delay"),
        deadline=Deadline(None),
        endpoint=endpoint,
        guarded=False,  # the caller sets the number of retries
    )
    if needs and answer.get(needs) is None:
        raise KnowledgeBaseError(f"the service answered {method} without {needs}", service="bedrock")
    return answer


astart_ingestion_with_retry = async_twin(start_ingestion_with_retry)
aingest_documents_with_retry = async_twin(ingest_documents_with_retry)
acheck_document_status = async_twin(check_document_status)
abatch_check_document_statuses = async_twin(batch_check_document_statuses)
await_for_ingestion = async_twin(wait_for_ingestion)
