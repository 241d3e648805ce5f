"""Routes that read JSON bytes into a checked model in one step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import File, Form
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.datastructures import ImmutableMultiDict

from sleuth.arguments import check_names
from sleuth.errors import ArgumentError
from sleuth.surfaces.http.answers import PROBLEMS, Dialect, Refusal, problem
from sleuth.surfaces.http.service import call_of
from sleuth.types.request import adapter_of, own_fault

M = TypeVar("M")

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route that FastAPI describes and pydantic reads, for handlers that take `body`, `call` and perhaps `request`.

    FastAPI parses JSON in Python and resolves dependencies for each request, which takes as long as a small search.
    pydantic's parser also refuses what RFC 8259 does: wrong UTF-8, lone surrogates and endless nesting.
    """

    async def check_names(self, request: Request) -> None:
        """Refuse query parameters and form fields as `check_fields` does.

        Raises:
            ArgumentError: names the field.
        """
        parameters = (self.openapi_extra or {}).get("parameters", ())
        fields = {field.alias: field.field_info.annotation for field in self.dependant.query_params}
        names = [*fields, *(parameter["name"] for parameter in parameters)]
        check_fields(request.query_params, names, _lists(fields), "query parameters")
        if self.body_field is not None and isinstance(self.body_field.field_info, Form):
            fields = {field.alias: field.field_info.annotation for field in self.dependant.body_params}
            check_fields(await request.form(), fields, _lists(fields), "form fields")

    def get_route_handler(self) -> Handler:
        """Return what answers a request."""
        parameters = inspect.signature(self.endpoint, eval_str=True).parameters
        if parameters.keys() - {"request"} != {"body", "call"}:  # FastAPI resolves what others take
            return super().get_route_handler()
        model, endpoint = parameters["body"].annotation, self.endpoint
        takes_request = "request" in parameters

        async def handler(request: Request) -> Response:
            await self.check_names(request)
            body = read_model(model, request.headers.get("content-type", ""), await request.body())
            arguments = {"request": request} if takes_request else {}
            response: Response = await endpoint(body=body, call=call_of(request), **arguments)
            return response

        return handler


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

    A handler that takes `call: CurrentCall` works by `call.read`, `call.write` or `call.answers`, which check the scope
    of the key; one that does not calls `call.require`.

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
