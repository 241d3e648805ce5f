"""The routers of the plugin."""

from __future__ import annotations

from typing import Final

from sleuth.plugins.vendors import chat, files, knowledge, texts, vector_stores

ROUTERS: Final = (
    vector_stores.router,
    files.router,
    texts.openai_router,
    chat.router,
    texts.router,
    knowledge.router,
    knowledge.webui_router,
)
