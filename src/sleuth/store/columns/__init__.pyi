from sleuth.store.columns.layout import keys_of as keys_of
from sleuth.store.columns.layout import naming_damage as naming_damage
from sleuth.store.columns.layout import read_column as read_column
from sleuth.store.columns.leg import ColumnsLeg as ColumnsLeg
from sleuth.store.columns.values import kinds_of as kinds_of
from sleuth.store.columns.values import scalar_rows as scalar_rows
from sleuth.store.columns.values import values_of as values_of

__all__: list[str]
