"""Makes a command of each operation of a package."""

from __future__ import annotations

from collections.abc import Collection
from inspect import Parameter
from typing import Any

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import Output
from sleuth.surfaces.cli.opening import Index
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.operations import Operation, operations


def register(taken: Collection[str]) -> None:
    """Add the commands, save for names that are taken."""
    for operation in operations().values():
        if (name := operation.name.replace("_", "-")) not in taken:
            _register(operation, name)


def _register(operation: Operation, name: str) -> None:
    def run(engine: Any, **options: Any) -> Output:
        answer = operation(engine, **options)
        return Output(answer, operation.lines(answer))

    engine = Parameter("engine", Parameter.KEYWORD_ONLY, annotation=Index)
    parameters = [*operation.signature.parameters.values(), engine]
    run.__doc__ = operation.function.__doc__
    vars(run)["__signature__"] = operation.signature.replace(parameters=parameters, return_annotation=Output)
    command(app, name, operation.examples)(run)
