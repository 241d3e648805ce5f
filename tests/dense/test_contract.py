"""Every embedder of the package passes the contract, with models created here: nothing is downloaded."""

from sleuth.dense.wordllama import CodeEmbedder, WordLlamaEmbedder
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract


class TestWordLlama(EmbedderContract):
    def make(self) -> Embedder:
        return WordLlamaEmbedder()


class TestCode(EmbedderContract):
    def make(self) -> Embedder:
        return CodeEmbedder()
