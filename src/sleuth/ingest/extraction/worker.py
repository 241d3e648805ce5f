"""The process that extracts files: `python -m sleuth.ingest.extraction.worker SECONDS BYTES`.

It reads requests from standard input and writes answers to standard output. Each is a line of JSON, followed by as many
bytes as that line states. It opens no file and imports nothing of the program that started it. If it crashes, only the
file it was reading is skipped.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import suppress
from typing import Any

from sleuth.ingest.extraction.result import Extracted, ExtractionError


def extract(kind: str, data: bytes, limit: int) -> Extracted:
    """Extract a file of a kind, in this process.

    Raises:
        ExtractionError: no text; the message says why.
    """
    try:
        if kind == "pdf":
            from sleuth.ingest.extraction.pdf import extract_pdf

            return extract_pdf(data, limit)
        if kind == "docx":
            from sleuth.ingest.extraction.docx import extract_docx

            return extract_docx(data, limit)
        from sleuth.ingest.extraction.html import extract_html

        return extract_html(data, limit)
    except RecursionError:
        raise ExtractionError("nested too deeply", limit=True) from None


def serve(seconds: int, memory: int) -> None:
    """Answer requests until standard input ends.

    Args:
        seconds: of CPU for each file; the kernel kills the process at this limit.
        memory: bytes of address space.
    """
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # not every system supports this limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while line := source.readline():
        request = json.loads(line)
        until = int(time.process_time()) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        head, body = _answer(request["kind"], source.read(request["size"]), request["limit"], memory)
        answers.write(json.dumps({**head, "size": len(body)}).encode() + b"\n" + body)
        answers.flush()


def _answer(kind: str, data: bytes, limit: int, memory: int) -> tuple[dict[str, Any], bytes]:
    try:
        result = extract(kind, data, limit)
        return {"title": result.title, "metadata": result.metadata}, result.text.encode(
            "utf-8", "surrogatepass"
        )
    except ExtractionError as error:
        return {"error": str(error), "limit": error.limit}, b""
    except MemoryError:
        return {"error": f"needs more than {memory >> 20:,} MB of memory to be read", "limit": True}, b""
    except Exception as error:  # noqa: BLE001  # an unforeseen error of a library
        return {"error": f"{type(error).__name__}: {error}", "limit": False}, b""


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
