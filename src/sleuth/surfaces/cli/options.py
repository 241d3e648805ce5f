"""Makes the options of a command from the fields of a dataclass, such as a request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import typer
from pydantic.fields import Field, FieldInfo
from typer.core import TyperCommand, TyperOption

from sleuth.surfaces.cli.terminal import say
from sleuth.types.request import BaseRequest, Wire

R = TypeVar("R", bound=BaseRequest)

FLAGS = {
    "k": ("-k", "--limit"),
    "filter": ("--filter", "-f"),
    "sources": ("--in",),
    "legs": ("--leg",),
    "paths": ("--path",),
    "languages": ("--lang",),
    "labels": ("--label",),
    "text_fields": ("--text-field",),
    "metadata_fields": ("--metadata-field",),
    "gitignore": ("--ignore",),
    "repository": ("--repo", "-r"),
}
"""Flags that are not the name of their option."""


def takes(
    kind: type[BaseRequest], **own_defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each option of a kind of request, and for `k`; it gets them as `options`, a dict.

    Args:
        own_defaults: where people type, some defaults differ from those of programs.
    """
    return with_options("options", dict, options_of(kind, **own_defaults))


def options_of(kind: type, **own_defaults: Any) -> dict[str, Parameter]:
    """Return a parameter for each field of a dataclass that has a description, save the query of a request.

    Args:
        own_defaults: where people type, some defaults differ from those of programs.
    """
    hints = get_type_hints(kind, localns={"Field": Field, "Wire": Wire}, include_extras=True)
    parameters = {}
    for field in fields(kind):
        described = any(isinstance(note, FieldInfo) for note in get_args(hints[field.name])[1:])
        if described and field.name != "query":
            default = own_defaults.get(field.name, field.default)
            parameters[field.name] = _parameter(field.name, hints[field.name], default)
    return parameters


def with_options(
    argument: str, make: Callable[..., Any], group: Mapping[str, Parameter] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a group of options that others have too; it gets what `make` returns for them as one argument.

    Args:
        argument: its name.
        group: the options, by name, which stand before the command's own; the parameters of `make` where None, after.
    """
    flags = signature(make, eval_str=True).parameters if group is None else group

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameter_by_name = signature(command, eval_str=True).parameters
        own_parameters = [parameter for name, parameter in parameter_by_name.items() if name != argument]
        first = [parameter for parameter in own_parameters if parameter.default is parameter.empty]
        options = [parameter for parameter in own_parameters if parameter.default is not parameter.empty]
        ordered = (
            (*first, *options, *flags.values()) if group is None else (*first, *flags.values(), *options)
        )
        parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in ordered]

        def run(**values: Any) -> None:
            command(**{argument: make(**{name: values.pop(name) for name in flags})}, **values)

        run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(run)["__signature__"] = Signature(parameters)
        return run

    return decorate


def request_of(kind: type[R], query: str, options: Mapping[str, Any]) -> R:
    """Return the request of a command.

    Raises:
        ArgumentError: an option that breaks its rule.
    """
    values = {name: value for name, value in options.items() if value is not None}
    return kind.read({"query": query, **values})


class ShortHelp(TyperCommand):
    """Shows the options that people use first; with `--help all`, every one.

    Attributes:
        first: their names.
    """

    first: frozenset[str] = frozenset()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with a line on how to see the rest where options are left out."""
        options = [option for option in self.params if isinstance(option, TyperOption) and not option.hidden]
        later = [option for option in options if option.name not in self.first and sys.argv[-1] != "all"]
        for option in later:
            option.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for option in later:
                option.hidden = False
        if later:
            say(f" {len(later)} more options: {ctx.command_path} --help all\n")


def shows_first(*names: str) -> type[ShortHelp]:
    """Return the class of a command whose help begins with these options."""
    return type("Command", (ShortHelp,), {"first": frozenset(names)})


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """Return the parameter of a command for a field of a request."""
    form, *notes = get_args(hint)
    form = next((note.form for note in notes if isinstance(note, Wire)), form)
    help = next((note.description for note in notes if isinstance(note, FieldInfo)), None)
    flags = FLAGS.get(name, (f"--{name.replace('_', '-')}",))
    forms = get_args(form) if get_origin(form) in (Union, UnionType) else (form,)
    first, *alternatives = (member for member in forms if member is not NoneType)
    is_plain = first in (bool, int, float, str, Path) or get_origin(first) is list
    flag: Any = first if is_plain and not alternatives else str  # most values are written as text
    flag = flag | None if NoneType in forms or default is None else flag
    if first is bool and default is not False:
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
    option = typer.Option(*flags, help=help, metavar="SOURCE" if name == "sources" else None)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[flag, option])
