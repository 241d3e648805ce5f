"""The retrieval manager: runs a question through retrieval and synthesis, with hooks around both.

`execute_retrieve` runs the hooks `indiana_jones_retrieve`; `execute_search` retrieves and then runs the hooks
`indiana_jones_synthesize`. Retrieval and synthesis of Sleuth itself are hooks of priority 0, so that a plugin
can run before, after or instead of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any, Protocol, TypeVar, runtime_checkable

from sleuth.arguments import MOST_K, check_count, check_kind, check_names, check_query
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.hooks import Morpheus
from sleuth.hooks.registry import BUILTIN, RETRIEVE, SYNTHESIZE, Hook, options_of
from sleuth.manager.streaming import SearchStream
from sleuth.protocols import Retriever
from sleuth.remote import async_twin
from sleuth.remote.twins import async_pieces
from sleuth.results import (
    BaseResult,
    RetrievedItem,
    RetrieveResult,
    ReturnMode,
    SearchResult,
    StatusCode,
    StatusDetail,
)
from sleuth.types import Ranking

_RESERVED = frozenset({"result", "rag2f", "retrieve_result", "for_synthesize", "kwargs"})
"""What hooks are given under these names by Sleuth."""

_LISTENERS = frozenset({"on_text", "on_sources"})
"""Options of a call that synthesize hooks call while they write."""

_SAID = ("searched_query", "corrected_query", "notes")
"""What a search repeats of the `extra` of its retrieval."""

R = TypeVar("R", bound=BaseResult)

Correct = Callable[[str, "Sequence[str] | None"], tuple[str, Sequence[str]]]
"""Takes a question and the sources that are asked (None for all); returns it as their passages spell it, and notes on
words that it leaves as they are."""


@runtime_checkable
class Synthesizer(Protocol):
    """Writes an answer from passages.

    Contract: sets `response`, `used_source_ids` (ids of `items`) and further facts in `extra`; calls
    `on_text`, if given, with each piece of the response as it arrives. Failures raise SleuthError.
    """

    def synthesize(
        self, question: str, items: list[RetrievedItem], *, on_text: Callable[[str], None] | None = None
    ) -> SearchResult:
        """Return the answer to `question` from `items`."""


@runtime_checkable
class Announcing(Protocol):
    """A synthesizer that knows before it writes which passages it reads."""

    def sources(self, items: Sequence[RetrievedItem]) -> list[dict[str, Any]]:
        """Return the passages by number, as in `extra["sources"]` of the answer, with `text`; [] where unknown."""


class RetrievalManager:
    """Runs queries through hooks and says how it went.

    Args:
        rag2f_instance: the host of the hooks: anything with `morpheus.execute_hook(name, result, *args,
            rag2f=host)`. None means no hooks, so nothing is searched.
    """

    def __init__(self, rag2f_instance: Any = None) -> None:
        self.rag2f = rag2f_instance

    @classmethod
    def over(
        cls, retriever: Retriever, synthesizer: Synthesizer | None = None, *, morpheus: Morpheus | None = None
    ) -> RetrievalManager:
        """Build a manager without an engine: a retriever, an optional synthesizer, and a registry for hooks."""
        registry = morpheus or Morpheus()
        install_builtins(registry, retriever, None if synthesizer is None else lambda: synthesizer)
        return cls(SimpleNamespace(morpheus=registry))

    def execute_retrieve(
        self,
        query: str,
        k: int = 10,
        *,
        return_mode: ReturnMode | str = ReturnMode.WITH_ITEMS,
        for_synthesize: bool = False,
        **options: Any,
    ) -> RetrieveResult:
        """Return the passages for a query, at most `k`, and 10,000 of an index, always with their items.

        Args:
            return_mode: given to the hooks.
            for_synthesize: given to the hooks: True if an answer will be written from the items.
            options: reach the hooks that name them; the built-in retriever takes `filter`.

        Raises:
            RetrievalError: a hook failed; `context` holds query, k, and the hook with its plugin.
        """
        invalid = _check(query, k, return_mode) or self._check_options(options, RETRIEVE)
        if invalid is not None:
            return RetrieveResult.fail(invalid, query=_as_text(query))
        start = RetrieveResult(query=query)
        arguments = (query, k, ReturnMode(return_mode), for_synthesize)
        result = self._run(RETRIEVE, start, arguments, {"query": query, "k": k}, _own(options))
        if result.query != query:
            if result.query:
                result.extra["searched_query"] = result.query
            result.query = query
        result.items = result.items[:k]
        return result

    def execute_search(
        self, query: str, k: int = 10, return_mode: ReturnMode | str = ReturnMode.MINIMAL, **options: Any
    ) -> SearchResult:
        """Return an answer to a query from at most `k` passages.

        Args:
            return_mode: whether the result keeps its items.
            options: reach the hooks that name them, and the synthesize hooks as their `kwargs`.

        Raises:
            RetrievalError: a hook failed; `context` holds query, k, and the hook with its plugin.
        """
        listeners = {name: options.pop(name) for name in _LISTENERS & options.keys()}
        invalid = _check(query, k, return_mode, options.get("synthesizer"), **listeners)
        invalid = invalid or self._check_options(options, RETRIEVE, SYNTHESIZE)
        if invalid is not None:
            return SearchResult.fail(invalid, query=_as_text(query))
        retrieved = self.execute_retrieve(query, k, for_synthesize=True, **self._taken(options))
        mode = ReturnMode(return_mode)
        if retrieved.is_error():
            items: list[RetrievedItem] | None = [] if mode is ReturnMode.WITH_ITEMS else None
            return SearchResult.fail(retrieved.detail, query=query, items=items, extra=retrieved.extra)
        searched = {key: value for key, value in retrieved.extra.items() if key in _SAID}
        start = SearchResult(query=query, items=retrieved.items, detail=retrieved.detail, extra=searched)
        retrieved_ids = {item.id for item in retrieved.items}  # before hooks change the list
        arguments = (retrieved, mode, {**_own(options), **listeners})
        result = self._run(SYNTHESIZE, start, arguments, {"query": query, "k": k}, {})
        result.query = query
        # What the hook left empty comes from the retrieval.
        if result.items is None:
            result.items = retrieved.items
        if result.is_ok() and result.detail is None:
            result.detail = retrieved.detail
        result.extra = {**searched, **result.extra}
        source_ids = list(dict.fromkeys(result.used_source_ids))
        unknown = [id for id in source_ids if id not in retrieved_ids]
        if unknown:
            result.extra["unknown_source_ids"] = unknown
        result.used_source_ids = [id for id in source_ids if id in retrieved_ids]
        if mode is ReturnMode.MINIMAL:
            result.items = None
        return result

    def stream_search(
        self, query: str, k: int = 10, return_mode: ReturnMode | str = ReturnMode.MINIMAL, **options: Any
    ) -> SearchStream:
        """Stream the answer: iterate for text, then read `.result`, which is what `execute_search`
        returns.

        A synthesize hook streams by calling `kwargs["on_text"]` with each piece; the response of one that
        does not comes as one piece. An option `on_sources` is called with the numbered passages before the first
        piece, where the writer knows them by then. Closing the stream stops the model.
        """
        if "on_text" in options:
            raise ArgumentError(f"on_text must be left out of a stream of texts, got {options['on_text']!r}")
        search = partial(self.execute_search, query, k, return_mode, **options)
        return SearchStream(lambda on_text: search(on_text=on_text))

    aexecute_retrieve = async_twin(execute_retrieve)
    aexecute_search = async_twin(execute_search)
    astream_search = async_pieces(stream_search)

    def _check_options(self, options: Mapping[str, Any], *calls: str) -> StatusDetail | None:
        """Return the error for the first option that is reserved or that no hook of these calls accepts.

        None if all are fine, or if the hooks are unknown.
        """
        reserved = next((name for name in options if name in _RESERVED), None)
        if reserved is not None:
            message = f"options must not be named {', '.join(sorted(_RESERVED))}, got {reserved!r}"
            return StatusDetail(code=StatusCode.INVALID, message=message)
        registry = getattr(self.rag2f, "morpheus", None) if options else None
        if not isinstance(registry, Morpheus):
            return None  # what its hooks take is not known
        names = {"synthesizer"} if SYNTHESIZE in calls else set()
        accepts_any = False
        for hook in (hook for call in calls for hook in registry.hooks(call)):
            names |= hook.accepts or set()
            if hook.plugin != BUILTIN:  # a synthesize hook finds every option in its `kwargs`
                accepts_any |= hook.accepts is None or hook.name == SYNTHESIZE
        try:
            check_names(options, names, others=accepts_any)
        except ArgumentError as error:
            return StatusDetail(code=StatusCode.INVALID, message=str(error))
        return None

    def _taken(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out the options that only synthesize hooks take."""
        registry = getattr(self.rag2f, "morpheus", None) if options else None
        names = options_of(registry.hooks(RETRIEVE)) if isinstance(registry, Morpheus) else None
        return options if names is None else {name: value for name, value in options.items() if name in names}

    def _run(
        self,
        name: str,
        result: R,
        arguments: tuple[Any, ...],
        context: dict[str, Any],
        options: Mapping[str, Any],
    ) -> R:
        """Run all hooks of a name, and return the result that they leave, validated."""
        if self.rag2f is None:
            return result
        try:
            returned = self.rag2f.morpheus.execute_hook(name, result, *arguments, rag2f=self.rag2f, **options)
        except RetrievalError as error:
            # "" for a plugin that is unknown; the registry, if it raised this, named it.
            error.context = {"hook": name, "plugin": "", **error.context, **context}
            raise
        except Exception as cause:
            message = f"{name} failed: {type(cause).__name__}: {cause}"
            raise RetrievalError(message, context={**context, "hook": name, "plugin": ""}) from cause
        if not isinstance(returned, type(result)):
            message = f"{name} must give {type(result).__name__}, got {returned!r}"
            raise RetrievalError(message, context={**context, "hook": name, "plugin": ""})
        try:  # assignment is not validated, and hooks assign in place
            valid = type(returned).model_validate(dict(returned))
        except ValueError as cause:
            message = f"a hook of {name} put what does not belong there into its result: {cause}"
            raise RetrievalError(message, context={**context, "hook": name, "plugin": ""}) from cause
        returned = returned.model_copy(update=dict(valid))
        if returned.detail is None and returned.is_error():
            message = f"A hook of {name} gave an error without saying why"
            returned.detail = StatusDetail(code="error", message=message)
        return returned


IndianaJones = RetrievalManager


def _own(value: Any) -> Any:
    """Copy dicts, lists, tuples and sets at every level, so that hooks may change them; other values stay."""
    if isinstance(value, dict):
        copied = copy(value)  # of a subclass, such as `defaultdict`, too
        copied.update({key: _own(part) for key, part in value.items()})
        return copied
    if isinstance(value, list):
        return [_own(part) for part in value]
    if type(value) is tuple:
        return tuple(_own(part) for part in value)
    return copy(value) if isinstance(value, set) else value


def install_builtins(
    registry: Morpheus,
    retriever: Retriever,
    synthesizer: Callable[[], Synthesizer] | None = None,
    *,
    options: Sequence[str] = ("filter",),
    for_answers: Mapping[str, Any] = MappingProxyType({}),
    correct: Correct | None = None,
) -> None:
    """Registers Sleuth's own retriever and synthesizer as hooks of priority 0, under the plugin name
    "sleuth".

    Args:
        synthesizer: returns what writes an answer, at each call that names no other.
        options: keywords of a call that the retriever takes.
        for_answers: their values where an answer is written from the passages, and the call has no others.
        correct: spells the words of a question as the passages do, before it is answered.
    """

    def retrieve(
        result: RetrieveResult,
        query: str,
        k: int,
        return_mode: ReturnMode,
        for_synthesize: bool,
        *,
        rag2f: Any,
        **options_of_call: Any,
    ) -> RetrieveResult | None:
        """Fill the result, unless an earlier hook already gave items or an error."""
        if result.is_error() or result.items:
            return None
        if for_synthesize:
            options_of_call = {**for_answers, **options_of_call}
        original_query = result.query or query
        corrected_query, correction_notes = (
            correct(original_query, options_of_call.get("sources"))
            if correct and for_synthesize
            else (original_query, ())
        )
        ranking = retriever.retrieve(corrected_query, min(k, MOST_K), **options_of_call)
        result.items = list(ranking.items)
        result.detail = _detail_of(ranking)
        result.status = "success" if result.items else "error"
        notes = list(dict.fromkeys([*ranking.notes, *correction_notes]))
        if corrected_query != original_query:
            result.extra["corrected_query"] = corrected_query
            notes.insert(
                0, f"no passage holds all words as they are spelt; answered instead: {corrected_query}"
            )
        if notes:
            result.extra["notes"] = notes
        return result

    registry.add(Hook(RETRIEVE, retrieve, 0, BUILTIN, frozenset(options)))
    if synthesizer is None:
        return

    def synthesize(
        result: SearchResult,
        retrieve_result: RetrieveResult,
        return_mode: ReturnMode,
        kwargs: Mapping[str, Any],
        *,
        rag2f: Any,
    ) -> SearchResult | None:
        """Write the response, unless an earlier hook did; `synthesizer` of the call writes this one answer."""
        if result.is_error() or result.response:
            return None
        items = retrieve_result.items if result.items is None else result.items
        writer: Synthesizer = kwargs.get("synthesizer") or synthesizer()
        question = result.extra.get("corrected_query", result.query)
        announce = kwargs.get("on_sources")
        if announce is not None and isinstance(writer, Announcing) and (sources := writer.sources(items)):
            announce(sources)
        answer = writer.synthesize(question, items, on_text=kwargs.get("on_text"))
        result.response = answer.response
        result.used_source_ids = answer.used_source_ids
        result.extra = {**result.extra, **answer.extra}
        result.detail = answer.detail or result.detail
        return result

    registry.on(SYNTHESIZE, synthesize, priority=0, plugin=BUILTIN)


def _check(
    query: Any, k: Any, return_mode: Any, synthesizer: Any = None, **listeners: Any
) -> StatusDetail | None:
    if query is None or (isinstance(query, str) and not query.strip()):
        return StatusDetail(code=StatusCode.EMPTY, message="Query is empty")

    argument = "query"
    try:
        check_query(query)
        argument = "k"
        check_count(k, least=1)
        argument = "synthesizer"
        check_kind(synthesizer, None | Synthesizer, argument, "a Synthesizer or None")
        for argument, listener in listeners.items():
            check_kind(listener, Callable | None, argument, "callable")
    except ArgumentError as error:
        return StatusDetail(code=StatusCode.INVALID, message=str(error), context={"argument": argument})
    if return_mode not in list(ReturnMode):
        message = f"return_mode must be 'minimal' or 'with_items', got {return_mode!r}"
        return StatusDetail(code=StatusCode.INVALID, message=message, context={"argument": "return_mode"})
    return None


def _as_text(query: Any) -> str:
    return query if isinstance(query, str) else "" if query is None else str(query)


def _detail_of(ranking: Ranking) -> StatusDetail | None:
    failures = ranking.failures
    names = ", ".join(part.name for part in failures)
    context = {"failed": [part.to_dict() for part in failures]} if names else {}
    if ranking.items:
        message = f"Some parts did not answer: {names}"
        return StatusDetail(code=StatusCode.DEGRADED, message=message, context=context) if names else None
    message = "No passage matches the query" + (f"; these parts did not answer: {names}" if names else "")
    return StatusDetail(code=StatusCode.NO_RESULTS, message=message, context=context)
