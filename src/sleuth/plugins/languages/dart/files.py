"""Which files an import of Dart means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.language import files_ending

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, Import


def imported_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a library, of a package or beside the file."""
    package, _, path = imported.module.partition("/")
    path = path if package.startswith("package:") else imported.module
    return files_ending(snapshot, file, path, ("",)), imported.name
