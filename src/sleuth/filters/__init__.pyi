from sleuth.filters.bedrock import from_bedrock as from_bedrock
from sleuth.filters.bedrock import to_bedrock as to_bedrock
from sleuth.filters.chroma import to_chroma as to_chroma
from sleuth.filters.match import matches as matches
from sleuth.filters.mongo import to_mongo as to_mongo
from sleuth.filters.parse import as_filter as as_filter
from sleuth.filters.text import to_text as to_text
from sleuth.filters.tree import And as And
from sleuth.filters.tree import Compare as Compare
from sleuth.filters.tree import Filter as Filter
from sleuth.filters.tree import FilterForm as FilterForm
from sleuth.filters.tree import Not as Not
from sleuth.filters.tree import Operator as Operator
from sleuth.filters.tree import Or as Or
from sleuth.filters.tree import all_of as all_of
from sleuth.filters.tree import any_of as any_of
from sleuth.filters.tree import field as field

__all__: list[str]
