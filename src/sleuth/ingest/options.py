"""Options for reading files: which ones, and how."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from sleuth.arguments import check_count, check_kind, check_strings
from sleuth.errors import ArgumentError
from sleuth.files import FileFormat
from sleuth.types import RESERVED

if TYPE_CHECKING:  # a process that reads a file waits for neither
    from pydantic import Field

    from sleuth.types.request import Wire

AUTO: Final = "auto"
"""The option for documents whose language must be detected."""

MAX_BYTES: Final = 64 << 20
"""Default limit of file size, 64 MiB; CSV and JSONL files are read row by row and have no such limit."""

_NEVER_REMEMBERED: Final = ("workers", "loaders", "ocr")
_GLOBS_AND_FIELDS: Final = ("include", "exclude", "text_fields", "metadata_fields")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Which files are read, and how. An index reads a file again when the options for its content have changed.

    A field with a description is an option of the commands that read files.

    Attributes:
        include: globs as in `.gitignore`; if not empty, only files that match one are read.
        exclude: globs as in `.gitignore`; files and folders that match one are excluded.
        hidden: also read names that start with a dot (never version control folders).
        all: also read what is no prose: drawings, generated and minified text, dumps, lists of words, base64.
        gitignore: honour `.gitignore`. `.sleuthignore` is always honoured.
        max_bytes: larger files are skipped, with the reason; CSV, TSV and JSONL files are never too large.
        max_row_bytes: larger rows are skipped, with the reason.
        max_unpacked_bytes: limit of an archive (also docx and the like) unpacked, and of the text of an extracted file.
        max_seconds: CPU time to read a file that a process reads; a file that takes longer is skipped.
        max_memory_bytes: address space of each process that reads such files; a file that needs more is skipped.
        text_fields: fields of a row (CSV, TSV, JSON, JSONL) that make its text, in this order; all if empty.
            A path through nested objects is written with dots: "author.name".
        metadata_fields: fields of a row that are kept as metadata, under their own names (none of `RESERVED`); if
            empty, short values of the first hundred fields. In CSV and TSV, "2022" and "-1.5" become numbers, "true"
            and "false" truths; "007", "+1", "1e5" and "1,000" stay strings.
        id_field: the field with the id of a row; None uses `source#row`.
        title_field: the field with the title of a row; None uses "title" or "name" if the row has it.
        metadata: added to the metadata of every document; replaces equal keys.
        language: of documents whose metadata names none: a code of ISO 639 such as "de", or "auto" to detect it from
            the text. It is kept as metadata `language` and chooses the analyzer.
        loaders: formats of your own (`docs/how-to/add-a-loader.md`), which take precedence over installed and
            built-in ones. They are not remembered: give them on every run, or install them.
        ocr: a program and its arguments that reads the pages of PDF files which hold no text: it gets a PNG on its
            standard input and writes the text to its standard output. It is not remembered, never taken from an index
            or a folder, and not run for files inside others.
        workers: processes that extract PDF, HTML, office and book files in parallel; 0 means one per core, at most 8.
    """

    include: Annotated[
        Sequence[str], Wire(list[str]), Field(description="Read only files that match, as in '*.md'.")
    ] = ()
    exclude: Annotated[Sequence[str], Wire(list[str]), Field(description="Skip files that match.")] = ()
    hidden: Annotated[bool, Field(description="Read names that start with a dot, too.")] = False
    all: bool = False
    gitignore: Annotated[
        bool, Field(description="Leave out what .gitignore names; .sleuthignore always holds.")
    ] = True
    max_bytes: Annotated[int, Field(description="Skip files above this many bytes.")] = MAX_BYTES
    max_row_bytes: int = 4 << 20
    max_unpacked_bytes: int = 256 << 20
    max_seconds: int = 20
    max_memory_bytes: int = 256 << 20
    text_fields: Annotated[
        Sequence[str], Wire(list[str]), Field(description="Columns or keys of a row that are its text.")
    ] = ()
    metadata_fields: Annotated[
        Sequence[str],
        Wire(list[str]),
        Field(
            description="Columns or keys of a row that become metadata; numbers in CSV and TSV become numbers."
        ),
    ] = ()
    id_field: Annotated[str | None, Field(description="Column or key that names a row.")] = None
    title_field: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: Annotated[
        str, Field(description="Language of the documents, such as de or fr; auto detects it.")
    ] = AUTO
    loaders: Sequence[FileFormat] = ()
    ocr: Sequence[str] = field(default=(), compare=False)
    workers: int = 0

    def __post_init__(self) -> None:
        for name in (*_GLOBS_AND_FIELDS, "ocr"):
            value = getattr(self, name)
            check_strings(value, name)
            object.__setattr__(self, name, tuple(value))  # equal options are equal, however they were written
        for names, kind, rule in (
            (("id_field", "title_field"), str | None, "a string or None"),
            (("hidden", "all", "gitignore"), bool, "True or False"),
        ):
            for name in names:
                check_kind(getattr(self, name), kind, name, rule)
        for name in (
            "max_bytes",
            "max_row_bytes",
            "max_unpacked_bytes",
            "workers",
            "max_seconds",
            "max_memory_bytes",
        ):
            check_count(getattr(self, name), name)
        check_kind(self.metadata, Mapping, "metadata", "a mapping")
        for name in ("metadata_fields", "metadata"):
            if reserved := RESERVED.intersection(getattr(self, name)):
                raise ArgumentError(
                    f"{name} must be none of those that the engine writes itself ({', '.join(sorted(RESERVED))}), "
                    f"got {', '.join(sorted(reserved))}: give them another name"
                )
        check_language(self.language)
        loaders = self.loaders
        if not isinstance(loaders, list | tuple) or not all(isinstance(one, FileFormat) for one in loaders):
            raise ArgumentError(f"loaders must be a list of FileFormat, got {loaders!r}")
        object.__setattr__(self, "loaders", tuple(loaders))
        if self.metadata:
            from sleuth.store.record.metadata import check_metadata

            object.__setattr__(self, "metadata", check_metadata(self.metadata))

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are not the default ones, fit for JSON; without `workers`, `loaders` and `ocr`."""
        values = {
            name: list(value) if name in _GLOBS_AND_FIELDS else value
            for name in self.__dataclass_fields__
            if name not in _NEVER_REMEMBERED and (value := getattr(self, name)) != getattr(DEFAULT, name)
        }
        plain: dict[str, Any] = json.loads(json.dumps(values, sort_keys=True, default=str))
        return plain

    @property
    def spelling(self) -> str:
        """All options that are remembered, as text."""
        return json.dumps(self.to_dict(), sort_keys=True)


def check_language(value: str) -> str:
    """Return an option for the language of documents: a code of ISO 639, or "auto"."""
    if not isinstance(value, str) or not (value == AUTO or _language.fullmatch(value)):
        raise ArgumentError(f"language must be 'auto' or a code such as 'de' or 'fr', got {value!r}")
    return value


_language = re.compile("[a-z]{2,3}")

DEFAULT: Final = ReadOptions()
"""The default options."""
