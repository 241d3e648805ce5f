"""What a search asks: one frozen dataclass for each kind of search, from which every door makes its options."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema

from sleuth.arguments import MOST_K, MOST_QUERY, check_count, check_names, check_query
from sleuth.errors import ArgumentError, SleuthError

DEFAULT_K = 10
"""Results that a search gives where nobody says how many."""


@dataclass(frozen=True, slots=True)
class Wire:
    """In an annotation: the forms of a value that JSON and a command line have, where Python has more."""

    form: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.form)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRequest:
    """A question, and how it is answered; each kind of search adds its options.

    The annotation of a field is all that doors know of it: its type (with `Wire`), its limits and a sentence for
    people (pydantic's `Field`). Flags, forms and JSON schemas are made from it.

    Raises:
        ArgumentError: a query that is not a string or too long, or a `k` that is no int from 0 to `MOST_K`.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    counts: ClassVar[tuple[str, ...]] = ("k",)
    """Fields that are integers of 0 and more."""

    query: Annotated[
        str,
        Field(
            max_length=MOST_QUERY,
            description="The question, or words.",
            examples=["how often are tokens refilled"],
        ),
    ]
    k: Annotated[
        int,
        Field(
            description="How many results.",
            examples=[10],
            # `check_count` refuses others, at every door.
            json_schema_extra={"minimum": 0, "maximum": MOST_K},
        ),
    ] = DEFAULT_K

    def __post_init__(self) -> None:
        check_query(self.query)
        for name in self.counts:
            limit = MOST_K if name == "k" else None
            object.__setattr__(self, name, check_count(getattr(self, name), name, most=limit))

    @classmethod
    def of(cls, query: str, k: int, options: Mapping[str, Any]) -> Self:
        """Return the request of a call.

        Raises:
            ArgumentError: an unknown option, with the nearest one; a value that breaks its rule.
        """
        check_names(options, defaults(cls))
        return cls(query=query, k=k, **options)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the request of plain values, as JSON and forms have them; texts are converted.

        Raises:
            ArgumentError: an unknown name, or a value that breaks its rule.
        """
        check_names(values, {"query", "k", *defaults(cls)}, "arguments")
        query, k = values.get("query"), values.get("k", DEFAULT_K)
        if isinstance(query, str):
            check_query(query)  # its message has the length, pydantic's the whole query
            usual = defaults(cls)
            options = {name: value for name, value in values.items() if value is not usual.get(name, value)}
            are_switches = all(type(value) is type(usual[name]) is bool for name, value in options.items())
            if are_switches and type(k) is int:  # nothing to convert: a command would wait for pydantic
                return cls(query=query, k=k, **options)
        try:
            request: Self = adapter_of(cls).validate_python(values)
        except ValidationError as error:
            raise argument_error(error) from error
        return request

    @classmethod
    def like(cls, other: BaseRequest, **changes: Any) -> Self:
        """Return a request of this kind with the values of another one, which may have more, and with changes."""
        names = ("query", "k", *defaults(cls))
        return cls(**{name: getattr(other, name) for name in names} | changes)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the default, by name."""
        options: dict[str, Any] = {}
        for name, default in defaults(type(self)).items():
            value = getattr(self, name)
            if value is not default and value != default:
                options[name] = value
        return options

    @classmethod
    def properties(cls) -> dict[str, dict[str, Any]]:
        """Return the JSON schema of each field, without what says nothing: titles, and null as a value."""
        schemas: dict[str, dict[str, Any]] = {}
        for name, schema in cls.json_schema()["properties"].items():
            forms = [form for form in schema.pop("anyOf", ()) if form != {"type": "null"}]
            plain = {key: value for key, value in schema.items() if key != "title" and value is not None}
            schemas[name] = plain | (forms[0] if len(forms) == 1 else {"anyOf": forms} if forms else {})
        return schemas

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of a request."""
        return adapter_of(cls).json_schema()


def defaults(kind: type[BaseRequest]) -> Mapping[str, Any]:
    """Return the default of each option of a kind of request, in order; `query` and `k` are no options."""
    return _defaults(cast("Any", kind))


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    return {item.name: item.default for item in fields(kind) if item.init and item.name not in ("query", "k")}


def adapter_of(kind: type[Any]) -> TypeAdapter[Any]:
    """Return what reads JSON and plain values as a kind of request, or as another type."""
    return _adapter(cast("Any", kind))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def argument_error(error: ValidationError) -> SleuthError:
    """Return the first fault of plain values in the words of Sleuth."""
    if (fault := own_fault(error)) is not None:
        return fault
    faults = error.errors()
    value, place = faults[0]["input"], faults[0]["loc"]
    of_value = (entry for entry in faults if entry["input"] is value and entry["loc"][:1] == place[:1])
    rules = dict.fromkeys(entry["msg"].removeprefix("Input should be ") for entry in of_value)
    # Each form that a value may have has a rule of its own, at a place without a meaning for people.
    name = ".".join(map(str, place if len(rules) < 2 else place[:1])) or "request"
    return ArgumentError(f"{name} must be {', or '.join(rules)}, got {reprlib.repr(value)}")


def own_fault(error: ValidationError) -> SleuthError | None:
    """Return the fault that a request itself found in its values; None where they do not even have its types."""
    causes = (entry.get("ctx", {}).get("error") for entry in error.errors())
    return next((cause for cause in causes if isinstance(cause, SleuthError)), None)
