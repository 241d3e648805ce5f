"""How many tokens a model behind an OpenAI-compatible endpoint reads, as far as its server says.

`GET /models` says it with vLLM and SGLang (`max_model_len`), OpenRouter and Together (`context_length`), Mistral
(`max_context_length`) and Groq (`context_window`). llama.cpp says at `/props` with how many it runs, and LM Studio at
`/api/v0/models`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from sleuth.errors import RemoteError
from sleuth.llm.http import JsonClient, never_again
from sleuth.logs import logger_of

logger = logger_of("llm")

SILENCE: Final = 5.0
"""Seconds of silence after which a server is not asked any more."""
REMEMBERED: Final = 600.0
"""Seconds for which an answer counts: a server may be started again with another limit."""

_LIMITS: Final = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx")
_answers: dict[tuple[str, str], tuple[float, int | None]] = {}
"""Address and model to the time until which an answer counts, and the answer."""


def window_of(client: JsonClient, model: str) -> int | None:
    """Return how many tokens of prompt and answer a model reads; None where its server does not say, or not in time."""
    key = (client.base_url, model)
    until, window = _answers.get(key, (0.0, None))
    if monotonic() < until:
        return window
    asking = replace(client, timeout=min(client.timeout, SILENCE), again=never_again, retries=0)
    try:
        window = min(_windows(asking, model), default=None)
    except RemoteError as error:  # it may answer next time
        logger.debug("the window of %s is unknown: %s", model, error)
        return None
    _answers[key] = (monotonic() + REMEMBERED, window)
    return window


def _windows(client: JsonClient, model: str) -> Iterator[int]:
    """Yield the limits that a server names, the first of its pages that names any.

    Raises:
        RemoteError: it does not list its models.
    """
    entry = _entry(client.get("/models"), model)
    limits = list(_limits(entry))
    root = replace(client, base_url=client.base_url.removesuffix("/v1"))
    if not limits and root.base_url != client.base_url:
        limits = list(_limits(_local(root, entry, model)))
    yield from limits


def _local(root: JsonClient, entry: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return what a server of llama.cpp or LM Studio says of a model at an address of its own."""
    is_llama = entry.get("owned_by") == "llamacpp"
    try:
        answer = root.get("/props" if is_llama else "/api/v0/models")
    except RemoteError:
        answer = None
    if is_llama:
        settings = answer.get("default_generation_settings") if isinstance(answer, dict) else None
        meta = entry.get("meta")
        trained = {"n_ctx": meta.get("n_ctx_train")} if isinstance(meta, dict) else {}
        return settings if isinstance(settings, dict) else trained
    facts = _entry(answer, model)  # with more than is loaded, LM Studio cuts a prompt
    return {"n_ctx": facts.get("loaded_context_length")}


def _entry(answer: Any, model: str) -> Mapping[str, Any]:
    """Return what a list of models says of one; of the only one where a server has one under another name."""
    rows = answer.get("data") if isinstance(answer, dict) else answer
    entries = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return next((row for row in entries if row.get("id") == model), entries[0] if len(entries) == 1 else {})


def _limits(entry: Mapping[str, Any]) -> Iterator[int]:
    parts = [part for part in (entry, entry.get("top_provider"), entry.get("meta")) if isinstance(part, dict)]
    for part in parts:
        for name in _LIMITS:
            value = part.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                yield value
