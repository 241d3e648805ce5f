"""Which files an import of Java, Kotlin or Scala means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.language import dotted_files, files_below

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, Import


def imported_files(snapshot: Snapshot, file: FileRow, imported: Import) -> tuple[list[int], str]:
    """Return the files of a class or of a package."""
    exact = dotted_files(snapshot, file, f"{imported.module}.{imported.name}")
    # The module may be a class, and the name a nested class or a static member of it.
    of_class = dotted_files(snapshot, file, imported.module)
    return exact or of_class or files_below(snapshot, imported.module.replace(".", "/")), imported.name
