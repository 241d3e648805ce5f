from sleuth.plugins.neural.encoders import OnnxCrossEncoder as OnnxCrossEncoder
from sleuth.plugins.neural.encoders import OnnxEmbedder as OnnxEmbedder
from sleuth.plugins.neural.folder import installed_models as installed_models
from sleuth.plugins.neural.sparse import OnnxSparseEncoder as OnnxSparseEncoder
from sleuth.plugins.neural.sparse import TokenWeights as TokenWeights

__all__: list[str]
