"""Routes that read JSON bytes into a checked model in one step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar, get_args, get_origin

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import File, Form
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.datastructures import ImmutableMultiDict
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sleuth.arguments import check_names
from sleuth.errors import ArgumentError
from sleuth.surfaces.http.answers import PROBLEMS, Dialect, Refusal, json_response, problem
from sleuth.surfaces.http.service import Call, call_of
from sleuth.types.request import adapter_of, own_fault

M = TypeVar("M")

Handler = TypeVar("Handler", bound=Callable[..., Any])


class JsonRoute(APIRoute):
    """A route that FastAPI describes, and whose handler is a plain function or awaits something.

    A plain function takes `call`, runs in the queue of searches (of changes, where `writes` marks it), and what it
    returns is written as JSON in the same thread. Of handlers that take `body`, `call` and perhaps `request`, pydantic
    reads the body. FastAPI would parse JSON in Python and resolve dependencies for each request, which takes as long as
    a small search. pydantic's parser also refuses what RFC 8259 does: wrong UTF-8, lone surrogates and endless nesting.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        is_plain = not iscoroutinefunction(endpoint)
        lane = "write" if getattr(endpoint, "writes", False) else "read"

        @wraps(endpoint)
        async def in_lane(call: Call, **values: Any) -> Response:
            response: Response = await getattr(call, lane)(lambda: _written(endpoint(call=call, **values)))
            return response

        super().__init__(path, in_lane if is_plain else endpoint, **options)
        documented = (self.openapi_extra or {}).get("parameters", ())
        self._query = dict.fromkeys(parameter["name"] for parameter in documented)
        self._query |= {field.alias: field.field_info.annotation for field in self.dependant.query_params}
        parameters = signature(endpoint, eval_str=True).parameters
        if parameters.keys() - {"request"} != {"body", "call"}:  # FastAPI resolves what others take
            return
        model, takes_request = parameters["body"].annotation, "request" in parameters

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            if scope["query_string"]:
                await self.check_names(request)
            call, kind, data = call_of(request), request.headers.get("content-type", ""), await request.body()
            if is_plain:
                run = getattr(call, lane)
                response = await run(lambda: _written(endpoint(read_model(model, kind, data), call)))
            else:
                arguments = {"request": request} if takes_request else {}
                response = await endpoint(body=read_model(model, kind, data), call=call, **arguments)
            await response(scope, receive, send)

        self.app = answer

    async def check_names(self, request: Request) -> None:
        """Refuse query parameters and form fields as `check_fields` does.

        Raises:
            ArgumentError: names the field.
        """
        check_fields(request.query_params, self._query, _lists(self._query), "query parameters")
        if self.body_field is not None and isinstance(self.body_field.field_info, Form):
            fields = {field.alias: field.field_info.annotation for field in self.dependant.body_params}
            check_fields(await request.form(), fields, _lists(fields), "form fields")


def writes(handler: Handler) -> Handler:
    """Mark a plain function that changes the index: it needs the scope `write`, and runs in the queue of changes."""
    handler.writes = True  # type: ignore[attr-defined]
    return handler


def _written(value: Any) -> Response:
    return value if isinstance(value, Response) else json_response(value)


def check_fields(
    values: ImmutableMultiDict[str, Any], known: Collection[str], lists: Collection[str], argument: str
) -> None:
    """Refuse fields that nothing takes, and a second value: a misspelt filter, or the first of two, would not filter.

    Args:
        known: names of the fields that are taken.
        lists: those that take several values.
        argument: what the fields are called.

    Raises:
        ArgumentError: names the field; gives the nearest name that is taken.
    """
    check_names(values, known, argument)
    for name in values:
        if name not in lists and (count := len(values.getlist(name))) > 1:
            raise ArgumentError(f"{argument} must come once each, got {name!r} {count} times")


def _lists(fields: Mapping[str, Any]) -> set[str]:
    """Return the names of fields, given with their types, that are lists or may be."""
    return {
        name
        for name, kind in fields.items()
        if any(get_origin(form) is list for form in (kind, *get_args(kind)))
    }


async def _check_names(request: Request) -> None:
    await request.scope["route"].check_names(request)


class JsonRouter(APIRouter):
    """Routes of one noun of the API, behind the gate: its keys, limits, deadlines and log.

    A handler takes `call: CurrentCall`. A plain function runs where `JsonRoute` says. One that awaits something works
    by `call.read`, `call.write` or `call.answers`, which check the scope of the key, or calls `call.require`.

    Args:
        tag: of its operations in the OpenAPI document.
        responses: that all of them document.
        answers: paths that a model may answer, which have the deadline of answers.
        dialect: writes errors at its paths as their clients expect them; a problem document where it is left out.
    """

    def __init__(
        self,
        tag: str,
        responses: dict[int | str, dict[str, Any]] = PROBLEMS,
        *,
        answers: Collection[str] = (),
        dialect: Dialect = problem,
    ) -> None:
        super().__init__(
            tags=[tag], route_class=JsonRoute, responses=responses, dependencies=[Depends(_check_names)]
        )
        self.answers, self.dialect = frozenset(answers), dialect

    @property
    def paths(self) -> frozenset[str]:
        """The paths of its routes."""
        return frozenset(route.path for route in self.routes if isinstance(route, APIRoute))

    @property
    def uploads(self) -> frozenset[str]:
        """The paths that take files, whose bodies may be larger."""
        routes = [route for route in self.routes if isinstance(route, APIRoute)]
        bodies = ((route.path, route.body_field) for route in routes)
        return frozenset(path for path, body in bodies if body and isinstance(body.field_info, File))


def read_model(model: type[M], content_type: str, data: bytes) -> M:
    """Return the model that JSON bytes hold.

    Raises:
        Refusal: a body of another media type.
        RequestValidationError: bytes that are not JSON, or break the schema.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Refusal(415, "MediaTypeError", f"content-type must be application/json, got {kind!r}")
    try:
        body: M = adapter_of(model).validate_json(data, strict=True)  # else true and "3" are numbers
    except ValidationError as error:
        if (fault := own_fault(error)) is not None:
            raise fault from error
        details = [{**entry, "loc": ("body", *entry["loc"])} for entry in error.errors(include_input=False)]
        raise RequestValidationError(details) from error
    return body
