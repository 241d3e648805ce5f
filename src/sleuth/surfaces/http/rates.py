"""How many requests each key may make: a bucket of tokens for each, which a minute refills."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sleuth.surfaces.http.problems import Refusal

if TYPE_CHECKING:
    from sleuth.surfaces.http.keys import Key

_SECONDS = 60.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    """The buckets of all keys that have a rate; of one worker, for its event loop alone."""

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
        refilled = (now - bucket.at) * key.rate / _SECONDS
        bucket.tokens, bucket.at = min(float(key.rate), bucket.tokens + refilled), now
        if bucket.tokens < 1:
            seconds = math.ceil((1 - bucket.tokens) * _SECONDS / key.rate)
            raise Refusal(
                429,
                "RateError",
                f"the key {key.name!r} may make {key.rate} requests a minute; try again in {seconds} s",
                {"retry-after": str(seconds)},
            )
        bucket.tokens -= 1
