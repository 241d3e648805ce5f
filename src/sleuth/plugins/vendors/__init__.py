"""Doors of other services: vector stores, files, answers and vectors as OpenAI, Cohere, Dify and Open WebUI ask."""
