"""Runs the ingestion jobs of a local knowledge base."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import Any

from sleuth.errors import SleuthError
from sleuth.knowledge_base.errors import local_error
from sleuth.logs import logger_of

logger = logger_of("knowledge_base")

_STATISTICS = {
    "scanned": "numberOfDocumentsScanned",
    "new": "numberOfNewDocumentsIndexed",
    "modified": "numberOfModifiedDocumentsIndexed",
    "deleted": "numberOfDocumentsDeleted",
    "failed": "numberOfDocumentsFailed",
}
Run = Callable[[str, Callable[[], bool]], dict[str, int]]
"""Reads a data source. Takes its id and a function that tells whether to stop; returns counts by the names above."""


class Jobs:
    """Jobs by id, one running at a time, each in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._jobs: dict[str, dict[str, Any]] = {}
        self._lock = Lock()
        self._stop = Event()
        self._thread: Thread | None = None

    def start(self, base: str, source: str) -> dict[str, Any]:
        """Begin a job.

        Raises:
            LocalServiceError: a ConflictException, if one is running.
        """
        with self._lock:
            running = self._running()
            if running is not None:
                message = f"data source {running['dataSourceId']!r} has an ongoing ingestion job"
                raise local_error("ConflictException", message, "StartIngestionJob", 409)
            now = datetime.now(UTC)
            job: dict[str, Any] = {
                "knowledgeBaseId": base,
                "dataSourceId": source,
                "ingestionJobId": secrets.token_hex(5).upper(),
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
            return self._running()

    def close(self) -> None:
        """End a running job, and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _running(self) -> dict[str, Any] | None:
        states = ("STARTING", "IN_PROGRESS", "STOPPING")
        return next((dict(job) for job in self._jobs.values() if job["status"] in states), None)

    def _change(self, name: str, **values: Any) -> None:
        with self._lock:
            self._jobs[name] |= {**values, "updatedAt": datetime.now(UTC)}

    def _work(self, job: dict[str, Any]) -> None:
        name, source = job["ingestionJobId"], job["dataSourceId"]
        self._change(name, status="IN_PROGRESS")
        try:
            counts = self._run(source, self._stop.is_set)
        except SleuthError as error:
            self._change(name, status="FAILED", failureReasons=[str(error)])
        except BaseException as error:
            self._change(name, status="FAILED", failureReasons=[f"{type(error).__name__}: {error}"])
            logger.exception("ingestion job %s of data source %r failed", name, source)
        else:
            statistics = {_STATISTICS[key]: count for key, count in counts.items()}
            status = "STOPPED" if self._stop.is_set() else "COMPLETE"
            self._change(name, status=status, statistics=statistics)
