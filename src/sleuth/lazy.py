"""Names of a package that are imported when first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose names are imported when first used.

    Args:
        package: its `__name__`.
        homes: public name to the module that defines it.
    """
    namespace = vars(sys.modules[package])

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            names = ", ".join(sorted(homes))
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {names}")
        value = namespace[name] = getattr(import_module(home), name)
        return value

    def names() -> list[str]:
        return sorted([*namespace, *homes])

    return find, names
