"""What the fields of the HTTP API are called: a sentence and an example for each name that means the same everywhere.

A field that says more in its model keeps that. `Model.field` is for a name that means something else in one model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "added": ("How many documents are new.", 1),
    "after": ("The last id of the page before.", "limits.md"),
    "answer": ("What was answered.", "Every second."),
    "attributes": ("Metadata of the document: texts, numbers and booleans.", {"year": 2021}),
    "author": ("Who wrote the commit.", "Ann Lee"),
    "batch_id": ("Id of the batch.", "job_18b2c3d4e5f60718a1b2c3d4"),
    "body": ("The message below its first line.", "They were refilled too late."),
    "changes": ("New values of metadata keys; null removes a key.", {"year": 2022, "draft": None}),
    "choices": ("The answer, as the one choice.", [{"index": 0, "finish_reason": "stop"}]),
    "citations": ("Where the answer cites which source.", [{"number": 1, "begin": 13, "end": 16}]),
    "code": ("Names the reason, for programs.", "FilterError"),
    "commits": ("Commits that touched it, the newest first.", []),
    "comparison_operator": ("How the value is compared.", "is"),
    "conditions": ("Conditions on metadata.", []),
    "content": ("The text.", "Tokens are refilled every second."),
    "created": ("When it was made, in seconds since 1970.", 1767225600),
    "created_at": ("When it was made, in seconds since 1970.", 1767225600),
    "cursor": ("`next_cursor` of the page before.", "bGltaXRzLm1k"),
    "data": ("The entries.", []),
    "date": ("When it was committed.", "2026-01-01T12:00:00+00:00"),
    "definitions": ("Where the name is defined.", []),
    "degraded": ("Whether a part of the search did not answer, so that passages may be missing.", False),
    "deleted": ("That it is deleted.", True),
    "detail": ("What is wrong, and what mends it.", "k must be an int of 0 or more, got -1"),
    "document": ("The text of the document.", {"text": "Tokens are refilled every second."}),
    "documents": ("The documents.", ["Tokens are refilled every second."]),
    "embedding": ("The vector, or its bytes in base64.", [0.1, -0.2]),
    "encoding_format": ("How vectors are written: float or base64.", "float"),
    "end_line": ("The last line.", 40),
    "error": ("Why it failed; empty if it did not.", ""),
    "error_code": ("Number of the error, as Dify names it.", 1001),
    "error_msg": ("What is wrong.", "Invalid Authorization header format."),
    "errors": ("Each place of the request that breaks the schema, and its rule.", []),
    "explanation": ("How the score comes about.", {"name": "lexical", "value": 1.2}),
    "facets": ("Values by key.", {"year": [{"value": 2021, "documents": 2}]}),
    "file_counts": ("How many documents there are, by state.", {"completed": 3, "total": 3}),
    "file_id": ("Id of the document.", "limits.md"),
    "filename": ("Name of the document.", "limits.md"),
    "filter": ("Only documents that match.", "year>=2020"),
    "filters": ("Only passages that match.", {"type": "eq", "key": "tenant", "value": "acme"}),
    "first_id": ("Id of the first entry of the page.", "bucket.md"),
    "grade": ("How well the answer fits: likely answers, may help or nothing close.", "likely answers"),
    "has_more": ("Whether another page follows.", False),
    "hits": ("What was found, the best first.", []),
    "id": ("Names it.", "limits.md"),
    "ids": ("Ids of documents.", ["limits.md"]),
    "include": ("Parts to add to the answer.", ["file_search_call.results"]),
    "index": ("Its place in the request, from 0.", 0),
    "input": ("The question, or a conversation.", "How often are tokens refilled?"),
    "items": ("Passages, the best first.", []),
    "key": ("A metadata key.", "year"),
    "keys": ("Metadata keys; a dot steps into an object.", ["year"]),
    "kind": ("What kind it is of.", "word"),
    "knowledge_id": ("Name of the index folder.", "sleuth"),
    "last_id": ("Id of the last entry of the page.", "limits.md"),
    "legs": ("What searches, with counts.", {"lexical": {"passages": 3}}),
    "limit": ("Entries at most.", 20),
    "logical_operator": ("Whether all conditions hold, or one.", "and"),
    "map": ("The most central definitions, as text.", "src/app.py\n  class TokenBucket"),
    "max_num_results": ("Passages at most.", 10),
    "message": ("The same as `detail`, for clients that look here.", "k must be an int of 0 or more, got -1"),
    "messages": ("The conversation; the last message is the question.", [{"role": "user", "content": "How often?"}]),
    "metadata": ("Metadata of the document.", {"source": "limits.md", "year": 2021}),
    "metadata_condition": ("Only passages whose metadata fulfils it.", None),
    "model": ("Name of the model.", "sleuth"),
    "name": ("Its name.", "limits.md"),
    "names": ("How many names it defines.", 120),
    "near": ("Names that are like it, where it is unknown.", ["TokenBucket"]),
    "next_cursor": ("`cursor` of the next page; null on the last one.", None),
    "next_page": ("Of the next page; null, as one page holds all.", None),
    "notes": ("Sentences for the author of the query.", []),
    "object": ("Kind of the object.", "list"),
    "output": ("The search and the answer.", []),
    "owned_by": ("Who owns the model.", "sleuth"),
    "parallel_tool_calls": ("Always false: there is one tool.", False),
    "parts": ("What each leg or source did; one that failed leaves the answer degraded.", []),
    "passages": ("How many passages it has.", 3),
    "path": ("The path.", "src/app.py"),
    "prompt_tokens": ("Tokens that were read; 0 if nobody counts them.", 0),
    "query": ("The question, or words.", "how often are tokens refilled"),
    "question": ("What was asked.", "What are tokens?"),
    "ranker": ("There is one ranker.", "auto"),
    "ranking_options": ("How hits are cut.", {"score_threshold": 0.2}),
    "read_only": ("Whether changes are refused.", False),
    "reason": ("Why it was skipped.", "it holds no text"),
    "records": ("Passages, the best first.", []),
    "references": ("Uses of the name that are certain.", []),
    "relevance_score": ("How well it fits, from 0 to 1.", 0.8),
    "repositories": ("The repositories.", []),
    "repository": ("Id of the repository.", "3f2a"),
    "request_id": ("Id under which the log has the request.", "b7c1"),
    "response": ("The answer; its citations are numbers in brackets.", "Every second [1]."),
    "results": ("Documents, the best first.", []),
    "return_documents": ("Whether results hold the documents.", False),
    "role": ("Who speaks: user or assistant.", "user"),
    "score": ("Higher is better; null where a source has none.", 1.2),
    "score_threshold": ("Leave out hits with a lower score, from 0 to 1.", 0.2),
    "search_query": ("What was searched.", ["how often are tokens refilled"]),
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
    "tool_choice": ("Always auto.", "auto"),
    "tools": ("The tool that searches, with its stores.", [{"type": "file_search", "vector_store_ids": ["sleuth"]}]),
    "top_k": ("Passages at most.", 5),
    "top_n": ("Results at most.", 3),
    "total_tokens": ("The same as `prompt_tokens`.", 0),
    "type": ("Kind of the value.", "text"),
    "unchanged": ("How many documents were there already, as they are.", 0),
    "uncertain": ("Uses that may be of another definition.", []),
    "unknown_citations": ("Numbers that the answer cites and no source has.", []),
    "unsupported": ("Sentences of the answer that no source supports.", []),
    "updated": ("How many documents took the place of older ones.", 0),
    "url": ("Address of its origin; null without one.", None),
    "usage": ("Tokens that were read and written.", {"prompt_tokens": 9, "total_tokens": 9}),
    "usage_bytes": ("Its size in bytes.", 2048),
    "used_source_ids": ("Ids of the passages that the answer cites.", ["limits.md#0"]),
    "value": ("A value.", 2021),
    "vector_store_id": ("The index folder without a leading dot; or a scoped name in it, after a colon.", "sleuth"),
    "vector_store_ids": ("Vector stores: the index, or scoped names in it.", ["sleuth"]),
    "version": ("Number of the version.", 3),
    "CompoundFilter.type": ("Whether all filters hold, or one.", "and"),
    "ComparisonFilter.type": ("How the value is compared.", "eq"),
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


def described(document: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI document in which each field and each parameter has a sentence and an example."""
    for model, name, schema in _fields(document):
        sentence, example = FIELDS.get(f"{model}.{name}") or FIELDS.get(name) or ("", None)
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
