"""What a view of an engine may write: a change through it lies in its scope, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.errors import ArgumentError
from sleuth.filters import lies_within
from sleuth.store import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sleuth.engine.search import Searchers
    from sleuth.filters import Filter
    from sleuth.store import DocumentBatch, IndexSnapshot


def check_batch(scope: Filter, batch: DocumentBatch) -> None:
    """Refuse documents that would not lie in a scope.

    Raises:
        ArgumentError: names the first one.
    """
    for row, id in enumerate(batch.ids):
        own, title = batch.metadata.at(row), batch.titles.at(row)
        values = {"source": batch.sources.at(row) or id, **({"title": title} if title else {})}
        if not lies_within(scope, {**values, **(own.values if own else {})}):
            raise _outside(id)
    for metadata, row in zip(rows_of(batch, batch.keys(1)).metadata, batch.owners().tolist(), strict=True):
        if not lies_within(scope, metadata):
            raise _outside(batch.ids[row])


def check_documents(
    scope: Filter, ids: Iterable[str], snapshot: IndexSnapshot, searchers: Searchers
) -> Sequence[str]:
    """Return ids of documents that a view sees; refuse those that do not lie in its scope as a whole.

    Raises:
        ArgumentError: names the first one.
    """
    names = list(ids)
    if names:
        keys = searchers.select(snapshot, scope).document_keys(whole=True)
        documents = snapshot.documents_at(keys.tolist())
        whole = {document.id for document in documents if lies_within(scope, document.metadata)}
        for name in names:
            if name not in whole:
                raise _outside(name)
    return names


def _outside(id: str) -> ArgumentError:
    return ArgumentError(
        "documents must match the scope of this engine with each passage and each value of a list, before and after "
        f"the change, got {id!r}"
    )
