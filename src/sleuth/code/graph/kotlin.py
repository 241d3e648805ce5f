"""What only Kotlin has: companion objects, whose members are named by their class, and extension functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sleuth.code.graph.modules import package_folder
from sleuth.code.parsing.kinds import CONTAINERS

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Detail, Reference, Symbol
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition


def is_of_companion(detail: Detail, owner: Definition, symbol: Symbol) -> bool:
    """Return whether a definition is a member of the companion object of a class."""
    holder = detail.symbols[symbol.parent] if symbol.parent >= 0 else None
    return (
        holder is not None
        and holder.parent == owner.index
        and owner.symbol.kind in CONTAINERS
        and "companion object" in holder.signature
    )


def extension_of(
    definitions: Iterable[Definition],
    file: FileRow,
    detail: Detail,
    use: Reference,
    receiver: Definition | None,
) -> Definition | None:
    """Return the function that extends the type of an object, in the package or imported.

    Args:
        definitions: those of the name that is used.
        detail: of the file of the use.
        receiver: the class of the object; None where it is unknown or of another project.
    """
    folder = package_folder(file)
    is_imported = any(item.alias == use.name for item in detail.imports)
    head = f"{'' if receiver is None else receiver.symbol.name}.{use.name}("
    extensions = [
        each
        for each in definitions
        if each.file.language == "kotlin"
        and each.symbol.kind == "function"
        and head in each.symbol.signature
        and (is_imported or package_folder(each.file) == folder)
    ]
    return extensions[0] if len(extensions) == 1 else None
