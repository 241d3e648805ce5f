"""The record of jobs: a file for each below the index folder, which all workers and later servers read."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from sleuth.files import whole_file
from sleuth.surfaces.http.problems import ProblemDocument, Refusal, problem_document

FOLDER = "jobs"
MOST = 100
"""Jobs that are remembered; the oldest ones that have ended are forgotten first."""

SILENT_SECONDS = 30.0
"""A server writes each of its jobs every second: one that was not written for so long has lost its server."""

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

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in ("queued", "in_progress")


class RecordedJob(Job):
    """A job as it is recorded.

    Attributes:
        key: name of the key that it belongs to.
    """

    key: str

    def shown(self) -> dict[str, object]:
        """Return the job as its owner sees it."""
        return self.model_dump(exclude={"key"})


class JobRecord:
    """Jobs of all servers over an index. Safe to share between threads.

    Attributes:
        folder: where jobs are.
    """

    def __init__(self, index: Path) -> None:
        self.folder = index / FOLDER

    def add(self, job: RecordedJob) -> None:
        """Record a new job, and forget the oldest ones that have ended.

        Raises:
            Refusal: 503, if the folder of the index cannot be written.
        """
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            is_link = self.folder.is_symlink()
            if not is_link:
                self.write(job)
        except OSError as error:
            raise Refusal(503, "JobsError", f"jobs cannot be recorded beside the index: {error}") from error
        if is_link:
            raise Refusal(503, "JobsError", f"{FOLDER} beside the index must not be a link")
        for path in sorted(self.folder.glob("job_*.json"), reverse=True)[MOST:]:
            record = self.read(path.stem)
            if record is None or not record.is_active:
                path.unlink(missing_ok=True)
                self.cancel_file(path.stem).unlink(missing_ok=True)

    def write(self, job: RecordedJob) -> None:
        """Record a job as it is now, and wait for the disk: else power could take the new file and the old one."""
        with whole_file(self._file_of(job.id)) as out:
            out.write(job.model_dump_json().encode())

    def read(self, id: str) -> RecordedJob | None:
        """Return the job of an id; None if it is unknown or forgotten."""
        if not _ID.fullmatch(id):
            return None
        try:
            job = RecordedJob.model_validate_json(self._file_of(id).read_bytes())
            written_at = self._file_of(id).stat().st_mtime
        except (OSError, ValidationError):
            return None
        if not job.is_active or time.time() - written_at < SILENT_SECONDS:
            return job
        return job.model_copy(update=interrupted(job) | {"finished_at": written_at})

    def cancel_file(self, id: str) -> Path:
        """Return the file that asks the server of a job to cancel it, whichever worker that is."""
        return self.folder / f"{id}.cancel"

    def _file_of(self, id: str) -> Path:
        return self.folder / f"{id}.json"


def new_id() -> str:
    """Return the id of a new job; ids ascend with time."""
    return f"job_{time.time_ns():016x}{secrets.token_hex(4)}"


def interrupted(job: RecordedJob) -> dict[str, object]:
    """Return what became of a job whose server ended before it did."""
    what = "documents" if job.kind == "add" else "files"
    detail = (
        f"the server ended before the job: at least {job.done:,} of {job.total:,} {what} are committed and stay; "
        "send the request again: documents that are there count as unchanged"
    )
    error = problem_document(Refusal(503, "InterruptedError", detail))
    return {"status": "interrupted", "error": error}
