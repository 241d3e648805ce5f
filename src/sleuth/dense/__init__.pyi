from sleuth.dense.leg import DenseLeg as DenseLeg

__all__: list[str]
