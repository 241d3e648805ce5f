"""Filters: one tree for every backend, which is parsed, printed, tested on a row, and translated."""

from sleuth.filters.bedrock import from_bedrock, is_bedrock, to_bedrock
from sleuth.filters.chroma import to_chroma
from sleuth.filters.match import leaves, matches
from sleuth.filters.mongo import from_mongo, to_mongo
from sleuth.filters.parse import as_filter
from sleuth.filters.text import from_text, to_text
from sleuth.filters.tree import (
    MAX_DEPTH,
    And,
    Compare,
    Field,
    Filter,
    Not,
    Operator,
    Or,
    Scalar,
    all_of,
    any_of,
    field,
)

__all__ = [
    "MAX_DEPTH",
    "And",
    "Compare",
    "Field",
    "Filter",
    "Not",
    "Operator",
    "Or",
    "Scalar",
    "all_of",
    "any_of",
    "as_filter",
    "field",
    "from_bedrock",
    "from_mongo",
    "from_text",
    "is_bedrock",
    "leaves",
    "matches",
    "to_bedrock",
    "to_chroma",
    "to_mongo",
    "to_text",
]
