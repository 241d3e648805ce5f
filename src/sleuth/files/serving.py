"""The other end of `sleuth.files.processes`: a process that answers requests under limits of time and memory."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from sleuth import platform

_FRAME: Final = struct.Struct("<QQ")


def serve(
    memory: int, answers: Callable[[Mapping[str, Any], bytes], Iterator[tuple[dict[str, Any], bytes]]]
) -> None:
    """Answer requests from standard input until it closes.

    Args:
        memory: bytes that this process may take in addition to its current size.
        answers: yields the answers to a request, as `sleuth.files.processes.ProcessReply` describes them. A head with
            "spent" says that this process should answer no other request.
    """
    requests = sys.stdin.buffer
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    platform.limit_memory(memory)
    _write(pipe, {}, b"")  # tells the parent that this process is ready
    while frame := requests.read(_FRAME.size):
        head_size, body_size = _FRAME.unpack(frame)
        head: dict[str, Any] = json.loads(requests.read(head_size))
        body = requests.read(body_size)
        platform.limit_cpu(head["seconds"])
        for answer in answers(head, body):
            _write(pipe, *answer)
        platform.limit_cpu(0)


def _write(pipe: BinaryIO, head: Mapping[str, Any], body: bytes) -> None:
    encoded = json.dumps(head).encode()
    pipe.write(_FRAME.pack(len(encoded), len(body)) + encoded)
    pipe.write(body)
    pipe.flush()
