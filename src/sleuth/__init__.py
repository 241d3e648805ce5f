"""Sleuth finds the passages that answer a question and writes answers that cite them.

Names are imported when first used, so that `import sleuth` costs almost nothing.
"""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine as Engine
    from sleuth.errors import ArgumentError as ArgumentError
    from sleuth.errors import FilterError as FilterError
    from sleuth.errors import RetrievalError as RetrievalError
    from sleuth.errors import SleuthError as SleuthError
    from sleuth.errors import StoreError as StoreError
    from sleuth.types import Chunk as Chunk
    from sleuth.types import Document as Document
    from sleuth.types import Explanation as Explanation
    from sleuth.types import PartReport as PartReport
    from sleuth.types import Ranking as Ranking
    from sleuth.types import RetrievedItem as RetrievedItem

_HOMES = {
    "ArgumentError": "sleuth.errors",
    "Chunk": "sleuth.types",
    "Document": "sleuth.types",
    "Engine": "sleuth.engine",
    "Explanation": "sleuth.types",
    "FilterError": "sleuth.errors",
    "PartReport": "sleuth.types",
    "Ranking": "sleuth.types",
    "RetrievalError": "sleuth.errors",
    "RetrievedItem": "sleuth.types",
    "SleuthError": "sleuth.errors",
    "StoreError": "sleuth.errors",
}

__version__ = "0.1.0"
__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
