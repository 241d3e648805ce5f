"""Hooks and the plugins that register them."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.hooks.plugins import load_plugins as load_plugins
    from sleuth.hooks.plugins import unload_plugins as unload_plugins
    from sleuth.hooks.registry import BUILTIN as BUILTIN
    from sleuth.hooks.registry import Hook as Hook
    from sleuth.hooks.registry import Morpheus as Morpheus
    from sleuth.hooks.registry import PluginInfo as PluginInfo
    from sleuth.hooks.registry import PluginOverride as PluginOverride
    from sleuth.hooks.registry import hook as hook
    from sleuth.hooks.registry import plugin as plugin

_HOMES = {
    "BUILTIN": "sleuth.hooks.registry",
    "Hook": "sleuth.hooks.registry",
    "Morpheus": "sleuth.hooks.registry",
    "PluginInfo": "sleuth.hooks.registry",
    "PluginOverride": "sleuth.hooks.registry",
    "hook": "sleuth.hooks.registry",
    "load_plugins": "sleuth.hooks.plugins",
    "plugin": "sleuth.hooks.registry",
    "unload_plugins": "sleuth.hooks.plugins",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
