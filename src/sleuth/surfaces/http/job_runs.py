"""Runs jobs: the steps of long changes, one job after the other, in the queue of changes."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sleuth.remote import in_thread
from sleuth.remote.cancellation import Cancellation
from sleuth.surfaces.http.job_record import RecordedJob, new_id, why_interrupted
from sleuth.surfaces.http.problems import EXPECTED, RETRY_SECONDS, Refusal, problem_document

if TYPE_CHECKING:
    from sleuth.surfaces.http.job_record import JobRecord
    from sleuth.surfaces.http.lanes import Lane
    from sleuth.surfaces.http.uploads import UploadedFile

logger = logging.getLogger("sleuth.http")

MOST_ACTIVE = 8
"""Jobs of one worker that wait or run."""

SAVE_SECONDS = 0.5
"""Between two records of progress in one step."""

Tell: TypeAlias = Callable[[int, int | None], None]
"""Is told how much is done, and of how much."""

Step: TypeAlias = Callable[[Tell], Mapping[str, Any]]
"""A part of a job, which runs in the queue of changes and commits; returns what it adds to the fields of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a request asks to be done.

    Attributes:
        key: name of the key that asks.
        steps: makes the parts of the job, given its id and what cancels it.
        refusal_of: what its owner is told of an error.
        total: documents or files of all steps, if that is known.
        files: what is uploaded or attached, as in `RecordedJob`.
        prepare: given the id, runs in a thread before the job is recorded.
    """

    kind: Literal["add", "upload", "attach", "index"]
    key: str
    steps: Callable[[str, Cancellation], Sequence[Step]]
    refusal_of: Callable[[Exception], Refusal]
    total: int | None = None
    files: Mapping[str, UploadedFile | None] = field(default_factory=dict)
    prepare: Callable[[str], None] | None = None


@dataclass(slots=True)
class _ActiveJob:
    """A job that waits or runs in this process.

    Attributes:
        ids, skipped: gathered from its steps, recorded when it ends.
        saved: when its progress was recorded last, by `time.monotonic`.
    """

    job: RecordedJob
    order: Order
    cancellation: Cancellation = field(default_factory=Cancellation)
    task: asyncio.Task[None] | None = None
    ids: dict[str, None] = field(default_factory=dict)
    skipped: list[dict[str, str]] = field(default_factory=list)
    saved: float = 0.0


class JobRunner:
    """The jobs that this process runs, one after the other. For one event loop.

    A job takes a turn in the queue of changes for each of its steps, so that short changes of others need not wait for
    its end.
    """

    def __init__(self, lane: Lane, record: JobRecord) -> None:
        self._lane, self.record = lane, record
        self._runs: dict[str, _ActiveJob] = {}
        self._turn = asyncio.Lock()
        self._is_stopping = False

    async def start(self, order: Order) -> RecordedJob:
        """Record a job and begin to work on it.

        Raises:
            Refusal: 503, if too many jobs wait, or jobs cannot be recorded.
        """
        if len(self._runs) >= MOST_ACTIVE:
            raise Refusal(
                503,
                "QueueFullError",
                f"{MOST_ACTIVE} jobs wait already; try again when one of them has ended",
            )
        job = RecordedJob(
            id=new_id(),
            kind=order.kind,
            created_at=time.time(),
            total=order.total,
            key=order.key,
            server=self.record.server,
            files=dict(order.files),
        )
        run = self._runs[job.id] = _ActiveJob(job, order)
        try:
            await in_thread(self._begin, run)
        except BaseException:
            del self._runs[job.id]
            raise
        run.task = asyncio.create_task(self._work(run))
        return job

    def _begin(self, run: _ActiveJob) -> None:
        self.record.open()
        self.record.forget_oldest()
        if run.order.prepare is not None:
            run.order.prepare(run.job.id)
        self.record.write(run.job)

    async def wait(self, id: str, seconds: float) -> None:
        """Wait for the end of a job of this process, for so many seconds at most."""
        run = self._runs.get(id)
        if run is not None and run.task is not None:
            await asyncio.wait((run.task,), timeout=seconds)

    async def cancel(self, job: RecordedJob) -> None:
        """Ask whoever runs a job to end it between two commits."""
        if job.is_active:
            await in_thread(self.record.cancel_file(job.id).touch)
            if (run := self._runs.get(job.id)) is not None:
                run.cancellation.cancel()

    async def stop(self) -> None:
        """End all jobs between two commits, and record that they were interrupted."""
        self._is_stopping = True
        tasks = []
        for run in self._runs.values():
            run.cancellation.cancel()
            if run.task is not None:
                tasks.append(run.task)
        await asyncio.gather(*tasks, return_exceptions=True)
        self.record.close()

    async def _work(self, run: _ActiveJob) -> None:
        """Work on a job until it ends, and record how."""
        try:
            async with self._turn:
                changes = await self._steps(run)
        except EXPECTED as error:
            changes = {"status": "failed", "error": problem_document(run.order.refusal_of(error))}
        except Exception as error:
            logger.exception("a job failed", extra={"fields": {"message": "a job failed", "job": run.job.id}})
            changes = {"status": "failed", "error": problem_document(run.order.refusal_of(error))}
        lists = {"ids": list(run.ids), "skipped": run.skipped, "finished_at": time.time()}
        run.job = RecordedJob.model_validate(run.job.model_dump() | lists | changes)
        try:
            await in_thread(self._finish, run.job)
        finally:
            del self._runs[run.job.id]

    async def _steps(self, run: _ActiveJob) -> dict[str, Any]:
        """Take the steps of a job, and return how it ended."""
        for step in run.order.steps(run.job.id, run.cancellation):
            if run.cancellation.requested:
                break
            if run.job.status == "queued":
                run.job = run.job.model_copy(update={"status": "in_progress", "started_at": time.time()})
                await in_thread(self.record.write, run.job)
            await self._take(run, step)
        else:
            return {"status": "completed", "total": run.job.done if run.job.total is None else run.job.total}
        if self._is_stopping:
            return {"status": "interrupted", "error": why_interrupted(run.job)}
        return {"status": "cancelled"}

    async def _take(self, run: _ActiveJob, step: Step) -> None:
        while True:
            try:
                values = await self._lane.run(step, partial(self._tell, run))
                break
            except Refusal as refusal:
                if refusal.code != "QueueFullError":
                    raise
                await asyncio.sleep(RETRY_SECONDS)
        run.ids |= dict.fromkeys(values.get("ids", ()))
        run.skipped += values.get("skipped", ())
        counts = {
            name: getattr(run.job, name) + values.get(name, 0) for name in ("added", "updated", "unchanged")
        }
        run.job = run.job.model_copy(update=counts | {"version": values.get("version", run.job.version)})
        await in_thread(self._tell, run, run.job.done, run.job.total)

    def _tell(self, run: _ActiveJob, count: int, total: int | None) -> None:
        """Note progress; now and then record it, and look whether somebody asks to cancel. Runs in a thread."""
        run.job = run.job.model_copy(update={"done": count, "total": total})
        if time.monotonic() - run.saved >= SAVE_SECONDS:
            run.saved = time.monotonic()
            with suppress(OSError):  # a full disk ends the job by its own commit
                self.record.write(run.job)
        if self.record.cancel_file(run.job.id).exists():
            run.cancellation.cancel()

    def _finish(self, job: RecordedJob) -> None:
        """Record the end of a job once nothing else is left of it."""
        shutil.rmtree(self.record.uploads_of(job.id), ignore_errors=True)
        with suppress(OSError):
            self.record.cancel_file(job.id).unlink(missing_ok=True)
            self.record.write(job)
