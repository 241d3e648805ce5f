"""Chooses the embedder of an index.

An index records a *spelling*: "wordllama", offline and without a download, the default where it is installed; "" for
none; "ollama:MODEL" or "openai:MODEL"; "PLUGIN:MODEL" for a model of a plugin, such as "onnx:MODEL";
"custom:FINGERPRINT" for an object that its user gives on every opening.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sleuth.errors import ArgumentError, EmbedderMismatchError, EmbeddingError, MissingPackageError
from sleuth.extensions import extension, extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sleuth.protocols import Embedder
    from sleuth.store import Rows
    from sleuth.store.store import Store

KIND = "embedders"
SERVICES = ("ollama", "openai")
DEFAULT = "wordllama"
SPARE_VECTORS = 1_000
"""Vectors that an index may keep of texts that are gone, beside as many as it has passages: they may come back."""
HOW_TO_ADD_LANGUAGES = (
    "the default embedder was trained on English. To search other languages by meaning: "
    "`sleuth index models pull multilingual-e5-small`, then "
    "`sleuth index --re-embed --embedder onnx:multilingual-e5-small`"
)
HOW_TO_ADD_MEANING = "To search by meaning too: pip install 'sleuth[hybrid]', then `sleuth index --re-embed`"


def is_cheap(embedder: Embedder | None) -> bool:
    """Return whether an embedder is so fast that commits wait for its vectors, and that they need no cache.

    An embedder says so by an attribute `cheap` that is True.
    """
    return getattr(embedder, "cheap", False) is True


def is_slow(spelling: str) -> bool:
    """Return whether the embedder of this spelling takes longer to make a vector than it takes to send one."""
    return spelling not in ("", DEFAULT)


def default_spelling() -> str:
    """Return the spelling of the default embedder of a new index, or "" if it is not installed."""
    from sleuth.dense.wordllama import has_wordllama

    return DEFAULT if has_wordllama() else ""


def words_only(spelling: str, embedder: Embedder | None) -> str:
    """Return why an index is searched by words alone, with the command that adds meaning; "" where it is not."""
    if embedder is not None:
        return str(getattr(embedder, "missing", ""))
    if default_spelling():
        return "the index has no embedder; `sleuth index --re-embed` makes vectors with the default one"
    return f"the index has no embedder. {HOW_TO_ADD_MEANING}"


def spelling_of(embedder: Embedder | str | None) -> str:
    """Return how an embedder is written in the settings of an index."""
    if embedder is None:
        return DEFAULT
    if isinstance(embedder, str):
        return check_spelling(embedder)
    fingerprint = getattr(embedder, "fingerprint", None)
    if not isinstance(fingerprint, str):
        rule = "an Embedder, with a str as its `fingerprint`, or the spelling of one"
        raise ArgumentError(f"embedder must be {rule}, got {embedder!r}")
    return f"custom:{fingerprint}"


def check_spelling(spelling: str) -> str:
    """Return the spelling, if it is one.

    Raises:
        ArgumentError: lists the spellings there are.
    """
    service, _, model = spelling.partition(":")
    if spelling in ("", DEFAULT) or (
        model and (service in (*SERVICES, "custom") or extension(KIND, service))
    ):
        return spelling
    names = ", ".join(f'"{name}:MODEL"' for name in (*SERVICES, *extensions(KIND)))
    raise ArgumentError(f'embedder must be "{DEFAULT}", "" for none, or one of {names}, got {spelling!r}')


def open_embedder(
    spelling: str,
    choice: Embedder | str | None = None,
    *,
    path: str = "",
    answers: bool = False,
    required: bool = False,
) -> Embedder | None:
    """Return the embedder of an index, or None.

    Args:
        spelling: what the index was made with.
        choice: what its user asks for now; None for whatever the index has.
        answers: whether to ask it for one vector, so that a broken embedder never replaces a working one.
        required: whether it must be installed. Else, and where `choice` does not name it, a default embedder that
            is not installed is one that gives no vectors: the words of the index still answer.

    Raises:
        MissingPackageError: its package is not installed; gives the command.
        EmbedderMismatchError: another one is asked for, or one that only its user can give is not.
        EmbeddingError: it does not load, or does not answer.
    """
    if choice is not None and spelling_of(choice) != spelling:
        command = "Engine.open(path, embedder=..., re_embed=True)"
        if isinstance(choice, str):
            index = ["--index", path] if path else []
            command = shlex.join(["sleuth", "index", *index, "--re-embed", "--embedder", choice])
        raise EmbedderMismatchError(
            f"embedder must be {spelling!r}, with which this index was made, got {spelling_of(choice)!r}; "
            f"to change it, embed everything again: {command}",
            path=path,
        )
    service, _, model = spelling.partition(":")
    if choice is not None and not isinstance(choice, str):
        embedder: Embedder | None = choice
    elif service == "custom":
        raise EmbedderMismatchError(_missing_custom(model), path=path)
    else:
        embedder = _load(service, model, required=required or choice is not None) if spelling else None
    if answers and embedder is not None:
        from sleuth.dense.embedding import embed_texts

        embed_texts(embedder, ["text"])
    return embedder


def stand_in(spelling: str, store: Store) -> Embedder | None:
    """Return the placeholder of a missing embedder, over this store; None if `open_embedder` can open it."""
    service, _, model = spelling.partition(":")
    missing = _missing_custom(model) if service == "custom" else ""
    try:
        if service == "openai":
            from sleuth.llm import OpenAIEmbedder

            OpenAIEmbedder(model)
        elif (plugin := extension(KIND, service)) and getattr(plugin.load(), "opens_late", False):
            plugin.load()(model)
    except ArgumentError as error:  # nobody says which server has it
        missing = f"this index was made with the embedder 'openai:{model}': {error}"
    except (EmbeddingError, MissingPackageError) as error:
        missing = str(error)
    if not missing:
        return None
    from sleuth.dense.leg import embedder_of
    from sleuth.dense.missing import MissingEmbedder, MissingTokenEmbedder

    legs = {leg.name: leg.fingerprint for leg in store.status().legs}
    has_tokens = any(fingerprint.endswith("|tokens") for fingerprint in legs.values())
    fingerprint = model if service == "custom" else embedder_of(legs.get("dense", "")) or spelling
    return (MissingTokenEmbedder if has_tokens else MissingEmbedder)(fingerprint, missing)


def _missing_custom(model: str) -> str:
    return f"this index was made with the embedder {model!r}: open it with Engine.open(path, embedder=...)"


def _load(service: str, model: str, *, required: bool) -> Embedder:
    if service in SERVICES:
        from sleuth.llm import open_embedder as open_remote

        return open_remote(f"{service}:{model}")
    if model:
        plugin = extension(KIND, service)
        if plugin is None:
            rule = "one of an installed plugin"
            raise ArgumentError(f"embedder must be {rule}, got {service!r}: install its package")
        embedder: Embedder = plugin.load()(model)
        return embedder
    from sleuth.dense.missing import MissingTokenEmbedder
    from sleuth.dense.wordllama import WordLlamaEmbedder, has_wordllama, missing_wordllama

    if has_wordllama():
        return WordLlamaEmbedder()
    if required:
        raise missing_wordllama()
    return MissingTokenEmbedder(WordLlamaEmbedder.fingerprint, str(missing_wordllama()))


@dataclass(frozen=True)
class RecordCache:
    """Vectors kept in the record of an index, by model and content hash: an `EncodingCache`.

    Attributes:
        timeout: seconds to wait for another writer.
    """

    store: Store
    timeout: float = 10.0

    def get(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the cached vectors among these."""
        with self.store.reader() as snapshot:
            return snapshot.embeddings(fingerprint, hashes)

    def put(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keeps these; committed at once, so that a run that is broken off goes on where it stopped."""
        with self.store.writer(timeout=self.timeout) as writer:
            writer.put_embeddings(fingerprint, vectors)

    def forget(self, fingerprint: str, texts: Callable[[Rows], Iterable[str]]) -> None:
        """Forget those of texts that no passage has, where they may be most of many.

        To find them reads all passages; so many vectors must have been made since the last time that it costs less.
        """
        from sleuth.store import text_hash

        with self.store.reader() as snapshot:
            if snapshot.count_embeddings(fingerprint) <= 2 * snapshot.counts().chunks + SPARE_VECTORS:
                return
            keys = snapshot.embedding_keys(fingerprint)
            for rows in snapshot.stream():
                for text in texts(rows):
                    keys.pop(text_hash(text), None)
        with self.store.writer(timeout=self.timeout) as writer:
            writer.forget_embeddings(list(keys.values()))
