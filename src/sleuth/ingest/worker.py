"""The process that reads costly files and draws pages of PDF files: `python -m sleuth.ingest.worker BYTES`.

It imports nothing of the program that started it. If it crashes, only the file that it was reading is skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sleuth.errors import LoadError, MissingPackageError
from sleuth.files.serving import serve
from sleuth.ingest.extraction.text import ExtractionError
from sleuth.ingest.loaders.file import load_here
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.types import Document

_AT_ONCE: Final = 256 << 10
"""Bytes of text in an answer."""
_ITEMS: Final = 500


def answers(request: Mapping[str, Any], data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the documents and skipped rows of a file, many at once; then nothing, or why it has no (more) documents.

    A request with `page` is answered by the picture of a page of the PDF that is its body. An answer with "spent" says
    that the memory may still hold an unfinished file.
    """
    try:
        if "page" in request:
            from sleuth.ingest.extraction.pdf import page_picture

            yield {}, page_picture(data, request["page"], request["dots_per_inch"], colour=request["colour"])
            return
        options = ReadOptions(**request["options"])
        for items, body in _batches(load_here(FileEntry(**request["entry"]), request["kind"], options)):
            yield {"items": items, "more": True}, body
        yield {"items": []}, b""
    except LoadError as error:
        yield {"error": error.reason, "kind": error.kind}, b""
    except ExtractionError as error:
        yield {"error": str(error), "kind": error.kind}, b""
    except MissingPackageError as error:
        yield {"error": str(error), "kind": "missing package"}, b""
    except MemoryError:
        reason = f"needs more than {int(sys.argv[1]) >> 20:,} MB of memory to be read"
        yield {"error": reason, "kind": "limits", "spent": True}, b""
    except RecursionError:
        yield {"error": "nested too deeply", "kind": "invalid"}, b""
    except Exception as error:  # noqa: BLE001  # an unforeseen error of Sleuth, or of the disk
        yield {"error": f"{type(error).__name__}: {error}", "kind": "unreadable"}, b""


def _batches(items: Iterable[Document | Skipped]) -> Iterator[tuple[list[list[Any]], bytes]]:
    """Yield lists of [bytes of text, metadata, id] of documents and [path, reason, kind] of skipped files; texts."""
    batch: list[list[Any]] = []
    texts: list[bytes] = []
    size = 0
    for item in items:
        if isinstance(item, Skipped):
            batch.append([item.path, item.reason, item.kind])
        else:
            texts.append(item.page_content.encode("utf-8", "surrogatepass"))
            size += len(texts[-1])
            batch.append([len(texts[-1]), item.metadata, item.id])
        if size >= _AT_ONCE or len(batch) >= _ITEMS:
            yield batch, b"".join(texts)
            batch, texts, size = [], [], 0
    if batch:
        yield batch, b"".join(texts)


if __name__ == "__main__":
    serve(int(sys.argv[1]), answers)
