"""Which text does a Word document hold?"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.html import html_to_markdown
from sleuth.ingest.loaders.registry import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.types import Document


def load_docx(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """The document as Markdown; titled by its first heading of level 1. Nothing is unpacked to disk."""
    try:
        import mammoth
    except ImportError as error:
        raise MissingPackageError("mammoth", "office", "reading Word documents") from error
    data = file.read()
    _check_archive(file.entry.source, data, options.max_unpacked_bytes)
    try:
        html = mammoth.convert_to_html(
            BytesIO(data), convert_image=mammoth.images.img_element(_no_image)
        ).value
    except Exception as error:  # mammoth states no errors: a damaged file raises what it meets
        raise LoadError(file.entry.source, f"not readable as docx: {error!r}") from error
    title, text = html_to_markdown(html)
    if not text:
        raise LoadError(file.entry.source, "no text in it")
    yield Document(text, {"title": title} if title else {})


def _no_image(image: object) -> dict[str, str]:
    return {"src": ""}


def _check_archive(source: str, data: bytes, limit: int) -> None:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise LoadError(source, f"not readable as docx: {error}") from error
    if unpacked > limit:
        raise LoadError(source, f"unpacks to {unpacked:,} bytes, over the limit of {limit:,}")
