"""Text in, text out: language models and embedders behind HTTP."""

from sleuth.llm.choose import open_embedder, open_generator
from sleuth.llm.generator import LLMGenerator
from sleuth.llm.ollama import Ollama, OllamaEmbedder, OllamaStatus, ollama_status
from sleuth.llm.openai import OpenAIEmbedder, OpenAIGenerator

__all__ = [
    "LLMGenerator",
    "Ollama",
    "OllamaEmbedder",
    "OllamaStatus",
    "OpenAIEmbedder",
    "OpenAIGenerator",
    "ollama_status",
    "open_embedder",
    "open_generator",
]
