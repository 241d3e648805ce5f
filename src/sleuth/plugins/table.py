"""What Sleuth's own plugins add, by kind and name: "module:attribute", imported when it is asked for."""

from __future__ import annotations

from typing import Final

TABLE: Final[dict[str, dict[str, str]]] = {
    "commands": {
        **dict.fromkeys(("cluster index", "cluster reshard", "cluster serve"), "sleuth.plugins.ray.command"),
        "index eval": "sleuth.plugins.evaluation.command",
        "index import": "sleuth.plugins.importers.command",
        "index models": "sleuth.plugins.neural.models",
        "web crawl": "sleuth.plugins.crawl.command",
    },
    "embedders": {
        "onnx": "sleuth.plugins.neural:OnnxEmbedder",
        "sentence-transformers": "sleuth.plugins.embedders:SentenceTransformerEmbedder",
        "model2vec": "sleuth.plugins.embedders:Model2VecEmbedder",
        "fastembed": "sleuth.plugins.embedders:FastEmbedEmbedder",
    },
    "languages": {
        "java": "sleuth.plugins.languages.java.language:LANGUAGE",
        "csharp": "sleuth.plugins.languages.csharp.language:LANGUAGE",
        "php": "sleuth.plugins.languages.php.language:LANGUAGE",
        "kotlin": "sleuth.plugins.languages.kotlin.language:LANGUAGE",
        "scala": "sleuth.plugins.languages.scala.language:LANGUAGE",
        "sql": "sleuth.plugins.languages.sql.language:LANGUAGE",
        "lua": "sleuth.plugins.languages.lua.language:LANGUAGE",
        "swift": "sleuth.plugins.languages.swift.language:LANGUAGE",
        "dart": "sleuth.plugins.languages.dart.language:LANGUAGE",
        "elixir": "sleuth.plugins.languages.elixir.language:LANGUAGE",
        "hcl": "sleuth.plugins.languages.hcl.language:LANGUAGE",
        "graphql": "sleuth.plugins.languages.graphql.language:LANGUAGE",
        "docker": "sleuth.plugins.languages.docker.language:LANGUAGE",
    },
    "legs": {"sparse": "sleuth.plugins.sparse:SparseLeg"},
    "loaders": {
        "formats": "sleuth.plugins.formats.table:FORMATS",
        "mail": "sleuth.plugins.mail.table:FORMATS",
        "office": "sleuth.plugins.office.table:FORMATS",
    },
    "rerankers": {"onnx": "sleuth.plugins.neural.reranking:RERANKERS"},
    "routers": {
        "OpenAI stores": "sleuth.plugins.vendors.vector_stores:router",
        "OpenAI files": "sleuth.plugins.vendors.files:router",
        "OpenAI texts": "sleuth.plugins.vendors.texts:openai_router",
        "OpenAI chat": "sleuth.plugins.vendors.chat:router",
        "rerank": "sleuth.plugins.vendors.texts:router",
        "Dify": "sleuth.plugins.vendors.knowledge:router",
        "Open WebUI": "sleuth.plugins.vendors.knowledge:webui_router",
    },
    "sources": {
        **dict.fromkeys(("imap", "imaps"), "sleuth.plugins.sources.imap:ImapSource"),
        "sql": "sleuth.plugins.sources.sql:open_sql",
        **dict.fromkeys(("s3", "gs", "az"), "sleuth.plugins.sources.objects:ObjectSource"),
    },
    "web": {
        "brave": "sleuth.plugins.websearch:BRAVE",
        "exa": "sleuth.plugins.websearch:EXA",
        "searxng": "sleuth.plugins.websearch:SEARXNG",
    },
}
