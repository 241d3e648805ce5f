"""Which files an import of PHP means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.language import dotted_files

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, Import


def imported_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a class or function, by its namespace."""
    path = f"{imported.module}.{imported.name}".replace("\\", ".").strip(".")
    return dotted_files(snapshot, file, path), imported.name
