"""Waits until a knowledge base has ingested documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sleuth.errors import ArgumentError, KnowledgeBaseError
from sleuth.knowledge_base.clients import default_client
from sleuth.knowledge_base.ingestion import TIMEOUT, UNKNOWN, batch_check_document_statuses
from sleuth.remote import Deadline, async_twin

RUNNING_JOBS = ("STARTING", "IN_PROGRESS", "STOPPING")
RUNNING_DOCUMENTS = ("STARTING", "PENDING", "IN_PROGRESS", "DELETING", "DELETE_IN_PROGRESS", UNKNOWN)

Progress = Callable[[dict[str, Any]], None]
"""Called with the job, or with the documents' statuses by URI, after each request."""


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
        KnowledgeBaseError: the job failed or was stopped, does not exist, or the timeout passed.
    """
    if not poll > 0:
        raise ArgumentError(f"poll must be above 0 seconds, got {poll!r}")
    if s3_uris and ingestion_job_id is not None:
        raise ArgumentError("either ingestion_job_id or s3_uris must be given, got both")
    agent = default_client("bedrock-agent", TIMEOUT) if client is None else client
    if s3_uris:
        uris = list(s3_uris)
        return _poll(
            lambda: dict(batch_check_document_statuses(kb_id, ds_id, uris, client=agent)),
            lambda statuses: not any(status in RUNNING_DOCUMENTS for status in statuses.values()),
            timeout, poll, progress,
        )  # fmt: skip
    name = ingestion_job_id or _newest(agent, kb_id, ds_id)
    job = _poll(
        lambda: dict(
            agent.get_ingestion_job(knowledgeBaseId=kb_id, dataSourceId=ds_id, ingestionJobId=name)[
                "ingestionJob"
            ]
        ),
        lambda job: job.get("status") not in RUNNING_JOBS,
        timeout, poll, progress,
    )  # fmt: skip
    if job.get("status") != "COMPLETE":
        reasons = "; ".join(map(str, job.get("failureReasons") or ())) or "no reason given"
        raise KnowledgeBaseError(f"ingestion job {name} is {job.get('status')}: {reasons}", service="bedrock")
    return job


await_for_ingestion = async_twin(wait_for_ingestion)


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


def _newest(agent: Any, kb_id: str, ds_id: str) -> str:
    answer = agent.list_ingestion_jobs(
        knowledgeBaseId=kb_id,
        dataSourceId=ds_id,
        sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
        maxResults=1,
    )
    jobs = answer.get("ingestionJobSummaries") or ()
    if not jobs:
        raise KnowledgeBaseError(
            f"data source {ds_id!r} of knowledge base {kb_id!r} has no ingestion job: start one",
            service="bedrock",
        )
    return str(jobs[0]["ingestionJobId"])
