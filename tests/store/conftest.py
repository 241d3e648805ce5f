import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.store.store import Store
from tests.store.words import SumsLeg


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return an empty store with one leg, and check that no thread is left."""
    before = threading.active_count()
    with Store.open(tmp_path / "index", create=True, settings={"analyzer": "plain"}) as new_store:
        assert new_store.attach([SumsLeg()]) == []
        yield new_store
    assert threading.active_count() <= before  # threads of other tests may have ended meanwhile
