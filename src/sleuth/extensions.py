"""What extends Sleuth, by kind and name: its own plugins from one table, those of other packages from entry points.

A plugin of Sleuth lies in `sleuth.plugins` and has rows in `sleuth/plugins/table.py`. Another package names the same
things as entry points of the group `sleuth.KIND`. A name is looked up in the table first, so that the metadata of
installed packages is read only for names that Sleuth does not have.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sleuth.logs import logger_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS: Final = {
    "legs": "a class of `IndexLeg`",
    "languages": "a `Language` of code; only Sleuth's own are read",
    "loaders": "a `FileFormat`, or a tuple of them",
    "chunkers": "a `DocumentChunker`, or what makes one",
    "operations": "an `Operation` of `sleuth.surfaces.operations`, or a tuple of them",
    "commands": "a module that adds its commands to `sleuth.surfaces.cli.app.app`",
    "embedders": "what opens a model by name: `str -> Embedder`, with `opens_late` where words answer without it",
    "rerankers": "a `RerankModels`",
    "routers": "a `JsonRouter` of `sleuth.surfaces.http`, or a tuple of them",
    "backends": "a `BackendKind`, or a tuple of them",
    "web": "a `WebApi`: a service that searches the web",
    "sources": "what opens an address by its scheme: `str -> Source` of `sleuth.ingest`",
    "plugins": "a module with hooks",
}
"""What an extension of each kind is."""

CORE: Final = {
    "backends": {"cluster": "sleuth.cluster.backends:KINDS"},
    "web": {"tavily": "sleuth.web.tavily:TAVILY"},
}
"""What the core itself has of a kind, in the form of the plugins' table."""


class Contribution(NamedTuple):
    """A thing that a plugin adds.

    Attributes:
        name: unique within its kind.
        origin: "sleuth", or the package and its version.
        load: imports and returns it.
    """

    name: str
    origin: str
    load: Callable[[], Any]


def extension(kind: str, name: str) -> Contribution | None:
    """Return the extension with a name; None if there is none. Sleuth's own comes before another package's."""
    ours = own_extensions(kind)
    return ours.get(name) or installed_extensions(kind).get(name)


def extensions(kind: str) -> dict[str, Contribution]:
    """Return all extensions of a kind by name: Sleuth's own in the order of their table, then others by name."""
    ours = own_extensions(kind)
    return ours | {name: entry for name, entry in installed_extensions(kind).items() if name not in ours}


def own_extensions(kind: str) -> dict[str, Contribution]:
    """Return Sleuth's own extensions of a kind by name; without the folder of plugins, those of the core."""
    rows = dict(CORE.get(kind, {}))
    try:
        # All that the core knows of plugins.
        rows |= import_module(f"{__package__}.plugins.table").TABLE.get(kind, {})
    except ModuleNotFoundError as error:
        if error.name not in ("sleuth.plugins", "sleuth.plugins.table"):
            raise
    return {name: Contribution(name, "sleuth", partial(named_object, place)) for name, place in rows.items()}


def named_object(place: str, package: str = "") -> Any:
    """Import the value at "module:attribute", or the module at "module".

    Args:
        package: of a module that is named without one.
    """
    path, _, attribute = place.partition(":")
    module = import_module(path if "." in path or not package else f"{package}.{path}")
    return getattr(module, attribute) if attribute else module


def installed_extensions(kind: str) -> dict[str, Contribution]:
    """Return the extensions of installed packages by name, in order.

    The files of all packages are parsed only where one of them names the group, which is rare.
    """
    group = f"sleuth.{kind}"
    if not any(_is_named(group, folder) for folder in sys.path):
        return {}
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=group), key=lambda point: point.name)
    return {point.name: Contribution(point.name, _origin(point), point.load) for point in points}


def _is_named(group: str, folder: str) -> bool:
    """Return whether a package in a folder may name a group: to import `importlib.metadata` would take 30 ms."""
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - as in `sys.path`
    except OSError:
        return os.path.isfile(folder)  # noqa: PTH113 - an archive of packages
    for name in names:
        if name.lower().endswith((".dist-info", "egg-info")):
            with suppress(OSError), open(f"{folder or '.'}/{name}/entry_points.txt", "rb") as points:  # noqa: PTH123
                if group.encode() in points.read():
                    return True
    return False


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def loaded(kind: str, expected: type, *, own: bool = True) -> Iterator[Any]:
    """Yield the values of all extensions of a kind, one by one where an extension has a tuple.

    A package that fails must not stop the others: it is logged and left out. So is a value of another type.

    Args:
        expected: the type of each value.
        own: whether Sleuth's own come, too.
    """
    logger = logger_of("extensions")
    for entry in (extensions if own else installed_extensions)(kind).values():
        try:
            value = entry.load()
        except Exception as error:  # noqa: BLE001 - whatever a package raises is logged
            logger.warning(
                "%s of %s failed to load: %s: %s", entry.name, entry.origin, type(error).__name__, error
            )
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, expected):
                yield item
            else:
                logger.warning(
                    "%s of %s must be %s, got %s", entry.name, entry.origin, KINDS[kind], type(item).__name__
                )
