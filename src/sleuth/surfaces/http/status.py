"""Health, counts and status: /livez, /readyz, /metrics, /v1/status."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from sleuth.errors import SleuthError
from sleuth.surfaces.http.answers import PROBLEMS, Refusal, json_response, logger
from sleuth.surfaces.http.metrics import CONTENT_TYPE
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import CurrentCall

router = JsonRouter("status", {})

PUBLIC = frozenset({"/livez", "/readyz"})
"""They tell nothing of the index, so that a load balancer needs no key."""


class Health(BaseModel):
    """A server that answers."""

    status: str


class StatusResponse(BaseModel):
    """The index and the server at a glance."""

    documents: int
    passages: int
    version: int
    settings: dict[str, Any]
    legs: dict[str, dict[str, Any]]
    sources: list[str]
    read_only: bool
    server: str


@router.head("/livez", include_in_schema=False)
@router.get("/livez", response_model=Health)
async def livez() -> Response:
    """Answer that the process is alive."""
    return json_response({"status": "ok"})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Health, responses={503: PROBLEMS[503]})
async def readyz(call: CurrentCall) -> Response:
    """Searches are answered at full speed: what they need is loaded, keys are read, and the newest version answers."""
    if not call.service.is_warm:
        raise Refusal(503, "WarmingError", "the server loads what requests need")
    if call.service.keys is not None and call.service.keys.problem:
        raise Refusal(503, "KeysError", "no key is valid; the log says why")
    try:
        engine = call.service.engine  # one leg asks all shards, and no model or service
        legs = [min(engine.legs, key=lambda leg: leg != "lexical")]
        await call.service.reads.run(engine.unhooked.retrieve, "ready", 1, legs=legs)
    except SleuthError as error:
        logger.warning("%s", error, extra={"fields": {"message": str(error), "request_id": call.id}})
        raise Refusal(503, type(error).__name__, "the index does not answer; the log says why") from error
    return json_response({"status": "ok"})


@router.get("/metrics", response_class=Response, responses=PROBLEMS)
async def metrics(call: CurrentCall) -> Response:
    """Counts and times, as Prometheus reads them. A key with the scope `metrics` reads them and nothing else.

    A key with a filter has no access, since they are of all clients.
    """
    if "metrics" not in call.key.scopes:
        call.require_whole()
    service = call.service
    for lane in (service.reads, service.writes, service.answers):
        service.metrics.waiting.labels(lane.name).set(lane.waiting)
        service.metrics.running.labels(lane.name).set(lane.running)
    service.metrics.cache_bytes.set(service.cache.size)
    service.metrics.version.set(await service.reads.run(service.engine.refresh))
    return Response(service.metrics.render(), media_type=CONTENT_TYPE)


@router.get("/v1/status", response_model=StatusResponse, responses=PROBLEMS)
def status(call: CurrentCall) -> dict[str, Any]:
    """Return what the index holds. A key with a filter has no access, since the counts are of all documents."""
    call.require_whole()
    import sleuth

    service = call.service
    values = service.engine.status()
    return {
        **{name: values[name] for name in ("documents", "passages", "version", "settings", "legs")},
        "sources": list(service.settings.sources),
        "read_only": service.settings.read_only,
        "server": f"sleuth {sleuth.__version__}",
    }
