"""/v1/jobs: long changes that go on after their request was answered, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from fastapi import Request
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.surfaces.http.answers import MISSING, Refusal, json_response
from sleuth.surfaces.http.job_runs import Job, RecordedJob, Step
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall

router = JsonRouter("jobs")

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
            "description": "Answer when all is committed; false answers 202 with a job at once.",
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
    return wait == "false"


async def start_job(
    kind: Literal["add", "upload"],
    steps: Sequence[Step],
    total: int,
    call: Call,
    finish: Callable[[], object] = lambda: None,
) -> Response:
    """Start a job for the caller, and answer with it.

    Args:
        total: documents or files of all steps.
        finish: runs when it has ended.

    Raises:
        Refusal: a key that may not write, or as of `JobRunner.start`.
    """
    call.require("write")
    job = RecordedJob.new(kind, total, call.key.name)
    await call.service.jobs.start(job, steps, call.refusal_of, finish)
    response = json_response(job.shown(), 202)
    response.headers["location"] = f"/v1/jobs/{job.id}"
    return response


@router.get("/v1/jobs/{id}", response_model=Job, responses=MISSING)
async def get_job(id: str, call: CurrentCall) -> Response:
    """Return a job: its progress, and what it did once it has ended."""
    call.require("write" if "write" in call.key.scopes and not call.service.settings.read_only else "read")
    return json_response((await job_of(id, call)).shown())


@router.post("/v1/jobs/{id}/cancel", response_model=Job, responses=MISSING)
async def cancel_job(id: str, call: CurrentCall) -> Response:
    """End a job between two commits; what it has committed stays. One that has ended stays as it is."""
    call.require("write")
    await call.service.jobs.cancel(await job_of(id, call))
    return json_response((await job_of(id, call)).shown())


async def job_of(id: str, call: Call) -> RecordedJob:
    """Return a job of the caller's key.

    Raises:
        Refusal: 404, for one that is unknown or of another key.
    """
    job = await call.service.reads.run(call.service.jobs.read, id)
    if job is None or job.key != call.key.name:
        raise Refusal(404, "UnknownJobError", f"id must be of a job of this key, got {id!r}")
    return job
