from sleuth.neural.cross_encoder import OnnxCrossEncoder as OnnxCrossEncoder
from sleuth.neural.embedder import OnnxEmbedder as OnnxEmbedder
from sleuth.neural.folder import ModelFolder as ModelFolder
from sleuth.neural.folder import installed_models as installed_models
from sleuth.neural.folder import models_folder as models_folder
from sleuth.neural.known import KNOWN as KNOWN
from sleuth.neural.known import known_model as known_model
from sleuth.neural.pull import ORIGIN as ORIGIN
from sleuth.neural.pull import find_model as find_model
from sleuth.neural.pull import pull_model as pull_model
from sleuth.neural.sparse import OnnxSparseEncoder as OnnxSparseEncoder
from sleuth.neural.sparse import TokenWeights as TokenWeights

__all__: list[str]
