"""The hook registry: who takes part in a call, and in what order.

A hook is a function under a name. Calling the name passes a result through all its hooks, highest priority
first: each returns the next result, or None to keep the one it was given.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, Literal, TypeVar, overload

from sleuth.arguments import check_kind, check_names, check_score
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.results import BaseResult, RetrievedItem

T = TypeVar("T")

RETRIEVE = "indiana_jones_retrieve"
SYNTHESIZE = "indiana_jones_synthesize"
"""The names of the hooks of the two steps of a search."""

BUILTIN = "sleuth"
"""The plugin name of hooks that Sleuth itself registers."""

_FIELDS: Final[Mapping[str, type]] = {"id": str, "text": str, "metadata": Mapping, "extra": dict}
"""Fields of items and their types."""

_RUNNING: ContextVar[frozenset[int]] = ContextVar("running", default=frozenset())
"""Registries whose hooks run in this context, by `id`."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that takes part in a named call. Calling it calls the function.

    Attributes:
        name: the call it takes part in.
        priority: higher runs earlier; the built-in hooks have 0.
        plugin: the plugin that brought it.
        accepts: keywords of a call that the function takes beside `rag2f`; None where it takes any.
    """

    name: str
    function: Callable[..., Any]
    priority: int
    plugin: str
    accepts: frozenset[str] | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class PluginOverride:
    """A function of a plugin that is called when the plugin is loaded or unloaded."""

    name: Literal["activated", "deactivated"]
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass(slots=True)
class PluginInfo:
    """A plugin as `sleuth doctor plugins` lists it.

    Attributes:
        origin: where it was found: a distribution and its version, or a path.
        status: "active"; "failed", with `error`; "inactive" once it is unloaded.
        hooks: name and priority of each hook it registered.
    """

    name: str
    origin: str = ""
    status: Literal["active", "failed", "inactive"] = "active"
    error: str = ""
    hooks: tuple[tuple[str, int], ...] = ()
    overrides: Mapping[str, PluginOverride] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        values = {name: getattr(self, name) for name in ("name", "origin", "status", "error")}
        return values | {"hooks": [{"name": name, "priority": priority} for name, priority in self.hooks]}


def make_hook(name: str, function: Callable[..., Any], priority: int, plugin: str = "") -> Hook:
    """Make a hook of a plain function.

    Raises:
        ArgumentError: the function is a coroutine function, or the priority is not an integer.
    """
    function = function.function if isinstance(function, Hook) else function
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise ArgumentError(f"a hook must be a plain function, got {function!r}")
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise ArgumentError(f"priority must be an integer, got {priority!r}")
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return Hook(name, function, priority, plugin, None)
    # Options are keywords only, or have a default; a parameter without a default is an argument of every call.
    optional = (p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty)
    only = (p for p in parameters if p.kind is p.KEYWORD_ONLY)
    keywords = frozenset(p.name for p in (*optional, *only)) - {"rag2f"}
    return Hook(name, function, priority, plugin, keywords)


@overload
def hook(name: Callable[..., Any], /) -> Hook: ...
@overload
def hook(name: str | None = None, /, *, priority: int = 1) -> Callable[[Callable[..., Any]], Hook]: ...
def hook(
    name: str | Callable[..., Any] | None = None, /, *, priority: int = 1
) -> Hook | Callable[[Callable[..., Any]], Hook]:
    """Marks a function as a hook: `@hook("name", priority=1)`, or `@hook` for one named like the function."""
    if name is not None and not isinstance(name, str):
        return make_hook(name.__name__, name, priority)

    def mark(function: Callable[..., Any]) -> Hook:
        return make_hook(name or function.__name__, function, priority)

    return mark


def plugin(function: Callable[..., Any]) -> PluginOverride:
    """Marks `activated(plugin, instance)` or `deactivated(plugin, instance)` of a plugin."""
    if inspect.iscoroutinefunction(function):
        raise ArgumentError(f"@plugin must mark a plain function, got {function!r}")
    name = function.__name__
    if name == "activated":
        return PluginOverride("activated", function)
    if name == "deactivated":
        return PluginOverride("deactivated", function)
    raise ArgumentError(f"@plugin must mark 'activated' or 'deactivated', got {name!r}")


class Morpheus:
    """The hooks of one engine. Safe to call and to change from threads: a call runs the hooks there were at
    its start.

    Args:
        base: a registry whose hooks of plugins run here, too, whenever they were registered.

    Attributes:
        plugins: every plugin that was loaded into this registry, or failed to load, by name.
    """

    def __init__(self, base: Morpheus | None = None) -> None:
        self.plugins: dict[str, PluginInfo] = {}
        self._base = base
        self._hooks: dict[str, tuple[Hook, ...]] = {}
        self._lock = Lock()

    def hooks(self, name: str) -> tuple[Hook, ...]:
        """Return the hooks that are registered under a name, in the order they run.

        Of the base registry only hooks of plugins count: this registry has built-in ones of its own.
        """
        own_hooks = self._hooks.get(name, ())
        if self._base is None:
            return own_hooks
        inherited = (one for one in self._base.hooks(name) if one.plugin != BUILTIN)
        return tuple(sorted((*own_hooks, *inherited), key=lambda one: -one.priority))

    @property
    def has_retrieval_plugins(self) -> bool:
        """Whether retrieval goes through hooks other than the built-in one; not inside of a hook."""
        hooks = self.hooks(RETRIEVE)
        is_builtin = len(hooks) == 1 and hooks[0].plugin == BUILTIN
        return not is_builtin and not self.is_running

    def all_plugins(self) -> dict[str, PluginInfo]:
        """Return the plugins of this registry and of its base."""
        return {**(self._base.all_plugins() if self._base else {}), **self.plugins}

    def add(self, *hooks: Hook, plugin: str | None = None) -> None:
        """Registers hooks; of equal priorities the first registered runs first.

        Args:
            hooks: what `@hook` made.
            plugin: the plugin that they belong to; what they say themselves where None.
        """
        with self._lock:
            for one in hooks:
                check_kind(one, Hook, "hooks", "functions marked @hook, as `on` marks one")
                hook = one if plugin is None else replace(one, plugin=plugin)
                ordered = sorted((*self._hooks.get(one.name, ()), hook), key=lambda h: -h.priority)
                self._hooks[one.name] = tuple(ordered)

    def on(self, name: str, function: Callable[..., Any], *, priority: int = 1, plugin: str = "") -> Hook:
        """Registers a function that no decorator marked, and returns its hook."""
        registered = make_hook(name, function, priority, plugin)
        self.add(registered)
        return registered

    def remove(self, name: str | None = None, *, plugin: str) -> int:
        """Removes the hooks of a plugin, all or those of one name; returns how many there were.

        `remove("indiana_jones_retrieve", plugin="sleuth")` takes the built-in retriever out.
        """
        count = 0
        with self._lock:
            for key in [name] if name is not None else list(self._hooks):
                remaining = tuple(one for one in self._hooks.get(key, ()) if one.plugin != plugin)
                count += len(self._hooks.get(key, ())) - len(remaining)
                if remaining:
                    self._hooks[key] = remaining
                else:
                    self._hooks.pop(key, None)
        return count

    def execute_hook(self, hook_name: str, result: T, /, *args: Any, rag2f: Any, **options: Any) -> T:
        """Passes `result` through the hooks of a name.

        Args:
            hook_name: the name whose hooks run.
            result: what the first hook is given; unchanged where there are no hooks.
            args: given to every hook after the result.
            rag2f: the engine or other host that runs the hooks, given to each under this name, which the interface of
                plugins fixes.
            options: given to each hook as far as it names them, or takes any keyword.

        Raises:
            ArgumentError: an option that no hook of this name takes; the message suggests the most similar one.
            RetrievalError: a hook raised, or returned another type of result; chained to the cause, `context`
                holds `hook` and `plugin`.
        """
        hooks = self.hooks(hook_name)
        if options and hooks and (accepted := options_of(hooks)) is not None:
            check_names(options, accepted)
        # `is_running` is true until the hooks are done; they may run those of other registries.
        token = _RUNNING.set(_RUNNING.get() | {id(self)})
        try:
            for one in hooks:
                result = _execute(one, result, args, rag2f, options)
            return result
        finally:
            _RUNNING.reset(token)

    @property
    def is_running(self) -> bool:
        """Whether the caller runs inside one of these hooks, in its thread or with a copy of its context."""
        return id(self) in _RUNNING.get()


def options_of(hooks: Sequence[Hook]) -> frozenset[str] | None:
    """Return the names of the options that hooks take; None if one takes any."""
    names: frozenset[str] = frozenset()
    for one in hooks:
        if one.accepts is None:
            return None
        names |= one.accepts
    return names


def _execute(one: Hook, result: T, args: tuple[Any, ...], rag2f: Any, options: Mapping[str, Any]) -> T:
    """Call one hook with the options that it accepts, and return its result, or the given one if it returns None."""
    accepted = options if one.accepts is None else {k: options[k] for k in one.accepts if k in options}
    try:
        returned = one.function(result, *args, rag2f=rag2f, **accepted)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as cause:  # also one that ends a program or a task
        raise hook_error(one, describe(cause), cause) from cause
    if returned is not None:
        if isinstance(result, BaseResult) and not isinstance(returned, type(result)):
            raise hook_error(one, f"must return {type(result).__name__} or None, got {returned!r}")
        result = returned
    # A hook may have changed fields of items to values that they cannot have; scores become floats.
    items = getattr(result, "items", None)
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, RetrievedItem):
            continue  # such as a dict, which becomes an item after the last hook
        try:
            if type(item.score) is not float or not math.isfinite(item.score):
                item.score = check_score(item.score)
        except ArgumentError as error:
            raise hook_error(one, f"item {item.id!r}: {error}") from None
        for name, kind in _FIELDS.items():
            if not isinstance(value := getattr(item, name), kind):
                raise hook_error(one, f"item {item.id!r}: {name} must be a {kind.__name__}, got {value!r}")
    return result


def describe(cause: BaseException) -> str:
    """Return the type of an error and its message, if it has one; a plugin's own class may fail to make it."""
    message = ""
    with suppress(Exception):
        message = str(cause)
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__


def hook_error(one: Hook, what: str, cause: BaseException | None = None) -> RetrievalError:
    """Return the error for a failed hook; it keeps the context of a RetrievalError that caused it."""
    owner = f"plugin {one.plugin!r}" if one.plugin else "no plugin"
    inner = cause.context if isinstance(cause, RetrievalError) else {}
    return RetrievalError(
        f"hook {one.name!r} of {owner}: {what}",
        context={
            **inner,
            "hook": one.name,
            "plugin": one.plugin,
            "function": getattr(one.function, "__qualname__", ""),
        },
    )
