"""/v1/jobs: long changes that go on after their request was answered, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.remote.cancellation import Cancellation
from sleuth.surfaces.http.answers import MISSING, json_response
from sleuth.surfaces.http.job_record import Job, RecordedJob
from sleuth.surfaces.http.job_runs import Order, Step
from sleuth.surfaces.http.problems import Refusal
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall

router = JsonRouter("jobs")

Steps: TypeAlias = Callable[[str, Cancellation], Sequence[Step]]
"""Makes the steps of a job, given its id and what cancels it."""

ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": Job,
        "description": "The job, for a request that does not wait; `location` is its address.",
        "headers": {"location": {"schema": {"type": "string"}, "description": "Address of the job."}},
    }
}
WAIT_PARAMETER: dict[str, Any] = {
    "parameters": [
        {
            "name": "wait",
            "in": "query",
            "required": False,
            "schema": {"type": "boolean", "default": True},
            "description": "Answer when all is committed; false answers 202 with a job at once, as the header "
            "`prefer: respond-async` does.",
        }
    ]
}


def is_asynchronous(request: Request) -> bool:
    """Return whether a client asks for a job instead of waiting.

    Raises:
        ArgumentError: `wait` is neither true nor false.
    """
    wait = request.query_params.get("wait", "true")
    if wait not in ("true", "false"):
        raise ArgumentError(f"wait must be true or false, got {wait!r}")
    preferences = ",".join(request.headers.getlist("prefer")).lower().split(",")
    return wait == "false" or "respond-async" in {each.partition(";")[0].strip() for each in preferences}


async def start_job(
    kind: Literal["add", "upload", "attach", "index"], steps: Steps, call: Call, **details: Any
) -> RecordedJob:
    """Start a job for the caller.

    Args:
        details: further fields of the `Order`.

    Raises:
        Refusal: a key that may not write, or as of `JobRunner.start`.
    """
    call.require("write")
    order = Order(kind=kind, key=call.key.name, steps=steps, refusal_of=call.refusal_of, **details)
    return await call.service.jobs.start(order)


def accepted(job: RecordedJob) -> Response:
    """Return the answer to a request that started a job."""
    response = json_response(job.shown(), 202)
    response.headers["location"] = f"/v1/jobs/{job.id}"
    response.headers["preference-applied"] = "respond-async"
    return response


class JobList(BaseModel):
    """Jobs of the key, newest first; of those that have ended, the last ones alone are remembered."""

    object: Literal["list"]
    data: list[Job]


@router.get("/v1/jobs", response_model=JobList)
async def list_jobs(call: CurrentCall, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """List the jobs of this key, newest first, without their ids and skipped files."""
    _require_any(call)
    jobs = call.service.jobs.record.of_key(call.key.name)

    def read() -> list[dict[str, object]]:
        return [job.shown(with_lists=False) for job, _ in zip(jobs, range(limit), strict=False)]

    return json_response({"object": "list", "data": await call.service.reads.run(read)})


@router.get("/v1/jobs/{id}", response_model=Job, responses=MISSING)
async def get_job(id: str, call: CurrentCall) -> Response:
    """Return a job: its progress, and what it did once it has ended."""
    _require_any(call)
    return json_response((await job_of(id, call)).shown())


@router.post("/v1/jobs/{id}/cancel", response_model=Job, responses=MISSING)
async def cancel_job(id: str, call: CurrentCall) -> Response:
    """End a job between two commits; what it has committed stays. One that has ended stays as it is."""
    call.require("write")
    await call.service.jobs.cancel(await job_of(id, call))
    return json_response((await job_of(id, call)).shown())


def _require_any(call: Call) -> None:
    """Refuse a key that may neither read nor write."""
    call.require("write" if "write" in call.key.scopes and not call.service.settings.read_only else "read")


async def job_of(id: str, call: Call) -> RecordedJob:
    """Return a job of the caller's key.

    Raises:
        Refusal: 404, for one that is unknown or of another key.
    """
    job = await call.service.reads.run(call.service.jobs.record.read, id)
    if job is None or job.key != call.key.name:
        raise Refusal(404, "UnknownJobError", f"id must be of a job of this key, got {id!r}")
    return job
