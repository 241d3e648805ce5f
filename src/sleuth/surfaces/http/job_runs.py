"""Runs jobs: the steps of long changes, one job after the other, in the queue of changes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.remote import in_thread
from sleuth.surfaces.http.job_record import RecordedJob, interrupted
from sleuth.surfaces.http.problems import EXPECTED, RETRY_SECONDS, Refusal, problem_document

if TYPE_CHECKING:
    from sleuth.surfaces.http.job_record import JobRecord
    from sleuth.surfaces.http.lanes import Lane

logger = logging.getLogger("sleuth.http")

MOST_ACTIVE = 8
"""Jobs of one worker that wait or run."""

SAVE_SECONDS = 1.0
"""Between two records of a job, which also say that it lives."""

Tell: TypeAlias = Callable[[int], None]
"""Is told how much is done."""

Step: TypeAlias = Callable[[Tell], Mapping[str, Any]]
"""A part of a job, which runs in the queue of changes and commits; returns what it adds to the fields of the job."""


@dataclass(slots=True)
class _ActiveJob:
    """A job that waits or runs in this process.

    Attributes:
        ids, skipped: gathered from its steps, recorded when it ends.
        is_cancelled: whether it ends before its next step.
        is_over: set when nothing more is done for it.
    """

    job: RecordedJob
    task: asyncio.Task[None] | None = None
    is_cancelled: bool = False
    ids: dict[str, None] = field(default_factory=dict)
    skipped: list[dict[str, str]] = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, count: int) -> None:
        """Note progress; runs in a thread."""
        self.job = self.job.model_copy(update={"done": count})


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
        run = self._runs[job.id] = _ActiveJob(job)
        try:
            await in_thread(self.record.add, job)
        except BaseException:
            del self._runs[job.id]
            raise
        run.task = asyncio.create_task(self._work(run, steps, refusal_of, finish))

    async def cancel(self, job: RecordedJob) -> None:
        """Ask whoever runs a job to end it between two commits."""
        if job.is_active:
            await in_thread(self.record.cancel_file(job.id).touch)
            if (run := self._runs.get(job.id)) is not None:
                run.is_cancelled = True

    async def stop(self) -> None:
        """End all jobs between two commits, and record that they were interrupted."""
        self._is_stopping = True
        for run in self._runs.values():
            run.is_cancelled = True
        await asyncio.gather(*(run.task for run in self._runs.values() if run.task), return_exceptions=True)

    async def _work(
        self,
        run: _ActiveJob,
        steps: Sequence[Step],
        refusal_of: Callable[[Exception], Refusal],
        finish: Callable[[], object],
    ) -> None:
        """Work on a job until it ends, and record how."""
        watch = asyncio.create_task(self._watch(run))
        try:
            async with self._turn:
                changes = await self._take_steps(run, steps)
        except Exception as error:
            if not isinstance(error, EXPECTED):
                fields = {"message": "a job failed", "job": run.job.id}
                logger.exception("a job failed", extra={"fields": fields})
            changes = {"status": "failed", "error": problem_document(refusal_of(error))}
        run.is_over.set()
        await watch
        changes |= {"ids": list(run.ids), "skipped": run.skipped, "finished_at": time.time()}
        job = RecordedJob.model_validate(run.job.model_dump() | changes)
        try:
            await in_thread(finish)
            with suppress(OSError):  # a full disk
                await in_thread(partial(self.record.cancel_file(job.id).unlink, missing_ok=True))
                await in_thread(self.record.write, job)
        finally:
            del self._runs[job.id]

    async def _watch(self, run: _ActiveJob) -> None:
        """Record a job again and again, and look whether somebody asks another worker to cancel it."""
        while not run.is_over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(run.is_over.wait(), SAVE_SECONDS)
                return
            if await in_thread(self.record.cancel_file(run.job.id).exists):
                run.is_cancelled = True
            with suppress(OSError):  # a full disk ends the job by its own commit
                await in_thread(self.record.write, run.job)

    async def _take_steps(self, run: _ActiveJob, steps: Sequence[Step]) -> dict[str, Any]:
        """Take the steps of a job, and return how it ended."""
        for step in steps:
            if run.is_cancelled or await in_thread(self.record.cancel_file(run.job.id).exists):
                break
            if run.job.status == "queued":
                run.job = run.job.model_copy(update={"status": "in_progress", "started_at": time.time()})
                await in_thread(self.record.write, run.job)
            values = await self._take(run, step)
            run.ids |= dict.fromkeys(values.get("ids", ()))
            run.skipped += values.get("skipped", ())
            names = ("added", "updated", "unchanged")
            counts = {name: getattr(run.job, name) + values.get(name, 0) for name in names}
            version = values.get("version", run.job.version)
            run.job = run.job.model_copy(update=counts | {"version": version})
        else:
            return {"status": "completed"}
        return interrupted(run.job) if self._is_stopping else {"status": "cancelled"}

    async def _take(self, run: _ActiveJob, step: Step) -> Mapping[str, Any]:
        """Take a step in the queue of changes, once it has room."""
        while True:
            try:
                return await self._lane.run(step, run.tell)
            except Refusal as refusal:
                if refusal.code != "QueueFullError":
                    raise
                await asyncio.sleep(RETRY_SECONDS)
