"""Work for a cancelled request stops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sleuth import CodeRetriever, Engine, index_path, open_code
from sleuth.code import Navigator
from sleuth.errors import SleuthError
from sleuth.remote import Cancellation, context_of

CALLS: dict[str, Callable[[Engine], Any]] = {
    "retrieve": lambda engine: engine.retrieve("tokens"),
    "facets": lambda engine: engine.facets(["tenant"], query="tokens"),
    "count": lambda engine: engine.count("year>=2020"),
    "list": lambda engine: engine.list_documents(),
}


def after_its_end(call: Callable[[], Any]) -> None:
    """Call a function for a caller that has gone; it must do nothing.

    Raises:
        SleuthError: as it must.
    """
    cancellation = Cancellation()
    context = context_of(cancellation)
    context.run(call)
    cancellation.cancel()
    context.run(call)


@pytest.mark.parametrize("name", CALLS)
def test_documents_are_not_read_for_nobody(index: Path, name: str) -> None:
    """Searches, facets, counts and lists stop after the request's deadline."""
    with Engine.open(index) as engine, pytest.raises(SleuthError, match="cancelled"):
        after_its_end(lambda: CALLS[name](engine))


def test_code_is_not_read_for_nobody(tmp_path: Path) -> None:
    """Searches for code and uses of names stop after it too."""
    (tmp_path / "shop.py").write_text("def refill():\n    return 1\n\n\nrefill()\n", "utf-8")
    with open_code(tmp_path / ".sleuth", create=True) as storage:
        index_path(storage, tmp_path, workers=1)
        (repository,) = storage.repositories()
        snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
        with pytest.raises(SleuthError, match="cancelled"):
            after_its_end(
                lambda: CodeRetriever(storage, None).retrieve("refill", repository.id, strategy="keyword")
            )
        with pytest.raises(SleuthError, match="cancelled"):
            after_its_end(lambda: Navigator(snapshot).find_references("refill"))
