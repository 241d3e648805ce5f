"""A local server for `bedrock-agent-runtime` and `bedrock-agent`: `LocalKnowledgeBase` over HTTP.

Real boto3 clients talk to it over a socket. Routes, shapes, limits and errors come from botocore's own model of the
services, and requests and answers are checked against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sleuth.errors import requires
from sleuth.knowledge_base import LocalKnowledgeBase
from sleuth.knowledge_base.errors import LocalServiceError, local_error
from sleuth.testing.serving import LocalServer, Reply, Request

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape

Rule = Callable[[str, Mapping[str, Any]], Reply | float | None]
"""Takes an operation's name and parameters. Gives a reply to send instead, seconds to wait, or None."""


@dataclass(frozen=True)
class Route:
    """One operation of a service and the requests that mean it."""

    method: str
    pattern: re.Pattern[str]
    operation: OperationModel


class BedrockServer(LocalServer):
    """Both services on one port, up inside its `with` block.

    Args:
        base: answers the requests.

    Attributes:
        base: may be replaced while the server runs.
        rules: asked in turn before an operation runs; the first that gives something decides.
        calls: operations and parameters, in order of arrival.
    """

    def __init__(self, base: LocalKnowledgeBase) -> None:
        super().__init__()
        self.base = base
        self.rules: list[Rule] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._routes = [*routes("bedrock-agent-runtime"), *routes("bedrock-agent")]

    def client(self, service: str, **config: Any) -> Any:
        """Return a real boto3 client of this server. `config` goes to botocore's Config."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            service,
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106 - no secret: the server is on loopback
            config=Config(**{"retries": {"total_max_attempts": 1}, **config}),
        )

    def refusal(self, request: Request) -> Reply:
        """Return the service's own throttling error."""
        return error_reply(None, "ThrottlingException", "Too many requests")

    def answer(self, request: Request) -> Reply | None:
        """Return the reply of the operation that a request means."""
        path = request.path.partition("?")[0]
        route = next(
            (one for one in self._routes if one.method == request.method and one.pattern.fullmatch(path)),
            None,
        )
        if route is None:
            return error_reply(None, "UnknownOperationException", f"No operation at {request.method} {path}")
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return error_reply(None, "MissingAuthenticationTokenException", "Missing Authentication Token")
        try:
            return self._run(route, request)
        except LocalServiceError as error:
            failure = error.response["Error"]
            return error_reply(route.operation, failure["Code"], failure["Message"])

    def _run(self, route: Route, request: Request) -> Reply:
        from botocore import xform_name

        name = route.operation.name
        params = read_params(route, request)
        with self._lock:
            self.calls.append((name, params))
        for rule in self.rules:
            decision = rule(name, params)
            if isinstance(decision, Reply):
                return decision
            if decision is not None:
                sleep(decision)
                break
        validate(name, route.operation.input_shape, params)
        run = getattr(self.base, xform_name(name), None)
        if run is None:
            raise local_error("UnknownOperationException", f"{name} is not served here", name)
        value = run(**params)
        value.pop("ResponseMetadata", None)  # boto3 makes it from the headers
        validate(name, route.operation.output_shape, value)
        return Reply(
            route.operation.http["responseCode"], encode(value), {"Content-Type": "application/json"}
        )

    def error(self, operation: str, code: str, message: str = "") -> Reply:
        """Return an error reply of an operation, for rules."""
        model = next(route.operation for route in self._routes if route.operation.name == operation)
        return error_reply(model, code, message or code)


def routes(service: str) -> list[Route]:
    """Return every operation of a service.

    Those with more literal characters in their path come first, so that `/a/fixed` wins over `/a/{id}`.
    """
    with requires("boto3", "bedrock", "the local AWS server"):
        import botocore.session
    model = botocore.session.get_session().get_service_model(service)
    operations = []
    for name in model.operation_names:
        operation = model.operation_model(name)
        path = urlsplit(operation.http["requestUri"]).path.rstrip("/")
        fixed = len(re.sub(r"\{[^{}]*\}", "", path))
        # `{name}` stands for one part of a path, `{name+}` for one or more.
        with_rests = re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", path)
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", with_rests)
        operations.append((fixed, Route(operation.http["method"], re.compile(f"{pattern}/?"), operation)))
    return [route for _, route in sorted(operations, key=lambda pair: -pair[0])]


def read_params(route: Route, request: Request) -> dict[str, Any]:
    """Read the parameters of a request from its path, query and body, by the wire names of the model.

    Raises:
        LocalServiceError: a body that is no JSON object.
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
            raise _invalid(route.operation.name, "The request body is not JSON") from error
        if not isinstance(body, dict):
            raise _invalid(route.operation.name, "The request body is not a JSON object")
        params |= body
    return params


def validate(operation: str, shape: Shape | None, value: Mapping[str, Any]) -> None:
    """Checks parameters or an answer against their shape, with botocore's own validator and the limits that it skips.

    Raises:
        LocalServiceError: a ValidationException that lists what is broken.
    """
    if shape is None:
        return
    from botocore.validate import ParamValidator

    report = ParamValidator().validate(value, shape)
    faults = report.generate_report() if report.has_errors() else "; ".join(_excesses(shape, value, ""))
    if faults:
        raise _invalid(operation, faults)


def _invalid(operation: str, message: str) -> Exception:
    return local_error("ValidationException", message, operation)


def _excesses(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Yield what a service refuses and botocore sends: more than a maximum, and values outside an enum or a pattern."""
    if getattr(shape, "is_document_type", False):
        return
    rules, head = shape.metadata, f"Value at '{path}' failed to satisfy constraint: Member must"
    size = len(value) if hasattr(value, "__len__") else value
    if "max" in rules and size > rules["max"]:
        yield f"{head} be less than or equal to {rules['max']}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{head} satisfy enum value set: [{', '.join(rules['enum'])}]"
    pattern = _compiled(rules["pattern"]) if "pattern" in rules else None
    if pattern is not None and not pattern.fullmatch(value):
        yield f"{head} satisfy regular expression pattern: {rules['pattern']}"
    if shape.type_name == "structure":
        for name, member in value.items():
            if name in shape.members:
                yield from _excesses(shape.members[name], member, f"{path}.{name}" if path else name)
    elif shape.type_name == "list":
        for index, member in enumerate(value, 1):
            yield from _excesses(shape.member, member, f"{path}.{index}.member")


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
