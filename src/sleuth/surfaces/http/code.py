"""/v1/code: search, definitions and references in the indexed repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from sleuth.arguments import MOST_NAME
from sleuth.code.search.request import CodeRequest
from sleuth.engine.freshness import Stale
from sleuth.errors import ArgumentError
from sleuth.surfaces.http.answers import MISSING, Remarks, remarks_of
from sleuth.surfaces.http.routes import JsonRouter
from sleuth.surfaces.http.service import Call, CurrentCall, is_named
from sleuth.types import Ranking
from sleuth.types.explanations import HIDDEN_ERROR

if TYPE_CHECKING:
    from sleuth.code import Navigator, Snapshot

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

    storage = call.code
    if repository is None:
        repositories = outermost(call.repositories())
        if len(repositories) != 1:
            paths = ", ".join(entry.path for entry in repositories) or "none"
            raise ArgumentError(f"repository must name one of {paths}")
        record = repositories[0]
    else:
        record = storage.repository(repository)
        if not is_named(record, call.service.settings.sources):
            raise ArgumentError(f"repository must be one that this server offers, got {repository!r}")
    return storage.open_snapshot(record, storage.snapshot(record, at))


def _names_of(snapshot: Snapshot, call: Call, at: str | None) -> dict[str, Any]:
    """Return the fields of `AtSnapshot`."""
    stale = call.freshness.check().to_dict() if at is None else None
    if stale and "error" in stale and call.key.filter is not None:
        stale["error"] = HIDDEN_ERROR  # it names folders of the server
    return {"repository": snapshot.repository.path, "snapshot": snapshot.info.id, "stale": stale}


class AtSnapshot(BaseModel):
    """An answer about one snapshot of a repository."""

    repository: str
    snapshot: str
    stale: Stale | None = Field(
        description="Of the worktrees that are offered, as of some seconds ago; null with `at`."
    )


class CodeSearchResponse(AtSnapshot, Remarks):
    """Pieces of code, best first."""

    hits: list[dict[str, Any]]


@router.post("/v1/code/search", response_model=CodeSearchResponse, responses=MISSING)
def search(body: CodeRequest, call: CurrentCall) -> dict[str, Any]:
    """Find the code that answers a question."""
    from sleuth.code import CodeRetriever
    from sleuth.engine.codebase import embedder_for

    snapshot = _snapshot(call, body.repository, body.at)
    names = _names_of(snapshot, call, body.at)
    hits = CodeRetriever(call.code, embedder_for(body)).run(body, snapshot.repository.id, snapshot.info.id)
    call.service.metrics.observe_parts(hits.parts)
    remarks = remarks_of(call.shown(Ranking((), hits.parts)))
    return {**names, "hits": [hit.to_dict() for hit in hits], **remarks}


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
def definitions(
    call: CurrentCall, name: NameParam, repository: RepositoryParam = None, at: AtParam = None
) -> dict[str, Any]:
    """Return where a name is defined."""
    _, facts = _definitions(call, name, repository, at)
    return facts


@router.get("/v1/code/references", response_model=NamesResponse, responses=MISSING)
def references(
    call: CurrentCall, name: NameParam, repository: RepositoryParam = None, at: AtParam = None
) -> dict[str, Any]:
    """Return where a name is defined, and every use of it."""
    navigator, facts = _definitions(call, name, repository, at)
    uses = navigator.find_references(name)
    certain = [use for use in uses if use["certain"]]
    uncertain = [use for use in uses if not use["certain"]]
    return {**facts, "references": certain, "uncertain": uncertain, "near": [] if uses else facts["near"]}


def _definitions(
    call: Call, name: str, repository: str | None, at: str | None
) -> tuple[Navigator, dict[str, Any]]:
    """Return the definitions of a name as fields of `NamesResponse`, and what finds its uses."""
    from sleuth.code import Navigator

    snapshot = _snapshot(call, repository, at)
    navigator = Navigator(snapshot)
    definitions = navigator.find_definition(name)
    spellings = [] if definitions else navigator.near(name)
    names = _names_of(snapshot, call, at)
    return navigator, {**names, "name": name, "definitions": definitions, "near": spellings}


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
def repositories(call: CurrentCall) -> dict[str, Any]:
    """List the repositories."""
    entries = []
    from sleuth.code.snapshots.lookup import newest_completed

    for repository in call.repositories():
        newest = newest_completed(call.code.snapshots(repository.id))
        names = {"snapshot": newest and newest.id, "names": newest.names if newest else ()}
        entries.append({"id": repository.id, "path": repository.path, "url": repository.url, **names})
    return {"repositories": entries}
