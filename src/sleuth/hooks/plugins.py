"""Plugins: find them, load them, and record whether they loaded.

A plugin is a module whose top level holds hooks (`@hook`) and, if it likes, `activated` and `deactivated`
(`@plugin`). It is found by an entry point of the group `sleuth.plugins`, or in a folder that the user names:
a file `name.py`, or a folder `name` with an `__init__.py`. A folder with modules but no `__init__.py` is listed as
failed. Loading imports the plugin and installs nothing.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sleuth.errors import ArgumentError, PluginError
from sleuth.extensions import installed_extensions
from sleuth.hooks.registry import BUILTIN, Hook, Morpheus, PluginInfo, PluginOverride, describe


def load_plugins(
    registry: Morpheus,
    *,
    folder: str | Path | None = None,
    installed: bool = True,
    instance: Any = None,
    activate: bool = True,
) -> list[PluginInfo]:
    """Loads every plugin there is; one that fails is listed with its error and does not stop the rest.

    Args:
        registry: gets the hooks, and the plugins under `registry.plugins`.
        folder: searched for plugins; None for no folder.
        installed: whether installed packages are searched, too. They come first: one of the same name in the
            folder is listed as failed.
        instance: what `activated(plugin, instance)` is given, the engine as a rule.
        activate: whether `activated` is called; a mere listing leaves it.

    Raises:
        ArgumentError: `folder` is no folder.
    """
    packages = installed_extensions("plugins").values() if installed else ()
    paths = plugin_files(folder) if folder is not None else ()
    return [
        *(_load(registry, *package, instance, activate=activate) for package in packages),
        *(load_file(registry, path, instance, activate=activate) for path in paths),
    ]


def plugin_files(folder: str | Path) -> Iterator[Path]:
    """Yield the plugins of a folder by name: modules, folders of modules, and broken links, which fail to load."""
    root = Path(folder)
    if not root.is_dir():
        raise ArgumentError(f"plugins folder must be a folder that exists, got {str(folder)!r}")
    for path in sorted(root.iterdir(), key=lambda path: path.stem):
        if path.name.startswith((".", "_")):
            continue
        if not path.is_dir():
            is_plugin = path.suffix == ".py" or not path.exists()
        else:
            is_plugin = not os.access(path, os.R_OK | os.X_OK) or any(path.rglob("*.py"))
        if is_plugin:
            yield path


def load_file(registry: Morpheus, path: Path, instance: Any = None, *, activate: bool = True) -> PluginInfo:
    """Loads the plugin of a file, or of a folder with an `__init__.py`; it has the name of either."""
    is_folder = path.is_dir()
    name = path.name if is_folder else path.stem
    file = path / "__init__.py" if is_folder else path
    return _load(registry, name, str(file), lambda: _import_file(name, file), instance, activate=activate)


def unload_plugins(registry: Morpheus, instance: Any = None) -> None:
    """Deactivates all active plugins, the last loaded first, and removes their hooks.

    Raises:
        PluginError: `deactivated` of a plugin failed; the others were deactivated all the same.
    """
    failures: list[tuple[PluginInfo, Exception]] = []
    for info in reversed([info for info in registry.plugins.values() if info.status == "active"]):
        registry.remove(plugin=info.name)
        info.status = "inactive"
        try:
            _override(info, "deactivated", instance)
        except Exception as cause:  # noqa: BLE001 - whatever a plugin raises is reported below
            info.status, info.error = "failed", describe(cause)
            failures.append((info, cause))
    if failures:
        first, why = failures[0]
        names = ", ".join(info.name for info, _ in failures)
        message = f"plugins that failed to deactivate: {names}: {first.error}"
        raise PluginError(message, plugin=first.name) from why


def _load(
    registry: Morpheus,
    name: str,
    origin: str,
    import_module: Callable[[], Any],
    instance: Any,
    *,
    activate: bool,
) -> PluginInfo:
    """Import a plugin, register its hooks and activate it.

    A failure is recorded in the returned info, not raised, and its hooks are removed; only KeyboardInterrupt is raised,
    too. A plugin whose name is taken is recorded as failed under "name (origin)".
    """
    known_plugin = registry.plugins.get(name)
    taken_by = ""
    if name == BUILTIN:
        taken_by = "Sleuth itself"
    elif known_plugin and known_plugin.status == "active":
        taken_by = known_plugin.origin
    if taken_by:
        error = f"a plugin named {name!r} is loaded from {taken_by}"
        info = registry.plugins[f"{name} ({origin})"] = PluginInfo(name, origin, "failed", error)
        return info
    info = registry.plugins[name] = PluginInfo(name, origin, "inactive")
    try:
        _register(registry, info, import_module())
        if activate:
            _override(info, "activated", instance)
        info.status = "active"
    except BaseException as cause:  # sys.exit() in a plugin must not end the program that loads it
        if info.hooks:
            registry.remove(plugin=name)
        info.status, info.error, info.hooks = "failed", describe(cause), ()
        if isinstance(cause, KeyboardInterrupt):
            raise
    return info


def _register(registry: Morpheus, info: PluginInfo, module: Any) -> None:
    if not isinstance(module, ModuleType):
        raise PluginError(f"plugin {info.name!r} must be a module, got {module!r}", plugin=info.name)
    members = list(vars(module).values())
    hooks = list(dict.fromkeys(member for member in members if isinstance(member, Hook)))
    info.overrides = {member.name: member for member in members if isinstance(member, PluginOverride)}
    if not hooks and not info.overrides:
        raise PluginError(
            f"plugin {info.name!r} must hold at least one function marked @hook or @plugin at its top level",
            plugin=info.name,
        )
    registry.add(*hooks, plugin=info.name)
    info.hooks = tuple((one.name, one.priority) for one in hooks)


def _override(info: PluginInfo, name: str, instance: Any) -> None:
    override = info.overrides.get(name)
    if override is not None and inspect.isawaitable(override.function(info, instance)):
        raise PluginError(f"{name} of plugin {info.name!r} must be a plain function", plugin=info.name)


def _import_file(name: str, path: Path) -> ModuleType:
    module_name = f"sleuth_plugin_{name}"
    folder = [str(path.parent)] if path.name == "__init__.py" else None
    if folder and not path.exists():
        raise PluginError(
            f"plugin folder {name!r} must hold an __init__.py that imports its hooks; write it, for example with "
            "`from .MODULE import *`",
            plugin=name,
        )
    spec = importlib.util.spec_from_file_location(module_name, path, submodule_search_locations=folder)
    if spec is None or spec.loader is None:
        raise PluginError(f"plugin {name!r} at {path} is no Python module", plugin=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
