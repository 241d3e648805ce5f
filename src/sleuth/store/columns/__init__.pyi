from sleuth.store.columns.column import MISSING as MISSING
from sleuth.store.columns.column import lay_rows as lay_rows
from sleuth.store.columns.leg import ColumnsLeg as ColumnsLeg
from sleuth.store.columns.search import ColumnsSearcher as ColumnsSearcher
from sleuth.store.columns.search import FilterCache as FilterCache

__all__: list[str]
