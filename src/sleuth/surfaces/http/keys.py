"""Keys of clients: made once, kept as hashes, each with its scopes and the filter that limits what it sees.

A reader with a browser has a session: a signed value stands for the key, so that no cookie holds the key itself.
"""

from __future__ import annotations

import base64
import hmac
import math
import os
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sleuth.errors import ArgumentError
from sleuth.files import whole_file
from sleuth.filters import And, Compare, Filter, any_of, as_filter
from sleuth.surfaces.http.answers import Refusal, logger
from sleuth.surfaces.http.settings import WORKERS_VARIABLE
from sleuth.types.request import argument_error

Scope: TypeAlias = Literal["read", "write", "metrics"]
DEFAULT_SCOPES: tuple[Scope, ...] = ("read", "write")
PREFIX = "sleuth_"
"""Begins every key, so that scanners for leaked secrets can find one."""

NO_DOCUMENT = And((Compare("source", "exists", True), Compare("source", "exists", False)))
"""The filter of a key that is limited to code."""

_IS_CODE = Compare("source_type", "eq", "code")

_LOOKS = 1.0
"""Seconds between looks at whether the file has changed."""


class Key(BaseModel):
    """What a key allows, under the names of its file.

    Attributes:
        name: for the log.
        hash: SHA-256 of the key, in hexadecimal digits.
        scopes: "read", "write", and "metrics", which reads `/metrics` and nothing else.
        text: the filter, as its owner wrote it.
        code: with a filter, the repositories and folders of code that its owner sees (as of `CodeView`).
        expires: when it ends, in UTC where it has no zone; None for never.
        rate: requests a minute that each worker lets in; None for any number.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=r"^[\w.@-]{1,64}$")]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    text: Annotated[str | None, Field(alias="filter")]
    code: tuple[Annotated[str, Field(pattern=r"[^/ ]")], ...] = ()
    expires: datetime | None = None
    rate: Annotated[int, Field(ge=1)] | None = None

    @field_validator("text")
    @classmethod
    def _check_filter(cls, text: str | None) -> str | None:
        as_filter(text)
        return text

    @cached_property
    def filter(self) -> Filter | None:
        """The documents that its owner sees and may write; None for all, and for all code too."""
        tree = as_filter(self.text)
        return NO_DOCUMENT if self.code and tree is None else tree

    @property
    def limit(self) -> Filter | None:
        """What its owner may get from any source, as a filter; code is limited by `code` instead of by `filter`."""
        return any_of(self.filter, _IS_CODE) if self.filter is not None and self.code else self.filter

    @property
    def sees_code(self) -> bool:
        """Whether its owner sees some code."""
        return self.filter is None or bool(self.code)

    @property
    def is_valid(self) -> bool:
        """Whether it has not ended."""
        end = self.expires
        return end is None or time.time() < (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()


EVERYONE = Key.model_construct(name="everyone", hash="", scopes=DEFAULT_SCOPES, text=None)
"""The key of requests to a server without keys."""


class KeyFile:
    """The keys of a file. A change counts from the next second on; while the file cannot be read, no key is valid.

    The file holds SHA-256 hashes. That is enough since keys have 256 random bits: they cannot be guessed from a hash.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._looked = time.monotonic()
        self._keys: list[Key] = []
        self._problem = ""
        self._read()

    @property
    def problem(self) -> str:
        """Why no key is valid now: the file is gone, or cannot be read; "" where it is as it should be."""
        self._newest()
        return self._problem

    def find(self, token: str) -> Key | None:
        """Return the key that a client sent, None if there is no such key. Takes as long for every token."""
        digest, match = sha256(token.encode("utf-8", "replace")).hexdigest(), None
        for key in self._newest():
            if hmac.compare_digest(key.hash, digest):
                match = key
        return match if match is not None and match.is_valid else None

    def named(self, name: str) -> Key | None:
        """Return the key of this name; None if there is no such key, or it has ended."""
        return next((key for key in self._newest() if key.name == name and key.is_valid), None)

    def _newest(self) -> Sequence[Key]:
        if time.monotonic() - self._looked > _LOOKS:
            self._looked = time.monotonic()
            try:
                self._read()
                self._problem = ""
            except ArgumentError as error:  # what the file allows is not known, so it allows nothing
                self._keys = []
                if str(error) != self._problem:
                    logger.warning("no key is valid: %s", error)
                self._problem = str(error)
        return self._keys

    def _read(self) -> None:
        """Read the file if it changed since it was last read.

        Raises:
            ArgumentError: there is no file, or it cannot be read.
        """
        try:
            stat = self.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            self._stamp = None  # it is read again when it is back
            raise ArgumentError(
                f"keys must be a file, got {str(self.path)!r}; `sleuth serve keys add NAME --keys FILE` makes one"
            ) from None
        if stamp != self._stamp:
            self._stamp = None
            self._keys = read_keys(self.path)
            self._stamp = stamp


class _File(BaseModel):
    keys: list[Key]


def read_keys(path: Path) -> list[Key]:
    """Read and check the keys of a file.

    Raises:
        ArgumentError: a malformed file; says what is wrong.
    """
    try:
        return _File.model_validate_json(path.read_bytes()).keys
    except (OSError, ValidationError) as error:
        why = argument_error(error) if isinstance(error, ValidationError) else error
        raise ArgumentError(
            f"keys must be a file that `sleuth serve keys add` made, got {str(path)!r}: {why}"
        ) from error


def _write_keys(path: Path, keys: list[Key]) -> None:
    """Replace a keys file as a whole; only its owner may read it."""
    with whole_file(path) as out:
        out.write(_File(keys=keys).model_dump_json(indent=2, by_alias=True).encode() + b"\n")


def add_key(
    path: Path,
    name: str,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    filter: str | None = None,
    *,
    code: Sequence[str] = (),
    expires: str | None = None,
    rate: int | None = None,
) -> str:
    """Make a key, write its hash into the file and return it; it is shown nowhere else.

    A key with a filter sees no code but that of `code`, and one with `code` no documents but those of a filter.

    Args:
        code: each a repository (id, path or URL), a folder of repositories, or a repository with a folder or file in
            it, as in `/srv/shop/src`. A path that is there is made absolute.
        expires: date, or date and time, of its end, as in ISO 8601; in UTC where it names no zone.
        rate: requests a minute that each worker lets in.

    Raises:
        ArgumentError: a name that is taken or malformed, an unknown scope, or invalid code, time or rate.
        FilterError: a filter that cannot be read.
    """
    token = _new_token()
    places = [
        str(Path(place).resolve()) if place.strip() and Path(place).exists() else place for place in code
    ]
    values = {"name": name, "hash": _hash_of(token), "scopes": sorted(set(scopes)), "filter": filter}
    try:
        key = Key.model_validate({**values, "code": places, "expires": expires, "rate": rate})
    except ValidationError as error:
        raise argument_error(error) from error
    keys = read_keys(path) if path.exists() else []
    if any(file_key.name == name for file_key in keys):
        raise ArgumentError(f"name must be new, got {name!r}; `sleuth serve keys rotate {name}` replaces it")
    _write_keys(path, [*keys, key])
    return token


def remove_key(path: Path, name: str) -> None:
    """Take a key out of the file.

    Raises:
        ArgumentError: no key has this name.
    """
    keys = read_keys(path)
    _write_keys(path, [key for key in keys if key is not _key_of(name, keys)])


def rotate_key(path: Path, name: str) -> str:
    """Give the owner of a key a new one with the same rights, and return it; the old one is refused from then on.

    Raises:
        ArgumentError: no key has this name.
    """
    keys, token = read_keys(path), _new_token()
    place = keys.index(_key_of(name, keys))
    keys[place] = keys[place].model_copy(update={"hash": _hash_of(token)})
    _write_keys(path, keys)
    return token


def _key_of(name: str, keys: Sequence[Key]) -> Key:
    for key in keys:
        if key.name == name:
            return key
    names = ", ".join(key.name for key in keys) or "none"
    raise ArgumentError(f"name must be among {names}, got {name!r}")


def _new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _hash_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


_MINUTE = 60.0  # in seconds: rates are requests a minute
_ROUNDING = 1e-6
"""Seconds by which sums of times may be wrong."""


class Rates:
    """How many requests each key may make: a bucket of tokens for each, which a minute refills.

    Of one worker, for its event loop alone.
    """

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}
        """When a bucket will be full again, by name of the key: that says how much is in it."""

    def take(self, key: Key) -> None:
        """Take one request from the bucket of a key.

        Raises:
            Refusal: 429, with the seconds until the next request is let in.
        """
        if key.rate is None:
            return
        now = time.monotonic()
        full_at = max(now, self._full_at.get(key.name, now)) + _MINUTE / key.rate
        if (wait := full_at - now - _MINUTE) > _ROUNDING:
            seconds = math.ceil(wait)
            raise Refusal(
                429,
                "RateError",
                f"the key {key.name!r} may make {key.rate} requests a minute; try again in {seconds} s",
                {"retry-after": str(seconds)},
            )
        self._full_at[key.name] = full_at


SECONDS = 12 * 3600
"""How long a session lasts."""

SHARED_FILE = "sessions"
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
        if key is None:
            return None
        return self._signed(key, int(time.time()) + SECONDS)

    def find(self, value: str) -> Key | None:
        """Return the key of a session, or None where it has ended or was never begun."""
        encoded, _, tail = value.partition(".")
        try:
            name, end = base64.urlsafe_b64decode(encoded).decode(), int(tail.partition(".")[0])
        except ValueError:
            return None
        key = self._keys.named(name)
        if key is None or end <= time.time():
            return None
        is_ours = hmac.compare_digest(self._signed(key, end).encode(), value.encode())
        return key if is_ours else None

    def _signed(self, key: Key, end: int) -> str:
        """Return the value of a session of a key."""
        head = f"{base64.urlsafe_b64encode(key.name.encode()).decode()}.{end}"
        return f"{head}.{hmac.digest(self._secret, f'{head}.{key.hash}'.encode(), sha256).hex()}"


def write_secret(folder: Path) -> None:
    """Write what the workers of a server sign with into the folder that they share."""
    with whole_file(folder / SHARED_FILE, durable=False) as out:
        out.write(secrets.token_bytes(32))
