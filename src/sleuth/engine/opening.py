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
    named = named_settings(options)
    of_new = IndexSettings.from_dict({"embedder": default_spelling(), **named})
    if options.embedder is not None and "embedder" not in named:
        of_new = replace(of_new, embedder=spelling_of(options.embedder))
    legs = open_legs(of_new)  # refuses an unknown analyzer or leg before there is a file
    creates = options.create and not Store.is_at(path)
    model = None
    if creates:  # refuses what is not installed
        if missing := next((leg.missing for leg in legs if leg.missing), ""):
            raise EmbeddingError(missing, service="legs")
        if of_new.chunker:
            from sleuth.ingest import open_chunker

            open_chunker(of_new, None if isinstance(options.chunker, str) else options.chunker)
        model = open_embedder(of_new.embedder, options.embedder, path=str(path), required=True)
    store = _open_store(path, of_new, creates)
    try:
        kept = {k: v for k, v in named.items() if not (options.re_embed and k == "embedder")}
        check_settings(kept, store.settings, store.path)
        recorded = spelling = IndexSettings.from_dict(store.settings).embedder
        if options.re_embed:
            is_named = options.embedder is not None or "embedder" in named
            spelling = of_new.embedder if is_named else recorded or DEFAULT
        if model is None or spelling != of_new.embedder:
            model = _model_of(spelling, path, store, options)
        if options.re_embed:
            fingerprint = model.fingerprint if model and spelling != recorded else ""
            for leg in legs_of_embedder():
                store.remake(leg, {**store.settings, "embedder": spelling}, vectors_of=fingerprint)
    except BaseException:
        store.close()
        raise
    if creates and options.embedder is None and "embedder" not in named and model is None:
        logger.warning("Words alone are searched: no embedder is installed. %s", HOW_TO_ADD_MEANING)
    return store, model


def named_settings(options: OpenOptions) -> Mapping[str, Any]:
    """Return the settings that a user names; `IndexSettings` that hold the default embedder name none."""
    settings = options.settings
    values = settings.to_dict() if isinstance(settings, IndexSettings) else settings
    IndexSettings.from_dict({} if values is None else values)  # refuses what is no mapping
    named = dict(values or {})
    if isinstance(settings, IndexSettings) and settings.embedder == DEFAULT:
        del named["embedder"]
    if options.chunker is not None:
        from sleuth.ingest.chunkers import spelling_of_chunker

        named["chunker"] = spelling_of_chunker(options.chunker)
    return named


def _open_store(path: str | Path, settings: IndexSettings, create: bool) -> Store:
    try:
        return Store.open(path, create=create, settings=settings.to_dict())
    except IndexNotFoundError as error:
        if not (Path(path) / "code.db").is_file():
            raise
        raise IndexNotFoundError(
            f"{path} holds code and no documents: `sleuth search --in code` and `open_sources(path, ['code'])` "
            "search it, `sleuth serve --in code` serves it, `sleuth index PATH` adds documents",
            path=str(path),
        ) from error


def _model_of(spelling: str, path: str | Path, store: Store, options: OpenOptions) -> Embedder | None:
    """Return the embedder of an index that is there: a stand-in where it is missing."""
    if options.embedder is None and not options.re_embed and (model := stand_in(spelling, store)):
        return model
    return open_embedder(
        spelling, options.embedder, path=str(path), answers=options.re_embed, required=options.re_embed
    )


def check_settings(expected: Mapping[str, Any], settings: Mapping[str, Any], where: object) -> None:
    """Refuse settings that are not those of the index at a place.

    Raises:
        ArgumentError: names the first that differs, with both values.
    """
    for name, value in expected.items():
        recorded = settings.get(name, getattr(_DEFAULTS, name, None))
        if recorded != value:
            raise ArgumentError(
                f"{name} must be {recorded!r} as in the index at {where}, got {value!r}; "
                "to change it, index into another folder"
            )
