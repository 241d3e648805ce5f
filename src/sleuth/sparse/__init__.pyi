from sleuth.sparse.leg import SparseLeg as SparseLeg

__all__: list[str]

# Not public: for tests.
from sleuth.sparse.impacts import levels_of as levels_of
from sleuth.sparse.impacts import weight_of as weight_of
