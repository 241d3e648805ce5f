"""Sessions of readers with a browser: a signed value stands for their key, so that no cookie holds the key itself."""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sleuth.files import whole_file
from sleuth.surfaces.http.metrics import WORKERS_VARIABLE

if TYPE_CHECKING:
    from sleuth.surfaces.http.keys import Key, KeyFile

SECONDS: Final = 12 * 3600
"""How long a session lasts."""

SHARED_FILE: Final = "sessions"
"""In the folder that several workers share: what they sign with."""


class Sessions:
    """Begins sessions and finds their keys. A session ends with its time, its key or the server.

    A value holds the name of a key, the time of its end, and a code over both and the hash of the key.
    """

    def __init__(self, keys: KeyFile, secret: bytes | None = None) -> None:
        """Make sessions over keys.

        Args:
            secret: what values are signed with; None for that of the workers of this server, or a new one.
        """
        self._keys = keys
        folder = os.environ.get(WORKERS_VARIABLE)
        if secret is None and folder and (path := Path(folder, SHARED_FILE)).is_file():
            secret = path.read_bytes()
        self._secret = secret or secrets.token_bytes(32)

    def begin(self, token: str) -> str | None:
        """Return the value of a new session, or None for a key that is not known."""
        key = self._keys.find(token)
        return None if key is None else self._signed(key.name, int(time.time()) + SECONDS)

    def find(self, value: str) -> Key | None:
        """Return the key of a session, or None where it has ended or was never begun."""
        name, _, tail = value.partition(".")
        end, _, _ = tail.partition(".")
        try:
            text = base64.urlsafe_b64decode(name).decode()
            is_over = int(end) <= time.time()
        except ValueError:
            return None
        expected = self._signed(text, int(end))
        if is_over or expected is None or not hmac.compare_digest(expected.encode(), value.encode()):
            return None
        return self._keys.named(text)

    def _signed(self, name: str, end: int) -> str | None:
        """Return the value of a session, or None where there is no such key."""
        digest = self._keys.digest_of(name)
        if digest is None:
            return None
        head = f"{base64.urlsafe_b64encode(name.encode()).decode()}.{end}"
        code = hmac.digest(self._secret, head.encode() + b"." + digest, sha256).hex()
        return f"{head}.{code}"


def write_secret(folder: Path) -> None:
    """Write what the workers of a server sign with into the folder that they share."""
    with whole_file(folder / SHARED_FILE, durable=False) as out:
        out.write(secrets.token_bytes(32))
