from sleuth.hooks.plugins import load_plugins as load_plugins
from sleuth.hooks.plugins import unload_plugins as unload_plugins
from sleuth.hooks.registry import Morpheus as Morpheus
from sleuth.hooks.registry import PluginInfo as PluginInfo
from sleuth.hooks.registry import hook as hook
from sleuth.hooks.registry import plugin as plugin

__all__: list[str]
