"""The record of jobs: a file for each below the index folder, which all workers and later servers read."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from sleuth.files import whole_file
from sleuth.surfaces.http.problems import ProblemDocument, Refusal, problem_document
from sleuth.surfaces.http.uploads import UploadedFile

FOLDER = "jobs"
MOST = 100
"""Jobs that are remembered; the oldest ones that have ended are forgotten first."""

_OLD = 3600.0
"""Seconds after which the lock of a killed server is removed; a younger one may be of a server that begins."""

_ID = re.compile(r"job_[0-9a-f]{24}")

JobStatus: TypeAlias = Literal["queued", "in_progress", "completed", "failed", "cancelled", "interrupted"]


class SkippedFile(BaseModel):
    """A file that could not be read."""

    id: str | None = Field(
        default=None,
        description="Of an uploaded file; null for a part of one, and for a file of a folder.",
        examples=["file-18b2c3d4e5f60718a1b2c3d4"],
    )
    name: str
    reason: str


class Job(BaseModel):
    """A change that goes on after its request was answered. What it has committed stays, however it ends."""

    id: str = Field(examples=["job_18b2c3d4e5f60718a1b2c3d4"])
    object: Literal["job"] = "job"
    kind: Literal["add", "upload", "attach", "index"] = Field(
        description="Which request started it.", examples=["add"]
    )
    status: JobStatus = Field(
        default="queued",
        description="`interrupted`: its server ended before it did. The last four are final.",
        examples=["in_progress"],
    )
    created_at: float
    started_at: float | None = Field(default=None, description="When it began, in seconds since 1970.")
    finished_at: float | None = Field(default=None, description="When it ended, in seconds since 1970.")
    done: int = Field(default=0, description="Documents, or files, that are committed.", examples=[1500])
    total: int | None = Field(
        default=None,
        description="Documents, or files, of the request; null while folders are walked.",
        examples=[9000],
    )
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    ids: list[str] = Field(
        default=[], description="Documents of the request, once it has ended; [] in a list of jobs."
    )
    skipped: list[SkippedFile] = []
    version: int | None = Field(
        default=None, description="Of the index after it; null for a key with a filter, as others write too."
    )
    error: ProblemDocument | None = Field(
        default=None,
        description="Why it failed or was interrupted, and what to do; null otherwise.",
    )

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in ("queued", "in_progress")


class RecordedJob(Job):
    """A job as it is recorded.

    Attributes:
        key: name of the key that it belongs to.
        server: the process that runs it, as in `JobRecord.server`.
        files: what is known of the files that it uploads or attaches, by id; None of attached ones.
    """

    key: str
    server: str
    files: dict[str, UploadedFile | None] = {}

    def shown(self, *, with_lists: bool = True) -> dict[str, object]:
        """Return the job as its owner sees it."""
        job = self.model_dump(exclude={"key", "server", "files"})
        return job if with_lists else job | {"ids": [], "skipped": []}


class JobRecord:
    """Jobs of all servers over an index. Safe to share between threads.

    A server holds a lock on a file while it lives. The kernel releases the lock when the server is killed, so that
    others see that its jobs have ended.

    Attributes:
        folder: where jobs are.
        server: names this process among those that run jobs.
    """

    def __init__(self, index: Path) -> None:
        self.folder = index / FOLDER
        self.server = secrets.token_hex(8)
        self._lock: int | None = None

    def open(self) -> None:
        """Begin to run jobs here; opening twice is fine.

        Raises:
            Refusal: 503, if the folder of the index cannot be written.
        """
        if self._lock is not None:
            return
        try:
            _make_folder(self.folder)
            self._lock = os.open(self._lock_of(self.server), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise Refusal(503, "JobsError", f"jobs cannot be recorded beside the index: {error}") from error

    def close(self) -> None:
        """Run no more jobs here."""
        if self._lock is not None:
            self._lock_of(self.server).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

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
        except (OSError, ValidationError):
            return None
        return self._interrupted(job) if job.is_active and not self._lives(job.server) else job

    def of_key(self, key: str) -> Iterator[RecordedJob]:
        """Yield the jobs of a key, newest first."""
        return (job for job in self._all() if job.key == key)

    def forget_oldest(self) -> None:
        """Remove the oldest jobs that have ended, and what killed servers left."""
        for place, job in enumerate(self._all()):
            if place >= MOST and not job.is_active:
                self._file_of(job.id).unlink(missing_ok=True)
                self.cancel_file(job.id).unlink(missing_ok=True)
        for lock in self.folder.glob("*.lock"):
            if not self._lives(lock.stem) and lock.stat().st_mtime < time.time() - _OLD:
                lock.unlink(missing_ok=True)

    def uploads_of(self, id: str) -> Path:
        """Return the folder of the files that a job reads."""
        return self.folder / f"{id}.files"

    def cancel_file(self, id: str) -> Path:
        """Return the file that asks the server of a job to cancel it, whichever worker that is."""
        return self.folder / f"{id}.cancel"

    def _all(self) -> Iterator[RecordedJob]:
        names = sorted((path.stem for path in self.folder.glob("job_*.json")), reverse=True)
        return (job for name in names if (job := self.read(name)) is not None)

    def _interrupted(self, job: RecordedJob) -> RecordedJob:
        """Record that the server of a job was killed."""
        import shutil

        ended = job.model_copy(
            update={"status": "interrupted", "finished_at": time.time(), "error": why_interrupted(job)}
        )
        shutil.rmtree(self.uploads_of(job.id), ignore_errors=True)
        with suppress(OSError):  # a read-only folder
            self.write(ended)
        return ended

    def _lives(self, server: str) -> bool:
        """Return whether a process that runs jobs has not ended."""
        if server == self.server:
            return self._lock is not None
        try:
            file = os.open(self._lock_of(server), os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(file)
        return False

    def _file_of(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _lock_of(self, server: str) -> Path:
        return self.folder / f"{server}.lock"


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink():
        raise OSError(f"{FOLDER} must not be a link")


def new_id() -> str:
    """Return the id of a new job; ids ascend with time."""
    return f"job_{time.time_ns():016x}{secrets.token_hex(4)}"


def why_interrupted(job: RecordedJob) -> ProblemDocument:
    """Return what became of a job whose server ended before it did."""
    what = "documents" if job.kind == "add" else "files"
    total = f" of {job.total:,}" if job.total is not None else ""
    detail = (
        f"the server ended before the job: at least {job.done:,}{total} {what} are committed and stay; "
        "send the request again: documents that are there count as unchanged"
    )
    return problem_document(Refusal(503, "InterruptedError", detail))
