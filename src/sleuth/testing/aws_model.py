"""AWS's own description of a service, applied to requests.

The descriptions are the ones that botocore carries and its clients are made from: routes, shapes, limits
and errors are read from them, none are written here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sleuth.errors import MissingPackageError
from sleuth.testing.serving import Reply, Request

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape


class ServiceError(Exception):
    """An error that the service models, raised by what implements an operation."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Route:
    """One operation of a service and the requests that mean it."""

    method: str
    pattern: re.Pattern[str]
    operation: OperationModel


def routes(service: str) -> list[Route]:
    """Return every operation of a service, those with longer fixed paths first."""
    try:
        import botocore.session
    except ImportError as error:
        raise MissingPackageError("boto3", "bedrock", "the local AWS server") from error
    model = botocore.session.get_session().get_service_model(service)
    operations = []
    for name in model.operation_names:
        operation = model.operation_model(name)
        path = urlsplit(operation.http["requestUri"]).path.rstrip("/")
        fixed = len(re.sub(r"\{[^{}]*\}", "", path))
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", path))
        operations.append((fixed, Route(operation.http["method"], re.compile(f"{pattern}/?"), operation)))
    return [route for _, route in sorted(operations, key=lambda pair: -pair[0])]


def read_params(route: Route, request: Request) -> dict[str, Any]:
    """Read the parameters of a request from its path, query and body, by the wire names of the model.

    Raises:
        ServiceError: a body that is no JSON object.
    """
    parts = urlsplit(request.path)
    match = route.pattern.fullmatch(parts.path)
    labels = {name: unquote(value) for name, value in match.groupdict().items()} if match else {}
    query = dict(parse_qsl(parts.query))
    shape = route.operation.input_shape
    params: dict[str, Any] = {}
    for name, member in (shape.members if shape else {}).items():
        wire = member.serialization.get("name", name)
        source = {"uri": labels, "querystring": query}.get(member.serialization.get("location"), {})
        if wire in source:
            number = member.type_name in ("integer", "long") and source[wire].isdigit()
            params[name] = int(source[wire]) if number else source[wire]
    if request.body:
        try:
            body = json.loads(request.body)
        except ValueError as error:
            raise ServiceError("ValidationException", "The request body is not JSON") from error
        if not isinstance(body, dict):
            raise ServiceError("ValidationException", "The request body is not a JSON object")
        params |= body
    return params


def validate(shape: Shape | None, value: Mapping[str, Any]) -> None:
    """Checks parameters against their shape: types, required members, unions, lengths, ranges, patterns,
    enums.

    Raises:
        ServiceError: a ValidationException that lists what is broken, worded as the service does.
    """
    faults = list(_faults(shape, value, "")) if shape is not None else []
    if faults:
        count = f"{len(faults)} validation error{'s' if len(faults) > 1 else ''} detected: "
        raise ServiceError("ValidationException", count + "; ".join(faults))


_TYPES: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (str, int, float),
    "blob": (str,),
}


def _faults(shape: Any, value: Any, path: str) -> Iterator[str]:
    if getattr(shape, "is_document_type", False):
        return
    right: bool = isinstance(value, _TYPES[shape.type_name])
    if not right or (isinstance(value, bool) and shape.type_name != "boolean"):
        yield f"Value at '{path}' failed to satisfy constraint: Member must be of type {shape.type_name}"
        return
    yield from _limits(shape, value, path)
    if shape.type_name == "structure":
        yield from _structure(shape, value, path)
    elif shape.type_name == "list":
        for index, member in enumerate(value):
            yield from _faults(shape.member, member, f"{path}.{index + 1}.member")
    elif shape.type_name == "map":
        for key, member in value.items():
            yield from _faults(shape.value, member, f"{path}.{key}")


def _structure(shape: Any, value: Mapping[str, Any], path: str) -> Iterator[str]:
    dot = f"{path}." if path else ""
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{dot}{name}' failed to satisfy constraint: Member must not be null"
    present = {name: member for name, member in value.items() if member is not None and name in shape.members}
    if getattr(shape, "is_tagged_union", False) and len(present) != 1:
        yield f"Value at '{path}' failed to satisfy constraint: Exactly one member of the union must be set"
    for name, member in present.items():
        yield from _faults(shape.members[name], member, f"{dot}{name}")


def _limits(shape: Any, value: Any, path: str) -> Iterator[str]:
    rules, head = shape.metadata, f"Value at '{path}' failed to satisfy constraint: Member must"
    if shape.type_name in ("string", "list", "blob"):
        size, what = (len(_blob(value)) if shape.type_name == "blob" else len(value)), "have length "
    elif shape.type_name in ("integer", "long", "float", "double"):
        size, what = value, "have value "
    else:
        return
    if "min" in rules and size < rules["min"]:
        yield f"{head} {what}greater than or equal to {rules['min']}"
    if "max" in rules and size > rules["max"]:
        yield f"{head} {what}less than or equal to {rules['max']}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{head} satisfy enum value set: [{', '.join(rules['enum'])}]"
    pattern = _compiled(rules["pattern"]) if "pattern" in rules else None
    if pattern is not None and not pattern.fullmatch(value):
        yield f"{head} satisfy regular expression pattern: {rules['pattern']}"


def _blob(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        return b""


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern, or None if Python cannot read Java's syntax."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def encode(value: Any) -> bytes:
    """Encode an answer as JSON, times as ISO 8601."""
    return json.dumps(value, default=_time).encode()


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    raise TypeError(f"answers hold JSON and times, got {value!r}")


def error_reply(operation: OperationModel | None, code: str, message: str) -> Reply:
    """Return an error as the service sends it, with the status that the operation's model gives it."""
    status = {"UnknownOperationException": 404, "MissingAuthenticationTokenException": 403}.get(code, 400)
    for shape in operation.error_shapes if operation else ():
        if shape.name == code:
            status = shape.metadata["error"]["httpStatusCode"]
    return Reply(
        status, encode({"message": message}), {"Content-Type": "application/json", "x-amzn-ErrorType": code}
    )
