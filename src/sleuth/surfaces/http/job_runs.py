"""Jobs: changes that go on after their request, recorded beside the index for all workers and later servers.

The steps of a job take turns in the queue of changes, so that short changes of others need not wait for its end.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from sleuth.files import whole_file
from sleuth.remote import in_thread
from sleuth.surfaces.http.answers import EXPECTED, ProblemDocument, Refusal, logger, problem_document
from sleuth.surfaces.http.lanes import Lane

FOLDER = "jobs"
MOST = 100
"""Jobs that are remembered; the oldest ones that have ended are forgotten first."""

MOST_ACTIVE = 8
"""Jobs of one worker that wait or run."""

SAVE_SECONDS = 1.0
"""Between two records of a job, which also say that it lives."""

SILENT_SECONDS = 30.0
"""A job that was not recorded for so long has lost its server."""

_ID = re.compile(r"job_[0-9a-f]{24}")

JobStatus: TypeAlias = Literal["queued", "in_progress", "completed", "failed", "cancelled", "interrupted"]


class SkippedFile(BaseModel):
    """A file that could not be read."""

    id: str | None = Field(default=None, description="Of an uploaded file; null for a part of one.")
    name: str
    reason: str


class Job(BaseModel):
    """A change that goes on after its request was answered. What it has committed stays, however it ends."""

    id: str = Field(examples=["job_18b2c3d4e5f60718a1b2c3d4"])
    object: Literal["job"] = "job"
    kind: Literal["add", "upload"] = Field(description="Which request started it.")
    status: JobStatus = Field(
        default="queued",
        description="`interrupted`: its server ended before it did. The last four are final.",
    )
    created_at: float
    started_at: float | None = Field(default=None, description="When it began, in seconds since 1970.")
    finished_at: float | None = Field(default=None, description="When it ended, in seconds since 1970.")
    done: int = Field(default=0, description="Documents, or files, that are committed.")
    total: int = Field(description="Documents, or files, of the request.")
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    ids: list[str] = Field(default=[], description="Documents of the request, once it has ended.")
    skipped: list[SkippedFile] = []
    version: int | None = Field(
        default=None, description="Of the index after it; null for a key with a filter, as others write too."
    )
    error: ProblemDocument | None = Field(
        default=None, description="Why it failed or was interrupted, and what to do; null otherwise."
    )


class RecordedJob(Job):
    """A job as it is recorded, and changed while it runs.

    Attributes:
        key: name of the key that it belongs to.
    """

    key: str

    @classmethod
    def new(cls, kind: Literal["add", "upload"], total: int, key: str) -> RecordedJob:
        """Return a job that waits; ids ascend with time."""
        id = f"job_{time.time_ns():016x}{secrets.token_hex(4)}"
        return cls(id=id, kind=kind, created_at=time.time(), total=total, key=key)

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in ("queued", "in_progress")

    def shown(self) -> dict[str, object]:
        """Return the job as its owner sees it."""
        return self.model_dump(exclude={"key"})

    def fail(self, refusal: Refusal, status: JobStatus = "failed") -> None:
        """Note why it ended early."""
        self.status, self.error = status, problem_document(refusal)

    def interrupt(self) -> None:
        """Note that its server ended before it did."""
        what = "documents" if self.kind == "add" else "files"
        detail = (
            f"the server ended before the job: at least {self.done:,} of {self.total:,} {what} are committed and stay; "
            "send the request again: documents that are there count as unchanged"
        )
        self.fail(Refusal(503, "InterruptedError", detail), "interrupted")


Step: TypeAlias = Callable[[RecordedJob], Mapping[str, Any]]
"""A part of a job, which runs in the queue of changes and commits; returns what it adds to the fields of the job."""


class JobRunner:
    """The jobs of all servers over an index, a file for each, and those that this process runs, one after the other.

    What runs jobs is for one event loop, the record for any thread.

    Args:
        lane: the queue of changes.
        index: the folder beside whose parts jobs are recorded.
    """

    def __init__(self, lane: Lane, index: Path) -> None:
        self._lane, self.folder = lane, index / FOLDER
        self._runs: dict[str, asyncio.Task[None] | None] = {}
        self._turn = asyncio.Lock()
        self._is_stopping = False

    def add(self, job: RecordedJob) -> None:
        """Record a new job, and forget the oldest ones that have ended.

        Raises:
            Refusal: 503, if the folder of the index cannot be written.
        """
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            is_link = self.folder.is_symlink()
            if not is_link:
                self._write(job)
        except OSError as error:
            raise Refusal(503, "JobsError", f"jobs cannot be recorded beside the index: {error}") from error
        if is_link:
            raise Refusal(503, "JobsError", f"{FOLDER} beside the index must not be a link")
        for path in sorted(self.folder.glob("job_*.json"), reverse=True)[MOST:]:
            record = self.read(path.stem)
            if record is None or not record.is_active:
                path.unlink(missing_ok=True)
                self._cancel_file(path.stem).unlink(missing_ok=True)

    def read(self, id: str) -> RecordedJob | None:
        """Return the job of an id; None if it is unknown or forgotten."""
        if not _ID.fullmatch(id):
            return None
        try:
            job = RecordedJob.model_validate_json(self._file_of(id).read_bytes())
            written_at = self._file_of(id).stat().st_mtime
        except (OSError, ValidationError):
            return None
        if job.is_active and time.time() - written_at >= SILENT_SECONDS:
            job.interrupt()
            job.finished_at = written_at
        return job

    async def start(
        self,
        job: RecordedJob,
        steps: Sequence[Step],
        refusal_of: Callable[[Exception], Refusal],
        finish: Callable[[], object],
    ) -> None:
        """Record a job and begin to work on it.

        Args:
            refusal_of: what its owner is told of an error.
            finish: runs when it has ended.

        Raises:
            Refusal: 503, if too many jobs wait, or jobs cannot be recorded.
        """
        if len(self._runs) >= MOST_ACTIVE:
            detail = f"{MOST_ACTIVE} jobs wait already; try again when one of them has ended"
            raise Refusal(503, "QueueFullError", detail)

        async def work() -> None:
            """Take the steps until the job ends, and record again and again how far it is."""
            taking = asyncio.create_task(self._take_steps(job, steps))
            while not (await asyncio.wait((taking,), timeout=SAVE_SECONDS))[0]:
                with suppress(OSError):  # a full disk ends the job by its own commit
                    await in_thread(self._write, job)
            if isinstance(error := taking.exception(), Exception):
                if not isinstance(error, EXPECTED):
                    fields = {"message": "a job failed", "job": job.id}
                    logger.error("a job failed", exc_info=error, extra={"fields": fields})
                job.fail(refusal_of(error))
            job.ids, job.finished_at = list(dict.fromkeys(job.ids)), time.time()
            try:
                await in_thread(finish)
                with suppress(OSError):  # a full disk
                    await in_thread(partial(self._cancel_file(job.id).unlink, missing_ok=True))
                    await in_thread(self._write, job)
            finally:
                del self._runs[job.id]

        self._runs[job.id] = None
        try:
            await in_thread(self.add, job)
        except BaseException:
            del self._runs[job.id]
            raise
        self._runs[job.id] = asyncio.create_task(work())

    async def cancel(self, job: RecordedJob) -> None:
        """Ask whichever worker runs a job to end it between two commits."""
        if job.is_active:
            await in_thread(self._cancel_file(job.id).touch)

    async def stop(self) -> None:
        """End all jobs between two commits, and record that they were interrupted."""
        self._is_stopping = True
        await asyncio.gather(*filter(None, self._runs.values()), return_exceptions=True)

    async def _take_steps(self, job: RecordedJob, steps: Sequence[Step]) -> None:
        """Take the steps of a job, and note how it ended."""
        async with self._turn:
            for step in steps:
                if self._is_stopping:
                    job.interrupt()
                    return
                if await in_thread(self._cancel_file(job.id).exists):
                    job.status = "cancelled"
                    return
                if job.status == "queued":
                    job.status, job.started_at = "in_progress", time.time()
                    await in_thread(self._write, job)
                values = await self._lane.take(step, job)
                for name in ("added", "updated", "unchanged"):
                    setattr(job, name, getattr(job, name) + values.get(name, 0))
                job.ids += values.get("ids", ())
                job.skipped += values.get("skipped", ())
                job.version = values.get("version", job.version)
            job.status = "completed"

    def _write(self, job: RecordedJob) -> None:
        """Record a job as it is now, and wait for the disk: else power could take the new file and the old one."""
        with whole_file(self._file_of(job.id)) as out:
            out.write(job.model_dump_json(exclude={"ids", "skipped"} if job.is_active else None).encode())

    def _file_of(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _cancel_file(self, id: str) -> Path:
        """Return the file that asks the server of a job to cancel it, whichever worker that is."""
        return self.folder / f"{id}.cancel"
