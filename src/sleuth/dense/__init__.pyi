from sleuth.dense.late import TokenReranker as TokenReranker
from sleuth.dense.leg import DenseLeg as DenseLeg

__all__: list[str]
