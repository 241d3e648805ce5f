"""Hooks of plugins apply to the searches of other services, too."""

from typing import Any

import pytest

from tests.surfaces.http import test_hooks
from tests.surfaces.http.conftest import Local

guarded = test_hooks.guarded


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/vector_stores/index/search", {}),
        ("/retrieval", {"knowledge_id": "index", "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}}),
    ],
)
def test_no_path_goes_around_a_permission_filter(guarded: Local, path: str, body: dict[str, Any]) -> None:
    """They show only what a plugin allows."""
    question = body | {"query": test_hooks.EVERYTHING}
    test_hooks.test_no_path_goes_around_a_permission_filter(guarded, path, question)
