"""Which rows match a filter, among a million, in a millisecond? Metadata as columns: a leg of the store."""

from sleuth.store.columns.leg import ColumnsLeg
from sleuth.store.columns.search import ColumnsSearcher, FilterCache

__all__ = ["ColumnsLeg", "ColumnsSearcher", "FilterCache"]
