"""The index as an external knowledge base of Dify (POST /retrieval), and as the web search of Open WebUI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import Field
from starlette.responses import Response

from sleuth.arguments import MOST_QUERY
from sleuth.engine import SearchRequest
from sleuth.errors import ArgumentError
from sleuth.filters import Compare, Filter, Not, Operator, any_of
from sleuth.filters import all_of as every
from sleuth.plugins.vendors.vector_stores import scored_page
from sleuth.surfaces.http import (
    Call,
    CurrentCall,
    JsonRouter,
    Refusal,
    Strict,
    json_response,
    passage_url,
    retrieve,
)
from sleuth.types import RetrievedItem

MOST_VALUES = 10_000
"""Values of a key that `end with` looks through."""

_CODES = {"KeyMissingError": 1001, "KeyUnknownError": 1002, "UnknownKnowledgeError": 2001}


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": "An error as Dify reads it: `error_code` and `error_msg`."}
    for status in (400, 403, 408, 413, 422, 429, 500, 502, 503, 504)
}


def error(refusal: Refusal, _: str) -> Response:
    """Return an error in Dify's form, with 403 for every problem of keys and names of knowledge bases."""
    code = _CODES.get(refusal.code)
    status = refusal.status_code if code is None else 403
    response = json_response(
        {"error_code": code or refusal.status_code, "error_msg": str(refusal.detail)}, status
    )
    response.headers.update(refusal.headers or {})
    return response


router, webui_router = JsonRouter("Dify", {}, dialect=error), JsonRouter("Open WebUI")


class RetrievalSetting(Strict):
    """How many records, and from which score on."""

    top_k: int = Field(ge=1, le=1000)
    score_threshold: float = Field(default=0.0, ge=0, le=1)


Comparison = Literal[
    "contains", "not contains", "start with", "end with", "is", "is not", "in", "not in", "empty", "not empty",
    "=", "≠", "!=", ">", "<", "≥", ">=", "≤", "<=", "before", "after",
]  # fmt: skip


class Condition(Strict):
    """A condition on a metadata key; older versions of Dify send a list of keys, of which any may hold."""

    name: str | Annotated[list[str], Field(min_length=1, max_length=100)]
    comparison_operator: Comparison
    value: str | int | float | bool | list[str | int | float] | None = None


class MetadataCondition(Strict):
    """Conditions, of which all or any must hold."""

    logical_operator: Literal["and", "or"] = "and"
    conditions: list[Condition] | None = Field(default=None, max_length=1000)


class RetrievalRequest(Strict):
    """What Dify asks."""

    knowledge_id: str
    query: str = Field(max_length=MOST_QUERY)
    retrieval_setting: RetrievalSetting
    metadata_condition: MetadataCondition | None = None


@router.post("/retrieval", responses=_ERRORS)
def retrieval(body: RetrievalRequest, call: CurrentCall) -> dict[str, Any]:
    """Search the index as an external knowledge base; it has the name of its folder."""
    if body.knowledge_id != call.service.name:
        raise Refusal(404, "UnknownKnowledgeError", f"the knowledge base must be {call.service.name!r}")
    setting = body.retrieval_setting
    tree = _filter(body.metadata_condition, call)
    page = scored_page(body.query, setting.top_k, tree, call, least=setting.score_threshold)
    records = [
        {"content": item.text, "score": score, "title": _title(item), "metadata": item.metadata}
        for item, score in page.hits
    ]
    return {"records": records, **page.remarks}


def _title(item: RetrievedItem) -> str:
    return str(item.metadata.get("title") or item.metadata.get("source") or item.id)


def _filter(condition: MetadataCondition | None, call: Call) -> Filter | None:
    """Dify's conditions as a filter; None without any."""
    if condition is None or not condition.conditions:
        return None
    parts = []
    for entry in condition.conditions:
        names = [entry.name] if isinstance(entry.name, str) else entry.name
        parts.append(any_of(*(_comparison(name, entry, call) for name in names)))
    return every(*parts) if condition.logical_operator == "and" else any_of(*parts)


_ORDERS: dict[str, Operator] = {
    ">": "gt", "<": "lt", "≥": "gte", ">=": "gte", "≤": "lte", "<=": "lte", "after": "gt", "before": "lt"
}  # fmt: skip

_OPPOSITES: dict[str, Comparison] = {
    "is not": "is", "≠": "=", "!=": "=", "not contains": "contains", "not in": "in", "not empty": "empty"
}  # fmt: skip


def _comparison(name: str, condition: Condition, call: Call) -> Filter:
    """Return one comparison as a filter.

    Raises:
        ArgumentError: a value that the operator cannot compare with.
        FilterError: a key or value that no filter can have.
    """
    operator, value = condition.comparison_operator, condition.value
    if positive := _OPPOSITES.get(operator):
        return Not(_comparison(name, condition.model_copy(update={"comparison_operator": positive}), call))
    if operator == "empty":
        return any_of(Compare(name, "exists", False), Compare(name, "eq", ""))
    if operator == "in":
        parts = value if isinstance(value, list) else str(value or "").split(",")
        forms = [form for part in parts for form in _forms(part.strip() if isinstance(part, str) else part)]
        return Compare(name, "in", tuple(forms))
    if value is None or isinstance(value, list):
        raise ArgumentError(f"value must be one value for {operator!r}, got {value!r}")
    return _with_one_value(name, operator, value, call)


def _with_one_value(name: str, operator: Comparison, value: str | int | float | bool, call: Call) -> Filter:
    text = str(value)
    if operator in _ORDERS:
        return Compare(name, _ORDERS[operator], _forms(value)[-1])
    if operator == "contains":
        return any_of(Compare(name, "substring", text), Compare(name, "contains", text))
    if operator == "start with":
        return Compare(name, "prefix", text)
    if operator == "end with":
        facets = call.engine.facets([name], limit=MOST_VALUES)[name]  # filters have no such operator
        if len(facets) == MOST_VALUES:
            raise ArgumentError(
                f"'end with' must be of a key with fewer than {MOST_VALUES:,} values, got {name!r}"
            )
        values = [item.value for item in facets if isinstance(item.value, str) and item.value.endswith(text)]
        return Compare(name, "in", tuple(values or ("\ufdd0",)))  # a sign that no text has
    return Compare(name, "in", tuple(_forms(value)))  # "is" and "="


def _forms(value: Any) -> list[Any]:
    """Return the values that a value of Dify's may mean, since it sends numbers as text."""
    if isinstance(value, str):
        for number_type in (int, float):
            try:
                return [value, number_type(value)]
            except ValueError:
                continue
    return [value]


class WebSearchRequest(Strict):
    """What Open WebUI asks."""

    query: str = Field(max_length=MOST_QUERY)
    count: int = Field(default=10, ge=1, le=100, description="Passages at most.", examples=[3])


@webui_router.post("/v1/web_search")
async def web_search(body: WebSearchRequest, request: Request, call: CurrentCall) -> Response:
    """Search the index as an external web search engine; the best passages come first."""
    search, base = SearchRequest(query=body.query, k=body.count), str(request.base_url)
    hits = [
        {
            "link": passage_url(base, item.id, item.metadata),
            "title": _title(item),
            "snippet": item.text,
        }
        for item in await call.read(retrieve, search, call, body.count)
    ]
    return json_response(hits)
