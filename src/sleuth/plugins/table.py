"""What Sleuth's own plugins add, by kind and name: "module:attribute", imported when it is asked for."""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, dict[str, str]]] = {
    "commands": {
        "cluster": "sleuth.plugins.ray.command",
        "import": "sleuth.plugins.importers.command",
        "models": "sleuth.plugins.neural.models",
    },
    "embedders": {
        "onnx": "sleuth.plugins.neural:OnnxEmbedder",
        "sentence-transformers": "sleuth.plugins.embedders:SentenceTransformerEmbedder",
        "model2vec": "sleuth.plugins.embedders:Model2VecEmbedder",
        "fastembed": "sleuth.plugins.embedders:FastEmbedEmbedder",
    },
    "legs": {"sparse": "sleuth.plugins.sparse:SparseLeg"},
    "loaders": {"formats": "sleuth.plugins.formats.table:FORMATS"},
    "rerankers": {"onnx": "sleuth.plugins.neural.reranking:RERANKERS"},
}
