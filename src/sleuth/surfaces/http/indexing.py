"""POST /v1/index: folders that were indexed by name are brought up to date."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from sleuth.errors import ArgumentError
from sleuth.remote.cancellation import Cancellation, context_of
from sleuth.surfaces.http.answers import Strict, json_response
from sleuth.surfaces.http.documents import UploadResponse
from sleuth.surfaces.http.jobs import ACCEPTED, WAIT_PARAMETER, is_asynchronous, start_job
from sleuth.surfaces.http.problems import for_clients
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall

if TYPE_CHECKING:
    from sleuth.ingest import IndexReport
    from sleuth.ingest.reports import IndexProgress
    from sleuth.surfaces.http.job_runs import Tell

router = JsonRouter("documents")


class IndexRequest(Strict):
    """Which folders to read again."""

    roots: list[str] | None = Field(
        default=None,
        max_length=1000,
        description="Names of folders and files that `sleuth index` was given; all of them where it is left out.",
        examples=[["docs"]],
    )
    prune: bool = Field(default=False, description="Also delete documents whose file is gone.")


class IndexResponse(UploadResponse):
    """What indexing did; `ids` is empty."""

    read: int = Field(description="Files that were read, as they are new or have changed.", examples=[12])
    removed: int = Field(
        description="Documents that were deleted, as their file holds them no longer.", examples=[1]
    )


@router.post("/v1/index", response_model=IndexResponse, responses=ACCEPTED, openapi_extra=WAIT_PARAMETER)
async def index(body: IndexRequest, call: CurrentCall, request: Request) -> Response:
    """Read the folders of the index again, with the options that each was indexed with.

    Only what changed is read. Answers when it is committed, or with a job. A key with a filter has no access.
    """
    call.require_whole()
    paths = await call.write(_paths, body, call)
    if not is_asynchronous(request):
        report = await call.write(call.service.engine.index, paths, prune=body.prune, timeout=call.remaining)
        return json_response(_report(report, call))

    cancellation = Cancellation()  # seen by the reading of files, too
    step = partial(context_of(cancellation).run, partial(_index, paths, body.prune, call))
    return await start_job("index", [step], call, cancellation=cancellation)


def _index(paths: list[Path], prune: bool, call: Call, tell: Tell) -> dict[str, Any]:
    from sleuth.ingest.reports import IndexInterrupted

    def progress(report: IndexProgress) -> None:
        tell(report.files, report.total_files)

    late = call.of_job()
    try:
        report = call.service.engine.index(paths, prune=prune, progress=progress, timeout=late.remaining)
    except IndexInterrupted as interruption:
        report = interruption.report
    return _report(report, call)


def _report(report: IndexReport, call: Call) -> dict[str, Any]:
    skips = [{"name": each.path, "reason": for_clients(each.reason)} for each in report.skipped[:1000]]
    counts = {name: getattr(report, name) for name in ("added", "updated", "unchanged", "read", "version")}
    return {**counts, "ids": [], "removed": report.deleted + report.pruned, "skipped": skips}


def _paths(body: IndexRequest, call: Call) -> list[Path]:
    """Return the folders and files to read; only those that were indexed before, as others are not for clients.

    Raises:
        ArgumentError: another name; or nothing was indexed by name.
    """
    engine = call.service.engine
    names = [root.name for root in engine.roots() if not root.is_gone]
    if not names:
        raise ArgumentError(
            "the index must have folders to read again; `sleuth index PATH` on the server adds one"
        )
    for name in body.roots or ():
        if name not in names:
            raise ArgumentError(f"roots must be among {names}, got {name!r}")
    return [Path(engine.files.path_of(name)) for name in (body.roots or names)]
