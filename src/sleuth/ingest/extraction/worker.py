"""The process that extracts files: `python -m sleuth.ingest.extraction.worker BYTES`.

It opens no file and imports nothing of the program that started it. If it crashes, only the file it was reading is
skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sleuth.extensions import named_object
from sleuth.files.formats import BUILT_IN
from sleuth.files.serving import serve
from sleuth.ingest.extraction.result import Extracted, ExtractionError


def extract(kind: str, data: bytes, limit: int) -> Extracted:
    """Extract a file of a kind, in this process.

    Raises:
        ExtractionError: no text; the message says why.
    """
    reader: Callable[[bytes, int], Extracted] = named_object(
        BUILT_IN[kind].extract, "sleuth.ingest.extraction"
    )
    try:
        return reader(data, limit)
    except RecursionError:
        raise ExtractionError("nested too deeply", limit=True) from None


def answers(request: Mapping[str, Any], data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the text of a file or the picture of a page, or the reason of the failure."""
    try:
        if "page" in request:
            from sleuth.ingest.extraction.picture import page_picture

            yield (
                {},
                page_picture(
                    data,
                    request["page"],
                    dots_per_inch=request["dots_per_inch"],
                    colour=request["colour"],
                ),
            )
            return
        result = extract(request["kind"], data, request["limit"])
        yield (
            {"title": result.title, "metadata": result.metadata},
            result.text.encode("utf-8", "surrogatepass"),
        )
    except ExtractionError as error:
        # The memory may still hold an unfinished file.
        yield {"error": str(error), "limit": error.limit, "spent": error.limit}, b""
    except MemoryError:
        yield (
            {
                "error": f"needs more than {int(sys.argv[1]) >> 20:,} MB of memory to be read",
                "limit": True,
                "spent": True,
            },
            b"",
        )
    except Exception as error:  # noqa: BLE001  # an unforeseen error of a library
        yield {"error": f"{type(error).__name__}: {error}", "limit": False}, b""


if __name__ == "__main__":
    serve(int(sys.argv[1]), answers)
