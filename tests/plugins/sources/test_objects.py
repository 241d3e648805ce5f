"""Objects in storage, by a server that speaks S3."""

from typing import Any

import pytest

from sleuth import ArgumentError
from sleuth.plugins.sources.objects import ObjectSource
from sleuth.testing.contracts import SourceContract
from tests.cluster.conftest import BUCKET, s3, s3_endpoint  # noqa: F401 - fixtures


class TestObjects(SourceContract):
    """The contract holds for a folder in a bucket."""

    @pytest.fixture(autouse=True)
    def _bucket(self, s3: Any) -> None:  # noqa: F811
        self.s3 = s3
        for name in ("a.md", "deep/b.md", "c.md", "x#1.md", "%2e%2e.md"):
            self.put(name, f"The tide {name}.")

    def put(self, name: str, text: str) -> None:
        self.s3.put_object(Bucket=BUCKET, Key=f"corpus/{name}", Body=text.encode())

    def make(self) -> ObjectSource:
        return ObjectSource(f"s3://{BUCKET}/corpus/")

    def change(self) -> None:
        self.put("deep/b.md", "Another tide.")
        self.s3.delete_object(Bucket=BUCKET, Key="corpus/c.md")
        self.put("d.md", "The wave.")


def test_an_address_without_a_bucket_is_refused() -> None:
    """The error shows what is missing."""
    with pytest.raises(ArgumentError, match="s3://BUCKET/FOLDER"):
        ObjectSource("s3://")
