"""Results as rows of a data frame. `Engine.add` takes data frames, Arrow tables and data sets as they are.

import pandas
from sleuth.plugins.frameworks.tables import to_rows

engine.add(frame, text_field="body")
pandas.DataFrame(to_rows(engine.retrieve("refilling buckets")))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sleuth.types import RetrievedItem

_OWN = ("rank", "id", "document_id", "score", "text")


def to_rows(items: Iterable[RetrievedItem]) -> list[dict[str, Any]]:
    """Return results as rows, which `pandas.DataFrame`, `polars.DataFrame` and `pyarrow.Table.from_pylist` take.

    The columns are `rank` (from 1), `id`, `document_id`, `score`, `text`, and each key of metadata. Keys of these names
    are left out. Results without a value have None there.
    """
    items = list(items)
    keys = {key: None for item in items for key in item.metadata if key not in _OWN}
    return [
        {
            "rank": rank,
            "id": item.id,
            "document_id": item.document_id,
            "score": item.score,
            "text": item.text,
            **{key: item.metadata.get(key) for key in keys},
        }
        for rank, item in enumerate(items, 1)
    ]
