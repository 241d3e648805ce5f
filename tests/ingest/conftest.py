"""An index beside the files that tests index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An index of words, in `.sleuth` below the folder of the test."""
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as index:
        yield index
