"""Opens the store of an index with the settings and the embedder that the index and its user name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sleuth.engine.embedders import (
    DEFAULT,
    HOW_TO_ADD_MEANING,
    default_spelling,
    open_embedder,
    spelling_of,
    stand_in,
)
from sleuth.engine.legs import legs_of_embedder, open_legs
from sleuth.errors import ArgumentError, EmbeddingError, IndexNotFoundError
from sleuth.logs import logger_of
from sleuth.protocols import DocumentChunker, Embedder
from sleuth.settings import IndexSettings
from sleuth.store.store import Store

logger = logger_of("engine")

_DEFAULTS = IndexSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """How a backend is opened: the arguments of `Engine.open` except `scope`, which say what each means."""

    create: bool = False
    settings: IndexSettings | Mapping[str, Any] | None = None
    embedder: Embedder | str | None = None
    re_embed: bool = False
    chunker: DocumentChunker | str | None = None


def open_index(path: str | Path, options: OpenOptions) -> tuple[Store, Embedder | None]:
    """Open or make the index in a folder: its store and its embedder; errors are those of `Engine.open`."""
    new_settings, embedder = _named(options.settings), options.embedder
    chunker, re_embed = options.chunker, options.re_embed
    if chunker is not None:
        from sleuth.ingest.chunkers import spelling_of_chunker

        new_settings = {**new_settings, "chunker": spelling_of_chunker(chunker)}
    of_new = IndexSettings.from_dict({"embedder": default_spelling(), **new_settings})
    if embedder is not None and "embedder" not in new_settings:
        of_new = replace(of_new, embedder=spelling_of(embedder))
    legs = open_legs(of_new)  # refuses an unknown analyzer or leg before there is a file
    creates = options.create and not Store.is_at(path)
    if creates and (missing := next((leg.missing for leg in legs if leg.missing), "")):
        raise EmbeddingError(missing, service="legs")
    if creates and of_new.chunker:
        from sleuth.ingest import open_chunker

        # Refuses one that is not installed.
        open_chunker(of_new, None if isinstance(chunker, str) else chunker)
    model = open_embedder(of_new.embedder, embedder, path=str(path), required=True) if creates else None
    try:
        store = Store.open(path, create=options.create, settings=of_new.to_dict())
    except IndexNotFoundError as error:
        if not (Path(path) / "code.db").is_file():
            raise
        raise IndexNotFoundError(
            f"{path} holds code and no documents: `sleuth search --in code` and `open_sources(path, ['code'])` "
            "search it, `sleuth serve --in code` serves it, `sleuth index PATH` adds documents",
            path=str(path),
        ) from error
    try:
        check_settings({k: v for k, v in new_settings.items() if not (re_embed and k == "embedder")}, store)
        recorded = spelling = IndexSettings.from_dict(store.settings).embedder
        if re_embed:
            is_named = embedder is not None or "embedder" in new_settings
            spelling = of_new.embedder if is_named else recorded or DEFAULT
        if model is None or spelling != of_new.embedder:
            model = None if embedder is not None or re_embed else stand_in(spelling, store)
            model = model or open_embedder(
                spelling, embedder, path=str(path), answers=re_embed, required=re_embed
            )
        if re_embed:
            fingerprint = model.fingerprint if model and spelling != recorded else ""
            for leg in legs_of_embedder():
                store.remake(leg, {**store.settings, "embedder": spelling}, vectors_of=fingerprint)
    except BaseException:
        store.close()
        raise
    if creates and embedder is None and "embedder" not in new_settings and model is None:
        logger.warning("Words alone are searched: no embedder is installed. %s", HOW_TO_ADD_MEANING)
    return store, model


def _named(settings: IndexSettings | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the settings that a user names; `IndexSettings` that hold the default embedder name none."""
    if not isinstance(settings, IndexSettings):
        IndexSettings.from_dict({} if settings is None else settings)  # refuses what is no mapping
        return settings or {}
    values = settings.to_dict()
    if settings.embedder == DEFAULT:
        del values["embedder"]
    return values


def check_settings(expected: Mapping[str, Any], store: Store) -> None:
    """Refuse settings that are not those of the index.

    Raises:
        ArgumentError: names the first that differs, with both values.
    """
    for name, value in expected.items():
        recorded = store.settings.get(name, getattr(_DEFAULTS, name, None))
        if recorded != value:
            raise ArgumentError(
                f"{name} must be {recorded!r} as in the index at {store.path}, got {value!r}; "
                "to change it, index into another folder"
            )
