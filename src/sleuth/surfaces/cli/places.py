"""Where things stand: the index of a command, refused if others may have made it, and files as seen from here."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth import platform
from sleuth.code.repository.tracked import may_be_tracked
from sleuth.errors import IndexUnsafeError
from sleuth.surfaces.cli.common import one_line

if TYPE_CHECKING:
    from sleuth.engine.answers import Answering
    from sleuth.ingest import FileNames

NAME = ".sleuth"


def index_folder(option: Path | None) -> Path:
    """Return the index folder of a command; it need not exist yet.

    Raises:
        IndexUnsafeError: it was not named, and somebody else may have made it.
    """
    if option is not None:
        return option
    if from_environment := os.environ.get("SLEUTH_INDEX"):
        return Path(from_environment)
    cwd = Path.cwd()
    folder = next((above / NAME for above in (cwd, *cwd.parents) if (above / NAME).is_dir()), None)
    if folder is None:
        return cwd / NAME
    check_origin(folder)
    return folder


def check_origin(folder: Path, mend: str = "to open it anyway, name it with --index {}") -> None:
    """Refuse an index that the user did not name and that somebody else may have made.

    Args:
        mend: what to do about it, for the error; `{}` stands for the folder, as a shell reads it.

    Raises:
        IndexUnsafeError: it is a link, of another user, or tracked by git; it was not opened.
    """
    owner = folder.stat().st_uid if folder.exists() else platform.user()
    reason = ""
    if folder.is_symlink():
        reason = "is a link"
    elif owner != platform.user():
        reason = f"belongs to user {owner}"
    elif folder.exists() and may_be_tracked(folder):
        reason = "is tracked by git"
    if reason:
        mend = mend.format(shlex.quote(str(folder)))
        raise IndexUnsafeError(
            f"{folder} {reason}, so somebody else may have filled it: {mend}", path=str(folder)
        )


def from_here(path: str, base: str = "") -> str:
    """Return a path as seen from the working folder: relative if it lies below it, or if both lie below a base."""
    cwd = os.getcwd()  # noqa: PTH109
    if path == cwd:
        return "."
    if path.startswith(f"{cwd.rstrip('/')}/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    if base and f"{cwd}/".startswith(f"{base}/") and path.startswith(f"{base}/"):
        return os.path.relpath(path, cwd)
    return path


def shown(names: FileNames, name: str) -> str:
    """Return a named file of an index as seen from the working folder, in one line."""
    return one_line(from_here(names.path_of(name), names.base))


def file_names_of(engine: Answering) -> FileNames:
    """Return what turns the file names that are stored in an index into paths.

    Args:
        engine: an `Engine`, or `Sources`, which hold one in `.engine`. If there are no documents, names are left as
            they are.
    """
    from sleuth.ingest import FileNames

    documents: Any = getattr(engine, "engine", engine)
    names: FileNames | None = getattr(documents, "files", None)
    return names or FileNames()


def file_of(engine: Answering, metadata: Mapping[str, Any]) -> str:
    """Return the absolute path of the file that a passage is from; "" if it is from none."""
    source = str(metadata.get("source") or "")
    if metadata.get("source_type", "docs") == "docs" and "path" in metadata:
        path = file_names_of(engine).path_of(str(metadata["path"]))
        return path if os.path.isabs(path) else ""  # noqa: PTH117
    return source if os.path.isabs(source) else ""  # noqa: PTH117


def path_from_here(engine: Answering, id: str, metadata: Mapping[str, Any]) -> str:
    """Return the path of a passage's file from here, or its source."""
    file = file_of(engine, metadata)
    return from_here(file, file_names_of(engine).base) if file else str(metadata.get("source") or id)
