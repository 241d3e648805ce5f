"""Runs the program that recognises text in pictures of pages."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Final

from sleuth import platform

_SECONDS: Final = 120
"""Time for one page."""
_MOST_BYTES: Final = 1 << 20
"""Text of one page; what is longer is cut."""


class RecognitionError(Exception):
    """The program gave no text; the message says why."""


def recognise(command: Sequence[str], picture: bytes) -> str:
    """Return the text that a program reads in a picture.

    The program is started without a shell, gets the picture on its standard input and writes UTF-8 to its standard
    output.

    Args:
        command: the program and its arguments.
        picture: as PNG.

    Raises:
        RecognitionError: it cannot be started, failed, or took too long.
    """
    name = command[0]
    try:
        process = platform.start_apart(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        raise RecognitionError(f"{name} cannot be started: {error}") from error
    try:
        output, _ = process.communicate(picture, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise RecognitionError(f"{name} took more than {_SECONDS} s for a page") from None
    finally:
        if process.poll() is None:
            platform.end_apart(process)
            process.communicate()
    if process.returncode != 0:
        raise RecognitionError(f"{name} failed with status {process.returncode}")
    return output[:_MOST_BYTES].decode("utf-8", "replace").replace("\f", "\n").replace("\0", "").strip()
