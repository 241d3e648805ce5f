"""The part of the engine that writes answers: hooks, plugins and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from sleuth.engine.embedders import is_cheap
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from sleuth.answer import Rarity
    from sleuth.engine.hooked import Unhooked
    from sleuth.engine.request import SearchRequest
    from sleuth.filters import Filter
    from sleuth.hooks import Morpheus, PluginInfo
    from sleuth.manager import RetrievalManager, SearchStream, Synthesizer
    from sleuth.protocols import Embedder, Generator
    from sleuth.results import ReturnMode, SearchResult
    from sleuth.settings import IndexSettings
    from sleuth.text import Snippet
    from sleuth.types import Ranking, RetrievedItem

    Model = Generator | str | None

PLUGINS_VARIABLE = "SLEUTH_PLUGINS"
"""Names a folder of plugins. No folder is searched unless this or the caller says so."""

CONTEXT = 8192
"""Tokens that a model named by the user gets room for: 3,000 of passages, the rules, the answer, and as much
again.
"""


class Answering:
    """The part of `Engine` that turns passages into answers. Nothing of it is loaded before it is used."""

    if TYPE_CHECKING:
        settings: IndexSettings

        def _answer(self, request: SearchRequest) -> Ranking: ...

        @property
        def embedder(self) -> Embedder | None: ...

    _model: Model = None
    idf: Rarity | None = None
    """Tells how rare words are in the corpus; without it, no question is declined for weak evidence."""

    @property
    def morpheus(self) -> Morpheus:
        """The hooks: the built-in ones, and those of plugins that are installed or in the folder
        $SLEUTH_PLUGINS.

        They load when they are first asked for. Other threads wait for that; a plugin that asks while it is
        activated gets what there is so far.
        """
        lock = self.__dict__.get("_hooks_lock") or self.__dict__.setdefault("_hooks_lock", RLock())
        with lock:
            registry: Morpheus | None = self.__dict__.get("_registry")
            if registry is None:
                from sleuth.engine.request import SearchRequest
                from sleuth.hooks import Morpheus, load_plugins
                from sleuth.manager import install_builtins
                from sleuth.request import defaults

                base = self._base_hooks()
                registry = self.__dict__["_registry"] = Morpheus(base)
                install_builtins(
                    registry, self.unhooked, _Current(self), options=tuple(defaults(SearchRequest))
                )
                try:
                    if base is None:
                        load_plugins(registry, folder=os.environ.get(PLUGINS_VARIABLE) or None, instance=self)
                except BaseException:  # the next call fails alike, and does not go on without them
                    del self.__dict__["_registry"]
                    raise
            return registry

    def _base_hooks(self) -> Morpheus | None:
        """Return the registry whose plugins take part here, too; None where they are loaded here."""
        return None

    @property
    def hooks(self) -> Morpheus:
        """The same registry."""
        return self.morpheus

    @property
    def has_retrieval_hooks(self) -> bool:
        """Whether `retrieve` goes through hooks other than the built-in one; not inside of a hook."""
        from sleuth.hooks import BUILTIN
        from sleuth.manager import RETRIEVE

        registry = self.morpheus
        hooks = registry.hooks(RETRIEVE)
        is_builtin = len(hooks) == 1 and hooks[0].plugin == BUILTIN
        return not is_builtin and not registry.is_running

    @property
    def unhooked(self) -> Unhooked:
        """The retriever without its hooks, for measurements and for hooks in threads of their own."""
        from sleuth.engine.hooked import Unhooked

        return Unhooked(self)

    @cached_property
    def manager(self) -> RetrievalManager:
        """Runs queries through the hooks."""
        from sleuth.manager import RetrievalManager

        return RetrievalManager(self)

    @property
    def indiana_jones(self) -> RetrievalManager:
        """The same manager."""
        return self.manager

    def load_plugins(self, folder: str | Path) -> list[PluginInfo]:
        """Load the plugins of a folder; one that fails is listed with its error.

        Raises:
            ArgumentError: `folder` is no folder.
        """
        from sleuth.hooks import load_plugins

        return load_plugins(self.morpheus, folder=folder, installed=False, instance=self)

    def unload_plugins(self) -> None:
        """Deactivate the plugins and remove their hooks; closing the engine does so.

        Raises:
            PluginError: a plugin failed to deactivate; the others were deactivated all the same.
        """
        registry: Morpheus | None = self.__dict__.get("_registry")
        if registry is not None:
            from sleuth.hooks import unload_plugins

            unload_plugins(registry, self)

    def run(self, request: SearchRequest) -> Ranking:
        """Return the best passages for a request, as hooks of plugins leave them; raises what `retrieve` raises."""
        from sleuth.engine.hooked import answer

        return answer(self, request)

    def use_model(self, model: Model) -> None:
        """Set who writes answers from now on: a generator, a name such as "llama3.1" or "openai:gpt-4o-mini", or
        None.

        With None, the best sentences of the passages are quoted instead.

        Raises:
            ArgumentError: an empty name.
        """
        self._model = as_generator(model)

    def synthesizer(self, model: Model = None) -> Synthesizer:
        """Return what writes an answer with this model; with None, with the engine's own."""
        generator = as_generator(model if model is not None else self._model)
        if generator is not None:
            from sleuth.answer import LLMSynthesizer

            return LLMSynthesizer(generator)
        from sleuth.answer import ExtractiveSynthesizer
        from sleuth.settings import IndexSettings
        from sleuth.text import get_analyzer

        # Every sentence is embedded, so only an embedder that costs next to nothing takes part.
        embedder = self.embedder if is_cheap(self.embedder) else None
        return ExtractiveSynthesizer(
            analyze=get_analyzer(self.settings.analyzer).tokens,
            embedder=embedder,
            rarity=self.idf,
            by_language=self.settings.analyzer == IndexSettings().analyzer,
        )

    def snippet(self, query: str, item: RetrievedItem, *, width: int = 200) -> Snippet:
        """Return the window of at most `width` characters that shows best why a passage matches, with its matches."""
        from sleuth.text import get_analyzer, snippet

        return snippet(item.text, query, get_analyzer(self.settings.analyzer), width=width)

    def search(
        self,
        query: str,
        k: int = 10,
        return_mode: ReturnMode | str = "minimal",
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        model: Model = None,
        **options: Any,
    ) -> SearchResult:
        """Return an answer to `query` from at most `k` passages, with citations.

        Args:
            return_mode: "with_items" keeps the passages in the result.
            filter: which passages may answer.
            model: who writes this answer, as of `use_model`.
            options: reach the hooks; one that no hook takes is refused. The engine's own takes the options
                of `retrieve`.

        Returns:
            The answer; an empty query, nothing found and invalid arguments are told in `detail`, not raised.

        Raises:
            RetrievalError: retrieval, the model or a plugin failed; chained to the cause.
        """
        arguments = self._options(filter, model, options)
        return self.manager.execute_search(query, k, return_mode, **arguments)

    def stream_search(
        self,
        query: str,
        k: int = 10,
        return_mode: ReturnMode | str = "minimal",
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        model: Model = None,
        **options: Any,
    ) -> SearchStream:
        """`search` in pieces, for `for` and `async for`; `.result` is there once they are through."""
        arguments = self._options(filter, model, options)
        return self.manager.stream_search(query, k, return_mode, **arguments)

    asearch = async_twin(search)

    def _options(self, filter: Any, model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
        arguments = dict(options)
        if filter is not None:
            arguments["filter"] = filter
        if model is not None:
            arguments["synthesizer"] = self.synthesizer(model)
        return arguments


class _Current:
    """Whatever writes the engine's answers at the time of a call."""

    def __init__(self, engine: Answering) -> None:
        self._engine = engine

    def synthesize(
        self, question: str, items: list[Any], *, on_text: Callable[[str], None] | None = None
    ) -> SearchResult:
        return self._engine.synthesizer().synthesize(question, items, on_text=on_text)


def as_generator(model: Model) -> Generator | None:
    """Return a generator, or the one that a name means.

    Raises:
        ArgumentError: an empty name.
    """
    if isinstance(model, str):
        from sleuth.llm import open_generator

        return open_generator(model, context=CONTEXT)
    return model
