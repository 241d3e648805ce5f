"""The index that tests of code share."""

from tests.code.conftest import storage

__all__ = ["storage"]
