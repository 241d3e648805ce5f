"""Indexing stores exactly the recorded contents, whatever makes it faster."""

import json

import pytest

from tests.code.stored import PLACE, digests, grammars


def test_what_is_stored_is_what_was_stored() -> None:
    """Files, texts, symbols, references, imports, chunks, postings and rankings equal the recorded ones.

    A change that means to alter them records them again: `python -m tests.code.stored`.
    """
    before = json.loads(PLACE.read_text())
    if before["grammars"] != grammars():
        pytest.skip("other versions of grammars are installed: what they find may differ")
    assert digests() == before["digests"]
