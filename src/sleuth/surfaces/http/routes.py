"""Routes that read JSON bytes into a checked model in one step, and answer without FastAPI's layers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import Receive

from sleuth.surfaces.http.problems import Refusal
from sleuth.surfaces.http.service import Call, call_of

M = TypeVar("M", bound=BaseModel)

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
DirectHandler: TypeAlias = Callable[[Call, str, bytes], Coroutine[Any, Any, Response]]
"""Answers a call with a content type and a body."""


class JsonRoute(APIRoute):
    """A route that FastAPI describes and pydantic reads, for handlers that take `body` and `call` and no more.

    FastAPI parses JSON in Python and resolves dependencies for each request, which takes as long as a small search.
    pydantic's parser also refuses what RFC 8259 does: wrong UTF-8, lone surrogates and endless nesting.

    Attributes:
        direct: answers a request without FastAPI; None for other handlers.
    """

    direct: DirectHandler | None = None

    def get_route_handler(self) -> Handler:
        """Return what answers a request that came through FastAPI."""
        parameters = inspect.signature(self.endpoint, eval_str=True).parameters
        if set(parameters) != {"body", "call"}:
            return super().get_route_handler()
        model: type[BaseModel] = parameters["body"].annotation
        endpoint = self.endpoint

        async def direct(call: Call, content_type: str, data: bytes) -> Response:
            response: Response = await endpoint(body=read_model(model, content_type, data), call=call)
            return response

        async def handler(request: Request) -> Response:
            return await direct(
                call_of(request), request.headers.get("content-type", ""), await request.body()
            )

        self.direct = direct
        return handler


def direct_routes(routers: Iterable[APIRouter]) -> dict[tuple[str, str], JsonRoute]:
    """Return the routes by method and path that FastAPI need not answer: a fixed path and a handler of their own."""
    return {
        (method, route.path): route
        for router in routers
        for route in router.routes
        if isinstance(route, JsonRoute) and route.direct is not None and "{" not in route.path
        for method in route.methods or ()
    }


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request.

    Raises:
        ConnectionAbortedError: the client left before its end.
    """
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client is gone")
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


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
        return model.model_validate_json(data, strict=True)  # else true and "3" are numbers
    except ValidationError as error:
        details = [{**entry, "loc": ("body", *entry["loc"])} for entry in error.errors(include_input=False)]
        raise RequestValidationError(details) from error
