from sleuth.sparse.leg import SparseLeg as SparseLeg

__all__: list[str]
