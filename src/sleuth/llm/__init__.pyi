from sleuth.llm.choose import open_embedder as open_embedder
from sleuth.llm.choose import open_generator as open_generator
from sleuth.llm.generator import LLMGenerator as LLMGenerator
from sleuth.llm.ollama import Ollama as Ollama
from sleuth.llm.ollama import OllamaEmbedder as OllamaEmbedder
from sleuth.llm.ollama import ollama_status as ollama_status
from sleuth.llm.openai import OpenAIEmbedder as OpenAIEmbedder
from sleuth.llm.openai import OpenAIGenerator as OpenAIGenerator
from sleuth.llm.reranker import RemoteReranker as RemoteReranker

__all__: list[str]
