"""POST /v1/NAME: the operations of packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from sleuth.surfaces.http.routes import JsonRouter, writes
from sleuth.surfaces.http.service import CurrentCall
from sleuth.surfaces.operations import Operation, operations


def operations_router() -> JsonRouter:
    """Return a router with a path for each operation."""
    router = JsonRouter("operations")
    for operation in operations().values():
        result = operation.signature.return_annotation
        router.post(f"/v1/{operation.name}", response_model=result)(_handler_of(operation))
    return router


def _handler_of(operation: Operation) -> Callable[..., Mapping[str, Any]]:
    def answer(body: BaseModel, call: CurrentCall) -> Mapping[str, Any]:
        return operation.function(call.engine, **dict(body))

    answer.__name__, answer.__doc__ = operation.name, operation.function.__doc__
    answer.__annotations__ = {"body": operation.model, "call": CurrentCall}
    return writes(answer) if operation.writes else answer
