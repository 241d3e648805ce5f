from sleuth.plugins.sparse.leg import SparseLeg as SparseLeg

__all__: list[str]
