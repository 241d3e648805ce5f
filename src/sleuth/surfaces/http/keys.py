"""Keys of clients: made once, kept as hashes, each with its scopes and the filter that limits what it sees."""

from __future__ import annotations

import hmac
import json
import logging
import math
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.files import whole_file
from sleuth.filters import And, Compare, Filter, any_of, as_filter
from sleuth.surfaces.http.problems import Refusal

Scope: TypeAlias = Literal["read", "write", "metrics"]
SCOPES: tuple[Scope, ...] = ("read", "write", "metrics")
DEFAULT_SCOPES: tuple[Scope, ...] = ("read", "write")
PREFIX = "sleuth_"
"""Begins every key, so that scanners for leaked secrets can find one."""

NO_DOCUMENT = And((Compare("source", "exists", True), Compare("source", "exists", False)))
"""The filter of a key that is limited to code."""

_IS_CODE = Compare("source_type", "eq", "code")

logger = logging.getLogger("sleuth.http")

_NAME = re.compile(r"[\w.@-]{1,64}")
_LOOKS = 1.0
"""Seconds between looks at whether the file has changed."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a key allows.

    Attributes:
        name: for the log.
        scopes: "read", "write", and "metrics", which reads `/metrics` and nothing else.
        filter: the documents that its owner sees and may write; None for all, and for all code too.
        code: with a filter, the repositories and folders of code that its owner sees (as of `CodeView`).
        expires: when it ends, in seconds since 1970; None for never.
        rate: requests a minute that each worker lets in; None for any number.
    """

    name: str
    scopes: frozenset[Scope] = frozenset(DEFAULT_SCOPES)
    filter: Filter | None = None
    expires: float | None = None
    rate: int | None = None
    code: tuple[str, ...] = ()

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
        return self.expires is None or time.time() < self.expires


EVERYONE = Key("everyone")
"""The key of requests to a server without keys."""


class KeyFile:
    """The keys of a file. A change counts from the next second on; while the file cannot be read, no key is valid.

    The file holds SHA-256 hashes. That is enough since keys have 256 random bits: they cannot be guessed from a hash.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._looked = time.monotonic()
        self._entries: list[tuple[bytes, Key]] = []
        self._problem = ""
        self._read()

    @property
    def problem(self) -> str:
        """Why no key is valid now: the file is gone, or cannot be read; "" where it is as it should be."""
        self._newest()
        return self._problem

    def find(self, token: str) -> Key | None:
        """Return the key that a client sent, None if there is no such key. Takes as long for every token."""
        digest = sha256(token.encode("utf-8", "replace")).digest()
        match = None
        for key_digest, key in self._newest():
            if hmac.compare_digest(key_digest, digest):
                match = key
        return match if match is not None and match.is_valid else None

    def named(self, name: str) -> Key | None:
        """Return the key of this name, None if there is no such key."""
        return next((key for _, key in self._newest() if key.name == name and key.is_valid), None)

    def digest_of(self, name: str) -> bytes | None:
        """Return the hash of the key of this name, None if there is no such key."""
        return next((digest for digest, key in self._newest() if key.name == name), None)

    def _newest(self) -> Sequence[tuple[bytes, Key]]:
        if time.monotonic() - self._looked > _LOOKS:
            self._looked = time.monotonic()
            try:
                self._read()
                self._problem = ""
            except ArgumentError as error:  # what the file allows is not known, so it allows nothing
                self._entries = []
                if str(error) != self._problem:
                    logger.warning("no key is valid: %s", error)
                self._problem = str(error)
        return self._entries

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
            self._entries = [(bytes.fromhex(entry["hash"]), _key(entry)) for entry in read_entries(self.path)]
            self._stamp = stamp


def _key(entry: Mapping[str, Any]) -> Key:
    expires, code, filter = entry.get("expires"), tuple(entry.get("code") or ()), as_filter(entry["filter"])
    return Key(
        entry["name"],
        frozenset(entry["scopes"]),
        NO_DOCUMENT if code and filter is None else filter,
        expires=None if expires is None else end_of(expires),
        rate=entry.get("rate"),
        code=code,
    )


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Read and check the entries of a keys file.

    Raises:
        ArgumentError: a malformed file; says what is wrong.
    """
    try:
        entries = json.loads(path.read_text("utf8"))["keys"]
        for entry in entries:
            check_name(entry["name"])
            check_scopes(entry["scopes"])
            as_filter(entry["filter"])
            check_hash(entry["hash"])
            check_rate(entry.get("rate"))
            check_code(entry.get("code") or ())
            if entry.get("expires") is not None:
                end_of(entry["expires"])
    except ArgumentError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArgumentError(
            f"keys must be a file that `sleuth serve keys add` made, got {str(path)!r}: {error!r}"
        ) from error
    return list(entries)


def write_entries(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Replace a keys file as a whole; only its owner may read it."""
    with whole_file(path) as out:
        out.write(json.dumps({"keys": list(entries)}, indent=2).encode() + b"\n")


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
    check_name(name)
    check_scopes(scopes)
    as_filter(filter)
    check_rate(rate)
    check_code(code)
    if expires is not None:
        end_of(expires)
    entries = read_entries(path) if path.exists() else []
    if any(entry["name"] == name for entry in entries):
        raise ArgumentError(f"name must be new, got {name!r}; `sleuth serve keys rotate {name}` replaces it")
    token = _new_token()
    entry = {
        "name": name,
        "hash": _hash_of(token),
        "scopes": sorted(set(scopes)),
        "filter": filter,
        "code": [str(Path(place).resolve()) if Path(place).exists() else place for place in code],
        "expires": expires,
        "rate": rate,
    }
    write_entries(path, [*entries, entry])
    return token


def remove_key(path: Path, name: str) -> None:
    """Take a key out of the file.

    Raises:
        ArgumentError: no key has this name.
    """
    entries = read_entries(path)
    others = [entry for entry in entries if entry["name"] != name]
    if len(others) == len(entries):
        raise _unknown_name(name, entries)
    write_entries(path, others)


def rotate_key(path: Path, name: str) -> str:
    """Give the owner of a key a new one with the same rights, and return it; the old one is refused from then on.

    Raises:
        ArgumentError: no key has this name.
    """
    entries = read_entries(path)
    entry = next((entry for entry in entries if entry["name"] == name), None)
    if entry is None:
        raise _unknown_name(name, entries)
    token = _new_token()
    entry["hash"] = _hash_of(token)
    write_entries(path, entries)
    return token


def end_of(text: Any) -> float:
    """Return when a key ends, in seconds since 1970.

    Raises:
        ArgumentError: neither a date nor a date and time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise ArgumentError(f"expires must be a date such as 2027-01-31, got {text!r}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def check_rate(rate: Any) -> None:
    """Refuse a rate below one request a minute."""
    if rate is not None and (type(rate) is not int or rate < 1):
        raise ArgumentError(f"rate must be at least 1 request a minute, got {rate!r}")


def check_code(code: Any) -> None:
    """Refuse what names no repository and no folder."""
    if isinstance(code, str) or not all(isinstance(place, str) and place.strip("/ ") for place in code):
        raise ArgumentError(f"code must be repositories or folders of them, got {code!r}")


def _new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _hash_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _unknown_name(name: str, entries: Sequence[Mapping[str, Any]]) -> ArgumentError:
    names = ", ".join(entry["name"] for entry in entries) or "none"
    return ArgumentError(f"name must be among {names}, got {name!r}")


def check_name(name: Any) -> None:
    """Refuse a name that would not be safe in a log."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"name must be 1 to 64 letters, digits and . _ @ -, got {name!r}")


def check_hash(hash: str) -> None:
    """Refuse what is not a SHA-256 in hexadecimal digits."""
    if len(bytes.fromhex(hash)) != sha256().digest_size:
        raise ArgumentError(f"hash must have 64 hexadecimal digits, got {hash!r}")


def check_scopes(scopes: Any) -> None:
    """Refuse unknown scopes, and none at all."""
    if not scopes or not isinstance(scopes, Sequence) or not set(scopes) <= set(SCOPES):
        raise ArgumentError(f"scopes must be among {', '.join(SCOPES)}, got {scopes!r}")


_MINUTE = 60.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    """How many requests each key may make: a bucket of tokens for each, which a minute refills.

    Of one worker, for its event loop alone.
    """

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}

    def take(self, key: Key) -> None:
        """Take one request from the bucket of a key.

        Raises:
            Refusal: 429, with the seconds until the next request is let in.
        """
        if key.rate is None:
            return
        now = time.monotonic()
        bucket = self._buckets.setdefault(key.name, _Bucket(key.rate, now))
        refilled = (now - bucket.at) * key.rate / _MINUTE
        bucket.tokens, bucket.at = min(float(key.rate), bucket.tokens + refilled), now
        if bucket.tokens < 1:
            seconds = math.ceil((1 - bucket.tokens) * _MINUTE / key.rate)
            raise Refusal(
                429,
                "RateError",
                f"the key {key.name!r} may make {key.rate} requests a minute; try again in {seconds} s",
                {"retry-after": str(seconds)},
            )
        bucket.tokens -= 1
