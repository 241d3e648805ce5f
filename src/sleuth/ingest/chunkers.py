"""Chooses the chunker of an index: the built-in one, an installed one by name, or an object of the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from sleuth.errors import ArgumentError
from sleuth.extensions import extension, extensions
from sleuth.text.chunkers import Chunker
from sleuth.types import Chunk, Document

if TYPE_CHECKING:
    from sleuth.protocols import DocumentChunker
    from sleuth.settings import IndexSettings

_CUSTOM: Final = "custom:"


class CheckedChunker:
    """A chunker of the caller's; what it returns is checked.

    Args:
        chunker: cuts the documents.
    """

    def __init__(self, chunker: DocumentChunker) -> None:
        self._chunker = chunker

    def split(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document.

        Raises:
            ArgumentError: something else than chunks that have text.
        """
        answer = self._chunker.split(document)
        chunks = list(answer) if isinstance(answer, Iterable) else [answer]
        for chunk in chunks:
            text = document.page_content[chunk.start : chunk.end] if isinstance(chunk, Chunk) else ""
            if not text.strip() or chunk.text != text:
                name = self._chunker.fingerprint
                rule = "must be Chunks with the text from start to end"
                raise ArgumentError(f"chunks of {name!r} {rule}, got {chunk!r}")
        return chunks

    def fits(self, document: Document) -> bool:
        """Return False: only the chunker knows whether a document is one chunk."""
        return False


def spelling_of_chunker(chunker: DocumentChunker | str) -> str:
    """Return how a chunker is written in the settings of an index.

    Raises:
        ArgumentError: neither a chunker nor a name.
    """
    if isinstance(chunker, str):
        return chunker
    fingerprint = getattr(chunker, "fingerprint", None)
    if not isinstance(fingerprint, str) or not fingerprint or not hasattr(chunker, "split"):
        raise ArgumentError(
            f"chunker must be an object with fingerprint and split(document), or the name of an installed one, "
            f"got {chunker!r}"
        )
    return f"{_CUSTOM}{fingerprint}"


def open_chunker(settings: IndexSettings, chunker: DocumentChunker | None = None) -> Chunker | CheckedChunker:
    """Return what cuts the documents of an index.

    Args:
        chunker: the object that the caller gave.

    Raises:
        ArgumentError: no installed package has it, or only the caller can give it and has not.
    """
    if chunker is not None:
        return CheckedChunker(chunker)
    if not settings.chunker:
        return Chunker(settings.chunk_size, settings.chunk_overlap)
    if settings.chunker.startswith(_CUSTOM):
        raise ArgumentError(
            f"this index was made with the chunker {settings.chunker.removeprefix(_CUSTOM)!r}: to add to it, open it "
            "with Engine.open(path, chunker=...)"
        )
    name = settings.chunker
    plugin = extension("chunkers", name)
    if plugin is None:
        names = ", ".join(sorted(extensions("chunkers"))) or "none"
        raise ArgumentError(
            f"chunker must be among those installed ({names}), got {name!r}: install the package that has it"
        )
    value = plugin.load()
    installed: DocumentChunker = value if hasattr(value, "split") and not isinstance(value, type) else value()
    spelling_of_chunker(installed)
    return CheckedChunker(installed)


def chunks_at(text: str, spans: Sequence[tuple[int, int]]) -> list[Chunk]:
    """Return the chunks of a text at these places, with their lines; places without visible characters are left out.

    Args:
        spans: start and end of each, in characters, by ascending start.
    """
    chunks: list[Chunk] = []
    line, counted_to = 1, 0
    for start, end in spans:
        body = text[start:end].strip()
        first = text.find(body, start)
        line += text.count("\n", counted_to, first)
        counted_to = first
        if body:
            chunks.append(Chunk(body, first, first + len(body), line, line + body.count("\n")))
    return chunks
