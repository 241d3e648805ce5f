"""Where indexes of the cluster are: addresses in object storage, and folders of shards."""

from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.cluster.places import address_of
from sleuth.errors import ArgumentError


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3://bucket/name@7", "s3://bucket/name@7"), ("S3://bucket/name", "S3://bucket/name"),
        (Path("s3://bucket/name"), "s3://bucket/name"), (Path("file:///folder/name"), "file:///folder/name"),
        ("file:///folder/name", "file:///folder/name"), ("s3:/bucket", None), ("index", None),
        (Path("s3"), None), ("https://example.org/name", None), (None, None),
    ],
)  # fmt: skip
def test_addresses_are_told_from_folders(path: Any, address: str | None) -> None:
    """An address has a known scheme; a path that lost a slash of it gets the slash back."""
    assert address_of(path) == address


@pytest.mark.parametrize("address", ["s3://", "file://", "file://folder/name"])
def test_an_address_without_a_name_is_refused(address: str) -> None:
    """What begins like an address is never opened as a folder, and a folder is named from the root on."""
    with pytest.raises(ArgumentError, match="address must be s3://BUCKET/NAME"):
        Engine.open(address, create=True)
    assert not Path("s3:").exists()
