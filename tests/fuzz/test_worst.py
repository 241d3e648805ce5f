"""Small files are read in the program itself, and the worst of them cost it little."""

from __future__ import annotations

import pytest

from sleuth.files import Processes
from sleuth.ingest.loaders import LARGE
from tests.fuzz.conftest import INPUTS, read
from tests.fuzz.worst import PAGE_BYTES, PAGES, WORST

SIZE = LARGE if INPUTS > 100 else LARGE // 16
"""Bytes of each: `make fuzz` tries the largest that are read in the program."""


@pytest.mark.parametrize("name", WORST)
def test_a_small_file(readers: Processes, name: str) -> None:
    """The worst files of text and rows are read, cut and prepared within 200 MB, and a second but for tiny rows."""
    read(readers, "document", name, WORST[name](SIZE), name)


@pytest.mark.parametrize("name", PAGES)
def test_a_small_page(readers: Processes, name: str) -> None:
    """The worst pages that are read in the program take no more than that."""
    read(readers, "document", name, PAGES[name](PAGE_BYTES), name)
