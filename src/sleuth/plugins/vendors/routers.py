"""The routers of the plugin."""

from __future__ import annotations

from typing import Final

from sleuth.plugins.vendors import chat, dify, embeddings, files, openai, openwebui, rerank, stores

ROUTERS: Final = tuple(
    door.router for door in (stores, openai, files, embeddings, chat, rerank, dify, openwebui)
)
