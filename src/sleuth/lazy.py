"""Imports the names that a package exports when they are first used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def exports_of(
    package: str, file: str, extra: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make a package import its names lazily: return its `__getattr__`, `__dir__` and `__all__`.

    All three are derived from its stub `__init__.pyi`, the one list of its names.

    Args:
        package: its `__name__`.
        file: its `__file__`; the stub lies beside it, as `__init__.pyi`, with a line `from HOME import NAME as NAME`
            for each name. Its names are those that users and plugins import; other rooms and tests import
            what is not public from the module that defines it.
        extra: brings what its modules import; a MissingPackageError names it.
    """
    with open(f"{file.removesuffix('.py')}.pyi", encoding="utf8") as stub:  # noqa: PTH123 - pathlib costs more than the rest
        homes = _homes(stub.read())
    namespace = vars(sys.modules[package])

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            if os.path.isfile(f"{os.path.dirname(file)}/{name}.py"):  # noqa: PTH113, PTH120 - pathlib costs more
                # `from PACKAGE import MODULE` asks this first, and imports it then.
                raise AttributeError(name)
            from pathlib import Path

            # Of the packages directly below this one.
            stubs = sorted(Path(file).parent.glob("*/__init__.pyi"))
            below = [stub.parent.name for stub in stubs if name in _homes(stub.read_text("utf8"))]
            hint = " or ".join(f"use `from {package}.{child} import {name}`" for child in below)
            hint = hint or f"it has {', '.join(sorted(homes))}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}; {hint}")
        try:
            module = import_module(home)
        except ModuleNotFoundError as error:
            if not extra:
                raise
            from sleuth.errors import MissingPackageError

            raise MissingPackageError(str(error.name), extra, f"{package}.{name}") from error
        value = namespace[name] = getattr(module, name)  # kept, so `__getattr__` runs once a name
        return value

    def names() -> list[str]:
        return sorted([*namespace, *homes])

    return find, names, sorted(homes)


def _homes(stub: str) -> dict[str, str]:
    """Return the module that defines each name of a stub."""
    lines = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: home for _, home, *_, name in lines}
