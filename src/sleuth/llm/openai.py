"""Generators and embedders behind an OpenAI-compatible endpoint, and how much their models read.

They send `POST /chat/completions` and `POST /embeddings`, which vLLM, llama.cpp, LM Studio, Ollama and many
hosted services also understand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, ClassVar, Final

from sleuth.arguments import check_count, check_kind, check_mapping, check_strings
from sleuth.errors import ArgumentError, EmbeddingError, GenerationError, RemoteError
from sleuth.llm.http import (
    AnswerError,
    Failures,
    JsonClient,
    RemoteGenerator,
    ServiceModel,
    StatusError,
    again_when_pure,
    again_when_refused,
    checked_secret,
    checked_timeout,
    ended,
    never_again,
    parse,
    vectors,
)
from sleuth.logs import logger_of
from sleuth.remote import Answer, Deadline, checked_base
from sleuth.remote.retry import advice
from sleuth.remote.secrets import Mask

logger = logger_of("llm")

SILENCE: Final = 5.0
"""Seconds of silence after which a server is not asked any more."""
REMEMBERED: Final = 600.0
"""Seconds for which an answer counts: a server may be started again with another limit."""

_LIMITS: Final = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx")
_answers: dict[tuple[str, str], tuple[float, int | None]] = {}
"""Address and model to the time until which an answer counts, and the answer."""


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


DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIFailures(Failures):
    """Failures of an endpoint.

    Attributes:
        url_variable, key_variable: names of the environment's address and key.
        default_url: where neither an argument nor the environment names one.
    """

    service = "openai-compatible"
    url_variable: ClassVar[str] = "OPENAI_BASE_URL"
    key_variable: ClassVar[str] = "OPENAI_API_KEY"
    default_url: ClassVar[str] = DEFAULT_URL

    def of_unreachable(self, url: str, cause: Exception) -> str:
        return f"{url} cannot be reached ({cause}); is base_url right?"

    def of_status(self, cause: StatusError) -> str:
        if cause.status in (401, 403):
            return f"refused the key ({cause}); set {self.key_variable}, or give api_key"
        if 300 <= cause.status < 400:
            return f"redirects ({cause}), which is not followed; is base_url right?"
        if cause.status in (429, 503):
            return f"is busy ({cause}): {advice(cause.after)}"
        return f"answered {cause}"


def connect(
    error: type[RemoteError],
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    kind: type[OpenAIFailures] = OpenAIFailures,
) -> JsonClient:
    """Return a client of an endpoint, with the address and key of the environment where none is given.

    Raises:
        ArgumentError: nobody names a server or a key of the default one, to which nothing is sent then.
    """
    address = base_url or os.environ.get(kind.url_variable)
    key = os.environ.get(kind.key_variable, "") if api_key is None else api_key
    if kind.default_url and not address and not key and api_key is None:
        variables = (
            f"set ${kind.url_variable} to its address, or ${kind.key_variable} to a key of {kind.default_url}"
        )
        raise ArgumentError(f"base_url must name a server, got none: {variables}")
    url = checked_base(address or kind.default_url, "base_url" if base_url else kind.url_variable)
    key = checked_secret(kind.key_variable if api_key is None else "api_key", key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    again = again_when_pure if error is EmbeddingError else again_when_refused
    describe = kind(error, timeout, Mask.of_headers(headers))
    return JsonClient(url, checked_timeout(timeout), _send, describe, again, headers)


def _send(url: str, body: bytes | None, secret_headers: Mapping[str, str], deadline: Deadline) -> Answer:
    """Send a request through httpx, to a resolved address or through the environment's proxy."""
    from sleuth.remote import exchange_with_host

    headers = {"Content-Type": "application/json", **secret_headers}
    method = "GET" if body is None else "POST"
    return exchange_with_host(method, url, deadline=deadline, headers=headers, body=body)


class OpenAIGenerator(RemoteGenerator):
    """A chat model behind an OpenAI-compatible endpoint.

    Args:
        model: its name there.
        base_url: up to and including `/v1`; None takes OPENAI_BASE_URL, else OpenAI's.
        api_key: None takes OPENAI_API_KEY; "" sends no key. Never shown.
        timeout: seconds of silence after which a call fails.
        options: further fields of the request, such as `{"temperature": 0}`.
        context: tokens of prompt and answer that the model reads; None asks the server.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 300.0,  # a local model may load before its first word
        options: Mapping[str, Any] | None = None,
        context: int | None = None,
    ) -> None:
        self.model = model
        self.options = check_mapping(options, "options")
        self._context = None if context is None else check_count(context, "context", least=1)
        self._client = connect(GenerationError, base_url, api_key, timeout)
        self.base_url = self._client.base_url

    @property
    def context_length(self) -> int | None:
        """Tokens of prompt and answer that are read; None where nobody says. A server is asked once in ten minutes."""
        if self._context is not None or self.base_url == DEFAULT_URL:  # OpenAI itself does not say
            return self._context
        key, client = (self.base_url, self.model), self._client
        until, window = _answers.get(key, (0.0, None))
        if monotonic() < until:
            return window
        asking = replace(client, timeout=min(client.timeout, SILENCE), again=never_again, retries=0)
        root = replace(asking, base_url=self.base_url.removesuffix("/v1"))
        try:
            entry = _entry(asking.get("/models"), self.model)
        except RemoteError as error:  # it may answer next time
            logger.debug("the window of %s is unknown: %s", self.model, error)
            return None
        limits = list(_limits(entry))
        if not limits and root.base_url != self.base_url:
            limits = list(_limits(_local(root, entry, self.model)))
        window = min(limits, default=None)
        _answers[key] = (monotonic() + REMEMBERED, window)
        return window

    def _reply(self, prompt: str) -> tuple[str, Any]:
        answer = self._client.post("/chat/completions", self._payload(prompt, stream=False))
        with self._client.described("/chat/completions"):
            try:
                choice = answer["choices"][0]
                content = choice["message"]["content"]
            except (KeyError, IndexError, TypeError):
                raise AnswerError(f"answered without a message: {self._client.shown(answer)}") from None
            if not isinstance(content, str):
                raise AnswerError(f"answered without a text: {self._client.shown(answer)}")
            return content, choice.get("finish_reason")

    def _pieces(self, prompt: str) -> Iterator[str]:
        is_over = False
        with self._client.described("/chat/completions"):
            for line in self._client.lines("/chat/completions", self._payload(prompt, stream=True)):
                name, _, value = line.partition(b":")
                if name in (b"", b"event", b"id", b"retry"):  # comments and other fields of the stream format
                    continue
                data = value.strip() if name == b"data" else line  # no stream, but an error or a whole answer
                if data == b"[DONE]":
                    return
                event = parse(data, self._client.mask)
                choices = event.get("choices") if isinstance(event, dict) else None
                choice = choices[0] if isinstance(choices, list) and choices else {}
                choice = choice if isinstance(choice, dict) else {}
                delta = choice.get("delta") or choice.get("message") or {}
                text = delta.get("content") if isinstance(delta, dict) else delta
                if text is not None and not isinstance(text, str):
                    raise AnswerError(f"streamed something that is no text: {self._client.shown(text)}")
                reason = choice.get("finish_reason")
                if text or reason == "length":
                    yield ended(text or "", reason)
                is_over = is_over or reason is not None
            if not is_over:
                raise AnswerError("ended its stream before it was done")

    def _payload(self, prompt: str, *, stream: bool) -> dict[str, Any]:
        check_kind(prompt, str, "prompt", "a string")
        messages = [{"role": "user", "content": prompt}]
        return {"model": self.model, "messages": messages, "stream": stream, **self.options}


class OpenAIEmbedder(ServiceModel):
    """An embedding model behind an OpenAI-compatible endpoint.

    Args:
        model: its name there.
        base_url, api_key, timeout: as of `OpenAIGenerator`.
        batch_size: texts per request.
        dimension: requests vectors of this length, for models that can shorten them.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 120.0,  # for a batch, and a model that loads first
        batch_size: int = 64,
        dimension: int | None = None,
    ) -> None:
        self.model = model
        self.batch_size = check_count(batch_size, "batch_size", least=1)
        self.dimension = dimension
        self._client = connect(EmbeddingError, base_url, api_key, timeout)
        self.base_url = self._client.base_url

    @property
    def fingerprint(self) -> str:
        """Name of the model and the requested length."""
        return f"openai:{self.model}:{self.dimension or 'full'}"

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text, shape (dimension,).

        Raises:
            EmbeddingError: the endpoint failed, or answered without a vector.
        """
        check_kind(text, str, "text", "a string")
        return self._batch([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order, shape (len(texts), dimension).

        Raises:
            EmbeddingError: as `embed_query`.
        """
        check_strings(texts, "texts")
        starts = range(0, len(texts), self.batch_size)
        return [row for start in starts for row in self._batch(texts[start : start + self.batch_size])]

    def _batch(self, texts: list[str]) -> list[list[float]]:
        payload: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimension is not None:
            payload["dimensions"] = self.dimension
        answer = self._client.post("/embeddings", payload)
        with self._client.described("/embeddings"):
            try:
                rows = sorted(answer["data"], key=lambda row: row["index"])
                return vectors([row["embedding"] for row in rows], len(texts))
            except (KeyError, TypeError):
                problem = f"answered without vectors: {self._client.shown(answer)}"
                raise AnswerError(problem) from None
