"""Operations of packages: a function that is a command, an endpoint, a tool for agents and a call of Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from sleuth.arguments import check_names
from sleuth.extensions import loaded
from sleuth.types.request import argument_error

if TYPE_CHECKING:
    from sleuth.engine import Engine


@dataclass(frozen=True)
class Operation:
    """What a package adds to Sleuth, written once as a function.

    The name and the docstring of the function are those of the command, endpoint and tool. Its parameters after the
    engine are their options: in the shell, those before `*` are arguments. Each has a type that JSON has, and
    `Annotated` holds its limits and a sentence about it (pydantic's `Field`). The function returns a JSON object, which
    OpenAPI describes by its annotation.

    Attributes:
        function: takes an engine, which shows what the caller may see, and the options.
        examples: lines of a shell that call it.
        lines: draws what it returned for people; JSON where it is left out.
        writes: whether it changes the index: then keys need the scope `write`, and agents are not offered it.
    """

    function: Callable[..., Mapping[str, Any]]
    examples: str
    lines: Callable[[Mapping[str, Any]], Iterable[str]] = lambda answer: json.dumps(
        answer, indent=2, ensure_ascii=False, default=str
    ).splitlines()
    writes: bool = False

    @property
    def name(self) -> str:
        """Its name at every door; the shell writes "-" for "_"."""
        return self.function.__name__

    @cached_property
    def signature(self) -> Signature:
        """Its options, without the engine, and what it returns."""
        of_function = signature(self.function, eval_str=True)
        return of_function.replace(parameters=list(of_function.parameters.values())[1:])

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model of its options, as the body of a request holds them."""
        fields: dict[str, Any] = {
            name: (option.annotation, ... if option.default is Parameter.empty else option.default)
            for name, option in self.signature.parameters.items()
        }
        return create_model(f"{self.name}_options", __config__=ConfigDict(extra="forbid"), **fields)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its options."""
        return self.model.model_json_schema()

    def __call__(self, engine: Engine, **options: Any) -> dict[str, Any]:
        """Check the options, and run the function.

        Raises:
            ArgumentError: an unknown option, or a value that breaks its rule.
        """
        check_names(options, self.signature.parameters, f"arguments of {self.name}")
        try:
            values = self.model.model_validate(options)
        except ValidationError as error:
            raise argument_error(error) from error
        return dict(self.function(engine, **dict(values)))


@cache
def operations() -> dict[str, Operation]:
    """Return the operations of all packages, by name."""
    return {operation.name: operation for operation in loaded("operations", Operation)}
