"""Which files an import of Lua means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.language import dotted_files

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, Import


def imported_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a module."""
    return dotted_files(snapshot, file, imported.module), imported.name
