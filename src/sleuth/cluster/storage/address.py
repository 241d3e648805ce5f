"""The address of a published index: `s3://bucket/name`, or `s3://bucket/name@7` for its version 7."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sleuth.cluster.places import SCHEMES
from sleuth.errors import ArgumentError

_PARTS = re.compile(r"([a-z0-9]+)://([^?#]*?)(?:@([0-9]+))?/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a published index is.

    Attributes:
        url: of the folder that holds its versions, without a version.
        version: the one that is meant; None for the newest.
    """

    url: str
    version: int | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address that a text spells.

        Raises:
            ArgumentError: states the form.
        """
        match = _PARTS.fullmatch(text)
        if match is None or match[1].lower() not in SCHEMES or not match[2].strip("/"):
            raise ArgumentError(
                "address must be s3://BUCKET/NAME, gs://BUCKET/NAME, az://CONTAINER/NAME or file:///FOLDER, "
                f"with @VERSION after it for one version, got {text!r}"
            )
        if "@" in match[2]:
            raise ArgumentError(
                f"address must have a number after @, and no user or password, got {match[1]}://…"
            )
        version = int(match[3]) if match[3] else None
        return cls(f"{match[1].lower()}://{match[2].rstrip('/')}", version)

    def __str__(self) -> str:
        return self.url if self.version is None else f"{self.url}@{self.version}"
