"""Tenants whose imports do not touch what another tenant sees."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from sleuth import ArgumentError, Engine
from sleuth.plugins.importers import import_vectors, read_vectors
from sleuth.plugins.importers.stored import StoredVectors
from tests.examples import EXPLORING
from tests.surfaces.test_isolation import TENANT_VALUES, TENANTS, TEXTS, TwoTenants


class ImportingTenants(TwoTenants):
    """Two tenants who also import rows."""

    @rule(tenant=st.sampled_from(TENANTS), text=TEXTS, value=TENANT_VALUES, re_embed=st.booleans())
    def import_rows(self, tenant: str, text: str, value: Any, re_embed: bool) -> None:
        """Import rows of a file through the engine; with vectors, that is refused."""
        path = self.folder / "rows.jsonl"
        row = {"id": "a.md", "text": text, "tenant": value, "vector": [1.0, 2.0]}
        path.write_text(json.dumps(row) + "\n")
        self.change(tenant, lambda client: import_vectors(client.view, read_vectors(path), re_embed=re_embed))


def test_no_import_of_a_tenant_changes_what_another_one_sees() -> None:
    """Documents, passages, hits, counts, facets and keys of a tenant stay, whatever another one imports."""
    pytest.importorskip("mcp")
    run_state_machine_as_test(
        ImportingTenants,
        settings=settings(max_examples=10 if EXPLORING else 2, stateful_step_count=12, deadline=None),
    )


def test_an_import_with_vectors_needs_the_whole_index(tmp_path: Path) -> None:
    """A view of some documents refuses rows with vectors, and adds nothing."""
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        with pytest.raises(ArgumentError, match=r"scope must be None to|re_embed must be True"):
            import_vectors(engine.scoped("tenant:us"), StoredVectors("none", ()))
        assert engine.count().documents == 0
