"""The models of this folder that rerank: encoders and cross-encoders."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sleuth.errors import SleuthError
from sleuth.plugins.neural.folder import ModelFolder, installed_models, models_folder
from sleuth.plugins.neural.known import KNOWN, known_model

if TYPE_CHECKING:
    from sleuth.compose import CrossEncoderReranker
    from sleuth.engine import RerankModel
    from sleuth.plugins.neural.encoders import OnnxEmbedder


class OnnxRerankModels:
    """Models in the folder of models: a `RerankModels`."""

    def default(self) -> str:
        """Return the first known encoder that is installed; "" where no encoder is, or nothing that loads one."""
        try:
            encoders = {model.name.lower() for model in installed_models() if model.kind == "encoder"}
        except SleuthError:
            return ""
        if not encoders or not (find_spec("onnxruntime") and find_spec("tokenizers")):
            return ""
        return next((name for name in KNOWN if name.lower() in encoders), "")

    def open(self, name: str) -> RerankModel:
        """Return a model; the two used last are kept."""
        from sleuth.engine import RerankModel

        entry = known_model(name)
        return RerankModel(_model(name, models_folder()), entry is not None and not entry.is_multilingual)


RERANKERS: Final = OnnxRerankModels()


@lru_cache(maxsize=2)
def _model(name: str, home: Path) -> CrossEncoderReranker | OnnxEmbedder:
    """Return a model; `home` is the folder in which it is looked up."""
    from sleuth.compose import CrossEncoderReranker
    from sleuth.plugins.neural.encoders import OnnxCrossEncoder, OnnxEmbedder

    folder = ModelFolder.open(name)
    if folder.kind == "cross-encoder":
        return CrossEncoderReranker(OnnxCrossEncoder(folder.path))
    return OnnxEmbedder(folder.path)
