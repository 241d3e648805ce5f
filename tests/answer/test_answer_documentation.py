"""The pages about models and vector stores name what their packages export."""

from __future__ import annotations

from pathlib import Path

import sleuth.llm
import sleuth.vector_store
from sleuth.testing.ollama import FAULTS

DOCS = Path(__file__).parents[2] / "docs"


def test_they_name_everything() -> None:
    """Every public name of these packages occurs in a guide."""
    text = "\n".join(path.read_text("utf8") for path in (DOCS / "how-to").glob("*.md"))
    explained = {"OllamaStatus"}  # what ollama_status gives
    explained |= {
        "ArrowTable",
        "BATCH",
        "documents_of",
        "fingerprint_of",
        "open_client",
        "read_rows",
        "row_document",
    }  # for importers
    names = {*sleuth.llm.__all__, *sleuth.vector_store.__all__} - explained
    assert sorted(name for name in names if name not in text) == []
    assert "busy" in FAULTS
