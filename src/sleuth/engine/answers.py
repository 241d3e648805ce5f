"""Writes answers: hooks, plugins and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, Self

from sleuth.engine.embedders import is_cheap
from sleuth.errors import ArgumentError
from sleuth.protocols import Closing
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from sleuth.answer.conversation import Turn
    from sleuth.answer.extractive import ExtractiveSynthesizer
    from sleuth.answer.words import Rarity
    from sleuth.engine.hooked import Unhooked
    from sleuth.engine.request import SearchRequest
    from sleuth.filters import Filter
    from sleuth.hooks import Morpheus, PluginInfo
    from sleuth.manager import RetrievalManager, Synthesizer
    from sleuth.manager.manager import Correct
    from sleuth.manager.streaming import SearchStream
    from sleuth.protocols import Embedder, Generator
    from sleuth.results import Grade, ReturnMode, SearchResult
    from sleuth.settings import IndexSettings
    from sleuth.text.snippets import Snippet
    from sleuth.types import Ranking, RetrievedItem

    Model = Generator | str | None

PLUGINS_VARIABLE = "SLEUTH_PLUGINS"
"""Names a folder of plugins. No folder is searched unless this or the caller says so."""

CONTEXT_VARIABLE = "SLEUTH_MODEL_CONTEXT"
"""Tokens of prompt and answer that a model named by the user reads."""

CONTEXT = 8192
"""The same where nobody says, for a model that Ollama runs."""


class Answering(Closing):
    """What answers questions: an `Engine` or `Sources`. Nothing of it is loaded before it is used.

    Attributes:
        settings: of the index.
        model: what writes answers; None quotes the best passage.
        rarity: how rare words are in the corpus, or None.
        spell: spells a question as the passages do, or None.
    """

    def __init__(
        self,
        answer: Callable[[SearchRequest], Ranking],
        settings: IndexSettings,
        embedder: Callable[[], Embedder | None],
        *,
        rarity: Rarity | None = None,
        correct: Correct | None = None,
        parent: Answering | None = None,
    ) -> None:
        """Create what writes answers from the passages that a retriever finds.

        Args:
            answer: finds the passages, without hooks.
            embedder: returns the embedder that compares sentences.
            rarity: returns how rare words are in the corpus; without it, words weigh alike.
            correct: spells the words of a question as the passages of these sources do, and notes words that it leaves;
                None for no correction.
            parent: whose plugins take part here, too; None where they are loaded here.
        """
        self.settings = settings
        self.model: Model = None
        self._answer, self._embedder_now = answer, embedder
        self.rarity, self.spell, self._parent = rarity, correct, parent
        self._registry: Morpheus | None = None
        self._quoter: ExtractiveSynthesizer | None = None
        self._lock = RLock()

    async def __aenter__(self) -> Self:
        return self

    __aexit__ = async_twin(Closing.__exit__)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {self!r}: pass the path of the index, and open it there")

    @property
    def morpheus(self) -> Morpheus:
        """The hooks: the built-in ones, and those of plugins that are installed or in the folder
        $SLEUTH_PLUGINS.

        They load when they are first asked for. Other threads wait for that; a plugin that asks during its activation
        gets those loaded so far.
        """
        with self._lock:
            if self._registry is None:
                from sleuth.engine.request import WITHOUT_VARIETY, SearchRequest
                from sleuth.hooks import Morpheus, load_plugins
                from sleuth.manager import install_builtins
                from sleuth.types.request import defaults

                base = None if self._parent is None else self._parent.morpheus
                registry = self._registry = Morpheus(base)
                install_builtins(
                    registry,
                    self.unhooked,
                    self.synthesizer,
                    options=tuple(defaults(SearchRequest)),
                    for_answers=WITHOUT_VARIETY,  # two versions of a page may disagree, which an answer says
                    correct=self.spell,
                )
                try:
                    if base is None:
                        folder = os.environ.get(PLUGINS_VARIABLE) or None
                        load_plugins(registry, folder=folder, instance=self)
                except BaseException:  # the next call fails alike, and does not go on without them
                    self._registry = None
                    raise
            return self._registry

    hooks = morpheus

    @property
    def indiana_jones(self) -> RetrievalManager:
        """The same as `manager`."""
        return self.manager

    @property
    def has_retrieval_hooks(self) -> bool:
        """Whether `retrieve` goes through hooks other than the built-in one; not inside of a hook."""
        return self.morpheus.has_retrieval_plugins

    @property
    def unhooked(self) -> Unhooked:
        """The retriever without its hooks, for measurements and for hooks in threads of their own."""
        from sleuth.engine.hooked import Unhooked

        return Unhooked(self._answer)

    @cached_property
    def manager(self) -> RetrievalManager:
        """Runs queries through the hooks."""
        from sleuth.manager import RetrievalManager

        return RetrievalManager(self)

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
        if self._registry is not None:
            from sleuth.hooks import unload_plugins

            unload_plugins(self._registry, self)

    def run(self, request: SearchRequest) -> Ranking:
        """Return the best passages for a request, as hooks of plugins leave them; raises what `retrieve` raises."""
        # Hooks take no part in a retrieval that a hook makes, nor in a blank one.
        if not (request.k and self.has_retrieval_hooks and request.query.strip()):
            return self._answer(request)
        from sleuth.engine.hooked import retrieve_by_hooks

        return retrieve_by_hooks(self.manager, request)

    def use_model(self, model: Model) -> None:
        """Set who writes answers from now on: a generator, a name such as "llama3.1" or "openai:gpt-4o-mini", or
        None.

        Without a model (None), the best passage is quoted instead.

        Raises:
            ArgumentError: an empty name, or another object.
        """
        self.model = as_generator(model)

    def synthesizer(self, model: Model = None) -> Synthesizer:
        """Return the synthesizer of this model; None is the engine's own model."""
        generator = as_generator(model if model is not None else self.model)
        if generator is None:
            return self._extractive_synthesizer()
        from sleuth.answer import LLMSynthesizer, budget_of

        return LLMSynthesizer(generator, budget=budget_of(generator))

    def grade(
        self, question: str, items: Sequence[RetrievedItem], sources: Sequence[str] | None = None
    ) -> Grade:
        """Return how well passages, best first, answer a question, without a model; spelt as `search` spells it.

        Args:
            sources: that were asked; None for all.
        """
        corrected = question if self.spell is None else self.spell(question, sources)[0]
        return self._extractive_synthesizer().grade(corrected, items)

    agrade = async_twin(grade)

    def _extractive_synthesizer(self) -> ExtractiveSynthesizer:
        """Return the synthesizer that quotes and grades passages without a model.

        It is made once, and again when the embedder changes.
        """
        # Every sentence is embedded, so only an embedder that costs next to nothing takes part.
        embedder = self._embedder_now()
        embedder = embedder if is_cheap(embedder) else None
        if self._quoter is None or self._quoter.embedder is not embedder:
            from sleuth.answer.extractive import ExtractiveSynthesizer
            from sleuth.text.analyzers import get_analyzer

            self._quoter = ExtractiveSynthesizer(
                analyze=get_analyzer(self.settings.analyzer).words_of_each,
                embedder=embedder,
                rarity=self.rarity,
                by_language=self.settings.tells_languages,
            )
        return self._quoter

    def standalone(self, query: str, turns: Sequence[Turn]) -> str:
        """Return what a question asks without the conversation before it; a model rewrites it, if there is one.

        Args:
            turns: the earlier questions with their answers, the oldest first.

        Raises:
            GenerationError: the model did not answer.
        """
        from sleuth.answer.conversation import standalone_question

        return standalone_question(query, turns, as_generator(self.model))

    astandalone = async_twin(standalone)

    def snippet(self, query: str, item: RetrievedItem, *, width: int = 200) -> Snippet:
        """Return the window of at most `width` characters that shows best why a passage matches, with its matches."""
        from sleuth.text.analyzers import analyzer_of
        from sleuth.text.snippets import snippet

        language = item.metadata.get("language") if self.settings.tells_languages else None
        return snippet(item.text, query, analyzer_of(language, self.settings.analyzer), width=width)

    def search(
        self,
        /,
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
            The answer; an empty ranking, an invalid query, `k` or mode and an unknown option are explained in `detail`.

        Raises:
            RetrievalError: retrieval, the model or a plugin failed, or an option is invalid; chained to the cause.
        """
        return self.manager.execute_search(query, k, return_mode, **self._options(filter, model, options))

    asearch = async_twin(search)

    def stream_search(
        self,
        /,
        query: str,
        k: int = 10,
        return_mode: ReturnMode | str = "minimal",
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        model: Model = None,
        **options: Any,
    ) -> SearchStream:
        """`search` in pieces, for `for` and `async for`; `.result` is there once they are through.

        Args:
            options: those of `search`, and `on_sources`, which is called with the numbered passages before the first
                piece, where a model writes.
        """
        return self.manager.stream_search(query, k, return_mode, **self._options(filter, model, options))

    def _options(self, filter: Any, model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
        arguments = dict(options)
        if filter is not None:
            arguments["filter"] = filter
        if model is not None:
            arguments["synthesizer"] = self.synthesizer(model)
        return arguments


def as_generator(model: Model) -> Generator | None:
    """Return the generator that a name means; a generator or None is returned unchanged.

    A model that is opened by name reads $SLEUTH_MODEL_CONTEXT tokens. If that is unset, it reads 8,192 where Ollama
    runs it, and what its provider sets elsewhere.

    Raises:
        ArgumentError: an empty name, another object, or $SLEUTH_MODEL_CONTEXT is no number of tokens.
    """
    if not isinstance(model, str):
        if model is None or hasattr(model, "complete"):
            return model
        raise ArgumentError(f"model must be a Generator, the name of a model or None, got {model!r}")
    from sleuth.llm import open_generator
    from sleuth.llm.choose import split_name

    tokens = os.environ.get(CONTEXT_VARIABLE, "").strip()
    if tokens and not (tokens.isascii() and tokens.isdigit() and int(tokens)):
        raise ArgumentError(f"{CONTEXT_VARIABLE} must be a number of tokens above 0, got {tokens!r}")
    default = CONTEXT if split_name(model)[0] == "ollama" else None
    return open_generator(model, context=int(tokens) if tokens else default)
