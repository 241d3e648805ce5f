"""What `sleuth cluster index` takes as a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import ArgumentError
from sleuth.cluster.ray import index_on_ray
from tests.commands import sleuth


def test_an_address_is_no_source(tmp_path: Path) -> None:
    """An address of storage is refused with what to do, and nothing is written to the destination."""
    address = f"file://{tmp_path}/published"
    with pytest.raises(ArgumentError, match="got s3://bucket/docs: mount the storage"):
        index_on_ray(address, [tmp_path, "s3://bucket/docs"])
    process = sleuth("cluster", "index", address, "s3://bucket/docs", cwd=tmp_path)
    assert process.returncode == 2
    assert "got s3://bucket/docs: mount the storage" in " ".join(process.stderr.split())
    assert not (tmp_path / "published").exists()
