"""A process that takes the bytes that each request names and keeps them: `python -m tests.files.hoarder BYTES`.

It ends by the signal that a request names, and works as many seconds of CPU as it names.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from sleuth.files.serving import serve

KEPT: list[bytearray] = []


def answers(request: Mapping[str, Any], body: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield how many requests were answered; or that the memory is spent, as the request says by an answer or not."""
    if "signal" in request:
        os.kill(os.getpid(), request["signal"])
    until = time.process_time() + request.get("works", 0.0)
    while time.process_time() < until:
        pass
    try:
        KEPT.append(bytearray(request["bytes"]))
    except MemoryError:
        if request["ends"]:
            os.abort()  # as parsers do
        yield {"spent": True}, b""
    else:
        yield {"answered": len(KEPT)}, body


if __name__ == "__main__":
    serve(int(sys.argv[1]), answers)
