"""/v1/code: search, definitions and references in the indexed repositories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from sleuth.arguments import MOST_NAME
from sleuth.code.search.request import CodeRequest
from sleuth.errors import ArgumentError
from sleuth.surfaces.http.answers import MISSING, Remarks, json_response, remarks_of
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.code import Snapshot

router = JsonRouter("code")

NameParam = Annotated[
    str,
    Query(
        description="A name, or a dotted name such as Class.method.",
        # `check_name` refuses others, as at every door.
        json_schema_extra={"minLength": 1, "maxLength": MOST_NAME},
    ),
]
RepositoryParam = Annotated[
    str | None,
    Query(max_length=4096, description="Id, path or URL; may be left out where all others are inside one."),
]
AtParam = Annotated[
    str | None,
    Query(max_length=1000, description="Commit, branch, tag or content id; the newest snapshot without."),
]


def _snapshot(call: Call, repository: str | None, at: str | None) -> Snapshot:
    """Return a snapshot of a repository that the server offers the caller."""
    from sleuth.code.snapshots.lookup import outermost

    service, storage = call.service, call.code
    if repository is None:
        repositories = outermost(call.repositories())
        if len(repositories) != 1:
            paths = ", ".join(entry.path for entry in repositories) or "none"
            raise ArgumentError(f"repository must name one of {paths}")
        record = repositories[0]
    else:
        record = storage.repository(repository)
        if not service.offers_repository(record):
            raise ArgumentError(f"repository must be one that this server offers, got {repository!r}")
    return storage.open_snapshot(record, storage.snapshot(record, at))


async def _at_snapshot(
    call: Call, repository: str | None, at: str | None, read: Callable[[Snapshot], dict[str, Any]]
) -> Response:
    """Return what `read` returns for a snapshot, with the snapshot's names."""

    def work() -> dict[str, Any]:
        snapshot = _snapshot(call, repository, at)
        stale = call.freshness.check().to_dict() if at is None else None
        names = {"repository": snapshot.repository.path, "snapshot": snapshot.info.id, "stale": stale}
        return {**names, **read(snapshot)}

    return json_response(await call.read(work))


class StaleFiles(BaseModel):
    """What differs between the worktrees that the server offers and their newest snapshots."""

    files: int | None = Field(description="How many; null where they were not compared yet.")
    paths: list[str] = Field(default_factory=list, description="The first few of them.")
    error: str = Field(default="", description="Why they could not be compared.")


class AtSnapshot(BaseModel):
    """An answer about one snapshot of a repository."""

    repository: str
    snapshot: str
    stale: StaleFiles | None = Field(description="As of some seconds ago; null with `at`.")


class CodeSearchResponse(AtSnapshot, Remarks):
    """Pieces of code, best first."""

    hits: list[dict[str, Any]]


@router.post("/v1/code/search", response_model=CodeSearchResponse, responses=MISSING)
async def search(body: CodeRequest, call: CurrentCall) -> Response:
    """Find the code that answers a question."""

    def read(snapshot: Snapshot) -> dict[str, Any]:
        from sleuth.code import CodeRetriever
        from sleuth.engine.codebase import embedder_for

        retriever = CodeRetriever(call.code, embedder_for(body))
        hits = retriever.run(body, snapshot.repository.id, snapshot.info.id)
        call.service.metrics.observe_parts(hits.parts)
        parts = call.shown(Ranking((), hits.parts))
        return {"hits": [hit.to_dict() for hit in hits], **remarks_of(parts)}

    return await _at_snapshot(call, body.repository, body.at, read)


class NamesResponse(AtSnapshot):
    """What is known of a name: `definitions`, or `references`.

    Uses that may mean something else are `uncertain`. Where there are no uses, `near` has names that are like it.
    """

    name: str
    definitions: list[dict[str, Any]]
    references: list[dict[str, Any]] | None = None
    uncertain: list[dict[str, Any]] | None = None
    near: list[str]


@router.get("/v1/code/definitions", response_model=NamesResponse, responses=MISSING)
async def definitions(
    call: CurrentCall, name: NameParam, repository: RepositoryParam = None, at: AtParam = None
) -> Response:
    """Return where a name is defined."""
    return await _at_snapshot(call, repository, at, partial(_names, name, uses=False))


@router.get("/v1/code/references", response_model=NamesResponse, responses=MISSING)
async def references(
    call: CurrentCall, name: NameParam, repository: RepositoryParam = None, at: AtParam = None
) -> Response:
    """Return where a name is defined, and every use of it."""
    return await _at_snapshot(call, repository, at, partial(_names, name, uses=True))


def _names(name: str, snapshot: Snapshot, *, uses: bool) -> dict[str, Any]:
    from sleuth.code import Navigator

    navigator = Navigator(snapshot)
    definitions = navigator.find_definition(name)
    facts: dict[str, Any] = {"name": name, "definitions": definitions}
    references = navigator.find_references(name) if uses else []
    if uses:
        facts["references"] = [use for use in references if use["certain"]]
        facts["uncertain"] = [use for use in references if not use["certain"]]
    return {**facts, "near": [] if definitions or references else navigator.near(name)}


class RepositoryEntry(BaseModel):
    """A repository, and its newest snapshot."""

    id: str
    path: str
    url: str
    snapshot: str | None
    names: list[str]


class RepositoriesResponse(BaseModel):
    """The repositories that the server offers."""

    repositories: list[RepositoryEntry]


@router.get("/v1/code/repositories", response_model=RepositoriesResponse, responses=MISSING)
async def repositories(call: CurrentCall) -> Response:
    """List the repositories."""

    def work() -> list[dict[str, Any]]:
        entries = []
        for repository in call.repositories():
            completed = [s for s in call.code.snapshots(repository.id) if s.status == "completed"]
            newest = completed[0] if completed else None
            entry = {"id": repository.id, "path": repository.path, "url": repository.url}
            names = list(newest.names) if newest else []
            entries.append({**entry, "snapshot": newest.id if newest else None, "names": names})
        return entries

    return json_response({"repositories": await call.read(work)})
