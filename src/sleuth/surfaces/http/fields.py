"""What the fields of the HTTP API are called: a sentence and an example for each name that means the same everywhere.

A field that says more in its model keeps that. `Model.field` is for a name that means something else in one model.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "added": ("How many documents are new.", 1),
    "answer": ("What was answered.", "Every second."),
    "author": ("Who wrote the commit.", "Ann Lee"),
    "body": ("The message below its first line.", "They were refilled too late."),
    "changes": ("New values of metadata keys; null removes a key.", {"year": 2022, "draft": None}),
    "citations": ("Where the answer cites which source.", [{"number": 1, "begin": 13, "end": 16}]),
    "code": ("Names the reason, for programs.", "FilterError"),
    "commits": ("Commits that touched it, the newest first.", []),
    "created_at": ("When it was made, in seconds since 1970.", 1767225600),
    "cursor": ("`next_cursor` of the page before.", "bGltaXRzLm1k"),
    "data": ("The entries.", []),
    "date": ("When it was committed.", "2026-01-01T12:00:00+00:00"),
    "definitions": ("Where the name is defined.", []),
    "degraded": ("Whether a part of the search did not answer, so that passages may be missing.", False),
    "detail": ("What is wrong, and what mends it.", "k must be an int of 0 or more, got -1"),
    "documents": ("The documents.", ["Tokens are refilled every second."]),
    "end_line": ("The last line.", 40),
    "error": ("Why it failed; empty if it did not.", ""),
    "errors": ("Each place of the request that breaks the schema, and its rule.", []),
    "explanation": ("How the score comes about.", {"name": "lexical", "value": 1.2}),
    "facets": ("Values by key.", {"year": [{"value": 2021, "documents": 2}]}),
    "filter": ("Only documents that match.", "year>=2020"),
    "grade": ("How well the answer fits: likely answers, may help or nothing close.", "likely answers"),
    "hits": ("What was found, the best first.", []),
    "id": ("Names it.", "limits.md"),
    "ids": ("Ids of documents.", ["limits.md"]),
    "items": ("Passages, the best first.", []),
    "keys": ("Metadata keys; a dot steps into an object.", ["year"]),
    "kind": ("What kind it is of.", "word"),
    "legs": ("What searches, with counts.", {"lexical": {"passages": 3}}),
    "limit": ("Entries at most.", 20),
    "map": ("The most central definitions, as text.", "src/app.py\n  class TokenBucket"),
    "message": ("The same as `detail`, for clients that look here.", "k must be an int of 0 or more, got -1"),
    "metadata": ("Metadata of the document.", {"source": "limits.md", "year": 2021}),
    "name": ("Its name.", "limits.md"),
    "names": ("How many names it defines.", 120),
    "near": ("Names that are like it, where it is unknown.", ["TokenBucket"]),
    "next_cursor": ("`cursor` of the next page; null on the last one.", None),
    "notes": ("Sentences for the author of the query.", []),
    "object": ("Kind of the object.", "list"),
    "parts": ("What each leg or source did; one that failed leaves the answer degraded.", []),
    "passages": ("How many passages it has.", 3),
    "path": ("The path.", "src/app.py"),
    "query": ("The question, or words.", "how often are tokens refilled"),
    "question": ("What was asked.", "What are tokens?"),
    "read_only": ("Whether changes are refused.", False),
    "reason": ("Why it was skipped.", "it holds no text"),
    "references": ("Uses of the name that are certain.", []),
    "repositories": ("The repositories.", []),
    "repository": ("Id of the repository.", "3f2a"),
    "request_id": ("Id under which the log has the request.", "b7c1"),
    "response": ("The answer; its citations are numbers in brackets.", "Every second [1]."),
    "score": ("Higher is better; null where a source has none.", 1.2),
    "seconds": ("Wall time.", 0.01),
    "server": ("Version of the server.", "0.1.0"),
    "settings": ("What the index was made with.", {"analyzer": "english"}),
    "skipped": ("Files that could not be read.", []),
    "snapshot": ("Id of the snapshot of the code.", "9d1c"),
    "snippet": ("The window that shows why the passage matches.", {"text": "Tokens are refilled", "spans": [[0, 6]]}),
    "source": ("Where it comes from.", "limits.md"),
    "sources": ("Sources, by number or name.", ["docs"]),
    "spans": ("Begin and end of each match in the text.", [[0, 6]]),
    "standalone_query": ("What was searched for a question that follows others; null for the question itself.", None),
    "start_line": ("The first line.", 10),
    "status": ("How it went.", "ok"),
    "subject": ("The first line of the message.", "Refill tokens in time"),
    "suggestions": ("Completions, the best first.", [{"text": "token bucket", "kind": "word"}]),
    "synthesizer": ("What wrote the answer.", "extractive"),
    "text": ("The text.", "Tokens are refilled every second."),
    "title": ("The title.", "Limits"),
    "unchanged": ("How many documents were there already, as they are.", 0),
    "uncertain": ("Uses that may be of another definition.", []),
    "unknown_citations": ("Numbers that the answer cites and no source has.", []),
    "unsupported": ("Sentences of the answer that no source supports.", []),
    "updated": ("How many documents took the place of older ones.", 0),
    "url": ("Address of its origin; null without one.", None),
    "used_source_ids": ("Ids of the passages that the answer cites.", ["limits.md#0"]),
    "value": ("A value.", 2021),
    "version": ("Number of the version.", 3),
    "CountResponse.documents": ("Documents with a passage that matches.", 2),
    "CountResponse.passages": ("Passages that match.", 5),
    "FacetValue.documents": ("How many documents have it.", 2),
    "LegReport.hits": ("Candidates that it returned.", 10),
    "LegReport.name": ("Name of the leg or source.", "lexical"),
    "ListResponse.documents": ("Documents in order of id.", []),
    "ProblemDocument.title": ("What the status means.", "Unprocessable content"),
    "ProblemDocument.type": ("Names the reason, as a URN.", "urn:sleuth:error:FilterError"),
    "ProblemDocument.status": ("Status of the response.", 422),
    "StatusResponse.documents": ("How many documents there are.", 3),
}  # fmt: skip


def described(
    document: dict[str, Any], others: Iterable[Mapping[str, tuple[str, Any]]] = ()
) -> dict[str, Any]:
    """Return an OpenAPI document in which each field and each parameter has a sentence and an example.

    Args:
        others: tables beside `FIELDS`, which comes first.
    """
    table = ChainMap(dict(FIELDS), *map(dict, others))
    for model, name, schema in _fields(document):
        sentence, example = table.get(f"{model}.{name}") or table.get(name) or ("", None)
        if "$ref" not in schema:
            schema.setdefault("description", sentence)
            if not {"examples", "example", "const"} & schema.keys():
                schema["examples"] = [schema.get("default", example)]
    return document


def _fields(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for model, schema in document["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            yield model, name, field
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                field = parameter.get("schema", {})
                if "description" in parameter:
                    field.setdefault("description", parameter["description"])
                yield "", parameter["name"], field
                parameter.setdefault("description", field.get("description", ""))
