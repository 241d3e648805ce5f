"""Small files are read in the program itself, and the worst of them cost it little."""

import pytest

from sleuth.code.parsing.limits import IN_PLACE_BYTES
from sleuth.files.processes import Processes
from sleuth.ingest.loaders.apart import LARGE
from tests.code.stored import ENDINGS
from tests.fuzz.conftest import INPUTS, SECONDS, read
from tests.fuzz.worst import OPENINGS, PAGE_BYTES, PAGES, TINY, WORST, opened

SIZE = LARGE if INPUTS > 100 else LARGE // 16
"""Bytes of each: `make fuzz` tries the largest that are read in the program."""


@pytest.mark.parametrize("name", WORST)
def test_a_small_file(readers: Processes, name: str) -> None:
    """The worst files of text and rows are read, cut and prepared within 200 MB, and a second but for tiny rows."""
    read(readers, "document", name, WORST[name](SIZE), name, seconds=30.0 if name in TINY else SECONDS)


@pytest.mark.parametrize("name", PAGES)
def test_a_small_page(readers: Processes, name: str) -> None:
    """The worst pages that this process reads stay within the same limit."""
    read(readers, "document", name, PAGES[name](PAGE_BYTES), name)


@pytest.mark.parametrize("language", ENDINGS)
def test_a_short_source(readers: Processes, language: str) -> None:
    """Unclosed openings, alone and each before another name, are parsed within 200 MB and a second in the program."""
    for opening in OPENINGS if INPUTS > 100 else ("=>", "/*"):
        for ending in ("\n", " ", ""):
            alone = (f"{opening}{ending}".encode() * IN_PLACE_BYTES)[:IN_PLACE_BYTES]
            for source in (opened(opening, ending, IN_PLACE_BYTES), alone):
                read(readers, "code", f"a.{ENDINGS[language]}", source, opening + ending)
