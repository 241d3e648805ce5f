"""Hides the keys of a request in everything that the server sends back."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote_plus

HIDDEN = "[key]"
_SHORTEST = 8
"""Minimum characters of a hidden key: a shorter one is not secret, and its text occurs by chance."""
_SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-amz-security-token")


class Mask:
    """Hides secrets as they are, in JSON, percent-encoded and in base64.

    Args:
        secrets: those shorter than 8 characters are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = [form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)]
        self._texts = sorted(set(forms), key=len, reverse=True)
        self._bytes = [form.encode("utf-8", "replace") for form in self._texts]

    @classmethod
    def of_headers(cls, headers: Mapping[str, str]) -> Mask:
        """Return a mask of the keys in a request's headers."""
        values = [value for name, value in headers.items() if name.lower() in _SECRET_HEADERS]
        return cls([part for value in values for part in (value, value.rpartition(" ")[2])])

    @classmethod
    def of_url(cls, url: str) -> Mask:
        """Return a mask of the values in a URL's query, any of which may be a key."""
        query = url.partition("#")[0].partition("?")[2]
        values = [value for field in query.split("&") for value in (field.partition("=")[2], field)]
        return cls([form for value in values for form in (value, unquote_plus(value))])

    def hide(self, text: str) -> str:
        """Replace each secret in `text` by `[key]`."""
        for form in self._texts:
            text = text.replace(form, HIDDEN)
        return text

    def hide_bytes(self, data: bytes) -> bytes:
        """Replace each byte of a secret in `data` by a star, so that its length stays."""
        for form in self._bytes:
            if form in data:
                data = data.replace(form, b"*" * len(form))
        return data


def _forms(secret: str) -> list[str]:
    quoted = json.dumps(secret)[1:-1]
    return [
        secret,
        quoted,
        quoted.replace("/", "\\/"),
        quote(secret, safe=""),
        b64encode(secret.encode("utf-8", "replace")).decode().rstrip("="),
    ]
