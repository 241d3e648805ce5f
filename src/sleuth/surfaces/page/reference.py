"""The reference of the HTTP API, made from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from sleuth.surfaces.page.markdown import parse, to_html

_METHODS: Final = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class ApiField:
    """A parameter of an operation, or a field of a body."""

    name: str
    type: str
    description: Markup
    is_required: bool
    example: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path.

    Attributes:
        request, response: fields of the JSON bodies; empty without a body, or if it is no object.
        statuses: of answers other than the usual one, with what they mean.
    """

    method: str
    path: str
    summary: str
    description: Markup
    parameters: list[ApiField]
    request: list[ApiField]
    response: list[ApiField]
    statuses: list[tuple[str, Markup]]


def operations_of(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """Return the operations of an OpenAPI document by their tag, in the order of the document."""
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if (operation := methods.get(method)) is not None:
                tag = (operation.get("tags") or ["server"])[0]
                groups.setdefault(tag, []).append(_operation(document, method, path, operation))
    return groups


def _operation(document: Mapping[str, Any], method: str, path: str, values: Mapping[str, Any]) -> Operation:
    answers = values.get("responses", {})
    first_sentence = str(values.get("description", "")).partition("\n")[0].partition(". ")[0]
    return Operation(
        method.upper(),
        path,
        first_sentence.rstrip(".").replace("`", ""),
        _prose(values.get("description", "")),
        [
            _field(
                each["name"], each.get("schema", {}), each.get("description", ""), bool(each.get("required"))
            )
            for each in values.get("parameters", ())
        ],
        _fields(document, values.get("requestBody", {})),
        _fields(document, answers.get("200", {})),
        [
            (status, _prose(answer.get("description", "")))
            for status, answer in answers.items()
            if status != "200"
        ],
    )


def _fields(document: Mapping[str, Any], body: Mapping[str, Any]) -> list[ApiField]:
    """Return the fields of a body, whatever its media type."""
    media = (each["schema"] for each in body.get("content", {}).values() if "schema" in each)
    schema = _resolved(document, next(media, {}))
    required = schema.get("required", ())
    return [
        _field(name, each, str(each.get("description", "")), name in required)
        for name, each in schema.get("properties", {}).items()
    ]


def _field(name: str, schema: Mapping[str, Any], description: str, is_required: bool) -> ApiField:
    examples = schema.get("examples") or ()
    example = json.dumps(examples[0], ensure_ascii=False) if examples else ""
    return ApiField(name, _type(schema), _prose(description), is_required, example)


def _prose(text: Any) -> Markup:
    """Return a description, which is Markdown, as elements."""
    return to_html(parse(str(text)))


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    target: Mapping[str, Any] = document["components"]["schemas"][name] if name else schema
    return target


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if forms := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(form) for form in forms)
    if "const" in schema or "enum" in schema:
        return " or ".join(repr(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
