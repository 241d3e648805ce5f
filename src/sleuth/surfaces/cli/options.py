"""Makes commands from functions, and their options from parameters and from fields of a dataclass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le
from pydantic.fields import Field, FieldInfo
from typer import Typer
from typer.core import TyperCommand, TyperOption
from typer.models import ParameterInfo

from sleuth.surfaces.cli.app import as_epilog
from sleuth.surfaces.cli.common import Output, say
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
    "repo": ("--repo", "-r"),
    "count": ("--count", "-c"),
    "fixed": ("--fixed-strings", "-F"),
    "ignore_case": ("--ignore-case", "-i"),
    "quiet": ("--quiet", "-q"),
    "verbose": ("--verbose", "-v"),
    "yes": ("--yes", "-y"),
}
"""Flags that are not the name of their option."""

HELP = {
    "json": "Print JSON instead of text.",
    "index": "Index folder. Default: $SLEUTH_INDEX, else the nearest .sleuth above.",
    "timeout": "Seconds to wait while another process writes to the index.",
    "quiet": "Print errors only.",
    "prune": "Delete documents whose file is gone.",
    "analyzer": "english, plain or code; for a new index.",
    "chunk_size": "Tokens per passage; for a new index.",
    "embedder": '"wordllama", "" for words alone, "onnx:MODEL" …; for a new index.',
    "shards": "Number of indexes to divide the documents over; for a new index.",
    "repo": "Repository: id, path or URL. Default: the one here.",
    "at": "Snapshot: commit, branch, tag or content id. Default: the worktree as it is.",
    "max_refresh": "Index at most this many changed files first; with more, say how stale it is.",
    "no_refresh": "Answer from the newest snapshot without looking at the files.",
}
"""Sentences of options that several commands have."""


@dataclass(frozen=True, slots=True)
class Options:
    """In the annotation of a parameter of a command: the options that its value is made from.

    Attributes:
        make: returns the value, or what opens it until the command ends; takes the options by name.
        parameters: of the command, by name.
    """

    make: Callable[..., Any]
    parameters: Mapping[str, Parameter]


def options_from(make: Callable[..., Any]) -> Options:
    """Return the options that a function takes, which makes a value from them."""
    return Options(make, {parameter.name: parameter for parameter in _parameters_of(make)})


def options_of(kind: type, **own_defaults: Any) -> Options:
    """Return an option for each field of a dataclass that has a description, save the query of a request.

    A command gets their values as a dict.

    Args:
        own_defaults: where people type, some defaults differ from those of programs.
    """
    hints = get_type_hints(kind, localns={"Field": Field, "Wire": Wire}, include_extras=True)
    parameters = {}
    for field in fields(kind):
        described = any(isinstance(note, FieldInfo | str) for note in get_args(hints[field.name])[1:])
        if described and field.name != "query":
            default = own_defaults.get(field.name, field.default)
            parameters[field.name] = _parameter(field.name, hints[field.name], default)
    return Options(dict, parameters)


def command(
    group: Typer, name: str, examples: str, *, first: tuple[str, ...] = (), **settings: Any
) -> Callable[[Callable[..., Output | None]], Callable[..., None]]:
    """Make a function a command: what stands before `*` are its arguments, what follows are its options.

    The sentence of each stands beside its type, `Annotated[int, "How many.", Ge(1)]`, or in `HELP`. A function that
    returns an `Output` has `--json`.

    Args:
        examples: lines that call it.
        first: the options that its help begins with; `--help all` shows the others.
        settings: of typer.
    """

    def register(function: Callable[..., Output | None]) -> Callable[..., None]:
        kind = type("Command", (ShortHelp,), {"first": frozenset(first)}) if first else None
        run = callable_by_options(function)
        group.command(name, cls=kind, epilog=as_epilog(examples), **settings)(run)
        return run

    return register


def callable_by_options(function: Callable[..., Output | None]) -> Callable[..., None]:
    """Return a function as typer calls it, by the name of each argument and option; it prints the answer."""
    makers: dict[str, Options] = {}
    parameters: dict[str, Parameter] = {}
    result = signature(function, eval_str=True).return_annotation
    json = [_parameter("json", bool, default=False)] if Output in (result, *get_args(result)) else []
    own_names = []
    for parameter in _parameters_of(function):
        notes = get_args(parameter.annotation)[1:]
        options = next((note for note in notes if isinstance(note, Options)), None)
        if options is None:
            own_names.append(parameter.name)
        else:
            makers[parameter.name] = options
        for option in (parameter,) if options is None else options.parameters.values():
            for entry in (*json, option) if option.name in ("repo", "index") else (option,):
                parameters.setdefault(entry.name, entry)
    for parameter in json:
        parameters.setdefault(parameter.name, parameter)

    def run(**values: Any) -> None:
        arguments = {name: values[name] for name in own_names}
        with ExitStack() as stack:
            for name, options in makers.items():
                value = options.make(**{option: values[option] for option in options.parameters})
                is_opened = isinstance(value, AbstractContextManager)
                arguments[name] = stack.enter_context(value) if is_opened else value
            answer = function(**arguments)
        if answer is not None:
            answer.print(json=values["json"], quiet=values.get("quiet", False))

    run.__doc__, run.__name__, run.__module__ = function.__doc__, function.__name__, function.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters.values()}
    vars(run)["__signature__"] = Signature(list(parameters.values()))
    return run


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


def _parameters_of(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a command for those of a function, without `*names`, which code gives."""
    for parameter in signature(function, eval_str=True).parameters.values():
        is_argument = parameter.kind is not parameter.KEYWORD_ONLY
        if parameter.kind is not parameter.VAR_POSITIONAL:
            yield _parameter(parameter.name, parameter.annotation, parameter.default, is_argument=is_argument)


def _parameter(name: str, hint: Any, default: Any, *, is_argument: bool = False) -> Parameter:
    """Return the parameter of a command for a field of a request, or for a parameter of a function."""
    form, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    help, rules = HELP.get(name), dict[str, Any]()
    for note in notes:
        if isinstance(note, FieldInfo):
            help = note.description
        elif isinstance(note, str):
            help = note
        elif isinstance(note, Wire):
            form = note.form
        elif isinstance(note, Ge | Le):
            rules["min" if isinstance(note, Ge) else "max"] = getattr(note, type(note).__name__.lower())
        elif isinstance(note, ParameterInfo | Options):  # says all
            help = None
    if help is None:
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
    forms = get_args(form) if get_origin(form) in (Union, UnionType) else (form,)
    first, *alternatives = (member for member in forms if member is not NoneType)
    is_plain = first in (bool, int, float, str, Path) or get_origin(first) in (list, tuple)
    flag: Any = first if is_plain and not alternatives else str  # most values are written as text
    flag = flag | None if NoneType in forms or default is None else flag
    flags = FLAGS.get(name, (f"--{name.replace('_', '-')}",))
    if first is bool and default is not False:
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
    metavar = "SOURCE" if name == "sources" else None
    about = typer.Option(*flags, help=help, metavar=metavar, **rules)
    if is_argument:
        about = typer.Argument(help=help)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[flag, about])
