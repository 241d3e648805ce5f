"""Generators and embedders for models that Ollama runs.

Requests are those of https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from sleuth.arguments import check_count, check_kind, check_mapping, check_name, check_strings
from sleuth.errors import EmbeddingError, GenerationError, RemoteError
from sleuth.llm.http import (
    AnswerError,
    Failures,
    JsonClient,
    RemoteGenerator,
    ServiceModel,
    StatusError,
    again_when_pure,
    again_when_refused,
    checked_timeout,
    ended,
    never_again,
    parse,
    vectors,
)
from sleuth.llm.urllib_client import send
from sleuth.remote import checked_base, port_of
from sleuth.remote.retry import advice


class _Default(str):
    """The default address, distinct from the same address passed by the caller."""

    __slots__ = ()


DEFAULT_URL: str = _Default("http://localhost:11434")


WINDOW = 4096
"""Tokens that Ollama reads where nobody says how many."""
_NUM_CTX = re.compile(r"(?m)^num_ctx[ \t]+(\d{1,9})\b")

SHOWN = 5.0
"""Seconds of silence after which a server is not asked any more what it says of a model."""


def host_url(host: str) -> str:
    """Return the address that a value of OLLAMA_HOST means: `host`, `host:port` or a URL, as Ollama reads it.

    The port defaults to 11434, or to the scheme's own if there is a scheme. A server listens at 0.0.0.0 or [::];
    clients reach it at localhost.

    Raises:
        ArgumentError: it is not an address.
    """
    text = host.strip().strip("\"'")
    scheme, mark, place = text.rpartition("://")
    place = f"localhost{place}" if place.startswith(":") and not place.startswith("::") else place
    parts = urlsplit(checked_base(f"{scheme or 'http'}://{place}", "OLLAMA_HOST", "host, host:port or a URL"))
    port = port_of(parts) if mark else parts.port or 11434
    name = parts.hostname or "localhost"
    name = "localhost" if name in ("0.0.0.0", "::") else name  # noqa: S104 - read, not bound
    name = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name}:{port}{parts.path}"


def resolve_url(base_url: str) -> str:
    """Return `base_url`, or the address in OLLAMA_HOST in place of the default.

    Raises:
        ArgumentError: not an HTTP address.
    """
    host = os.environ.get("OLLAMA_HOST", "")
    if isinstance(base_url, _Default) and host.strip():
        return host_url(host)
    return checked_base(base_url)


@dataclass(frozen=True)
class _OllamaFailures(Failures):
    service = "ollama"
    model: str = ""

    def place(self, url: str) -> str:
        return f"Ollama at {url}"

    def of_answer(self, cause: AnswerError) -> str:
        return self._missing_model(str(cause)) or str(cause)

    def of_unreachable(self, url: str, cause: Exception) -> str:
        return f"Ollama does not answer at {url} ({cause}); start it with: ollama serve"

    def of_status(self, cause: StatusError) -> str:
        if problem := self._missing_model(cause.message):
            return problem
        if cause.status in (429, 503):
            return f"is busy ({cause}); it runs, but its queue is full: {advice(cause.after)}"
        return f"answered {cause}"

    def _missing_model(self, message: str) -> str:
        match = re.match(r"(?>.*?model\b).*?\bnot found", message, re.DOTALL | re.IGNORECASE)
        return f"has no model {self.model!r}; get it with: ollama pull {self.model}" if match else ""


class Ollama(RemoteGenerator):
    """A model that Ollama runs.

    Args:
        model: such as "llama3.1".
        base_url: the server; by default OLLAMA_HOST, else localhost.
        timeout: seconds of silence after which a call fails; loading a large model counts.
        options: parameters of the model, such as `{"num_ctx": 8192, "temperature": 0}`. Ollama silently cuts
            prompts that are longer than `num_ctx`.
    """

    def __init__(
        self,
        model: str,
        base_url: str = DEFAULT_URL,
        *,
        timeout: float = 300.0,  # a large model may load before its first word
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = check_name(model, "model")
        self.base_url = resolve_url(base_url)
        self.timeout = checked_timeout(timeout)
        self.options = check_mapping(options, "options")
        describe = _OllamaFailures(GenerationError, self.timeout, model=model)
        self._client = JsonClient(self.base_url, self.timeout, send, describe, again_when_refused)

    @cached_property
    def context_length(self) -> int:
        """Tokens of prompt and answer that are read: what the model can read, or less, if it runs with less.

        It runs with `num_ctx` of the options, else with that of its own parameters, else with Ollama's default.
        """
        client = replace(self._client, timeout=min(self.timeout, SHOWN), again=never_again, retries=0)
        try:
            answer = client.post("/api/show", {"model": self.model})
        except GenerationError:  # then it is asked no more
            answer = {}
        facts = answer if isinstance(answer, dict) else {}
        details = facts.get("model_info")
        lengths = [
            value
            for name, value in (details if isinstance(details, dict) else {}).items()
            if name.endswith(".context_length") and isinstance(value, int) and value > 0
        ]
        match = _NUM_CTX.search(str(facts.get("parameters") or ""))
        window = self.options.get("num_ctx") or (int(match[1]) if match else WINDOW)
        return min([int(window), *lengths])

    def _reply(self, prompt: str) -> tuple[str, Any]:
        answer = self._client.post("/api/generate", self._payload(prompt, stream=False))
        with self._client.described("/api/generate"):
            return _response(answer), answer.get("done_reason")

    def _pieces(self, prompt: str) -> Iterator[str]:
        with self._client.described("/api/generate"):
            for line in self._client.lines("/api/generate", self._payload(prompt, stream=True)):
                piece = parse(line)
                text, reason = _response(piece), piece.get("done_reason")
                if text or reason == "length":
                    yield ended(text, reason)
                if piece.get("done") is True:
                    return
            raise AnswerError("ended its stream before it was done")

    def _payload(self, prompt: str, *, stream: bool) -> dict[str, Any]:
        check_kind(prompt, str, "prompt", "a string")
        payload: dict[str, Any] = {"model": self.model, "prompt": prompt, "stream": stream}
        return {**payload, "options": self.options} if self.options else payload


def _response(answer: Any) -> str:
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, str):
        raise AnswerError(f"answered without a response: {str(answer)[:80]!r}")
    return response


class OllamaEmbedder(ServiceModel):
    """An embedding model that Ollama runs.

    Ollama's `/api/embeddings` returns a vector as the model computed it; `/api/embed` returns a batch scaled to
    length 1. A document and a query with the same text must have the same vector. So batches are used if both
    endpoints agree or `normalize` is set; otherwise documents are embedded one by one.

    Args:
        model: such as "nomic-embed-text".
        base_url: the server; by default OLLAMA_HOST, else localhost.
        timeout: seconds that one request may take.
        batch_size: texts per request to `/api/embed`.
        normalize: scale every vector to length 1, so that batches work with every model.
    """

    def __init__(
        self,
        model: str = "nomic-embed-text",
        base_url: str = DEFAULT_URL,
        *,
        timeout: float = 120.0,  # for a batch, and a model that loads first
        batch_size: int = 64,
        normalize: bool = False,
    ) -> None:
        self.model = check_name(model, "model")
        self.base_url = resolve_url(base_url)
        self.timeout = checked_timeout(timeout)
        self.batch_size = check_count(batch_size, "batch_size", least=1)
        self.normalize = normalize
        self._client = JsonClient(
            self.base_url,
            self.timeout,
            send,
            _OllamaFailures(EmbeddingError, self.timeout, model=model),
            again_when_pure,
        )
        is_own = type(self)._get_embedding is OllamaEmbedder._get_embedding
        self._batches: bool | None = None if is_own else False  # a subclass embeds each text in its own way

    @property
    def fingerprint(self) -> str:
        """Names the model and whether its vectors are scaled; the model sets their length."""
        return f"ollama:{self.model}:{'unit' if self.normalize else 'raw'}"

    def _get_embedding(self, text: str) -> list[float]:
        answer = self._client.post("/api/embeddings", {"model": self.model, "prompt": text})
        values = answer.get("embedding") if isinstance(answer, dict) else None
        with self._client.described("/api/embeddings"):
            if not isinstance(values, list) or not values:
                raise AnswerError(f"answered without a vector: {str(values)[:80]!r}")
            return vectors([values], 1)[0]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text, shape (dimension,).

        Raises:
            EmbeddingError: no server, no model, an error, a timeout, or an answer without a vector.
        """
        check_kind(text, str, "text", "a string")
        values = self._get_embedding(text)
        return unit(values) if self.normalize else values

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in order, shape (len(texts), dimension).

        Raises:
            EmbeddingError: as `embed_query`.
        """
        check_strings(texts, "texts")
        rows = self._first(texts[0]) if len(texts) > 1 else []
        if len(texts) > 1 and self._batches:
            starts = range(0, len(texts), self.batch_size)
            rows = [row for start in starts for row in self._batch(texts[start : start + self.batch_size])]
        else:
            rows += [self._get_embedding(text) for text in texts[len(rows) :]]
        with self._client.described("/api/embeddings"):
            rows = vectors(rows, len(texts))
        return [unit(row) for row in rows] if self.normalize else rows

    def _first(self, text: str) -> list[list[float]]:
        """Find out once whether batches may be used; return the vector of `text` if that computed it."""
        if self._batches is not None:
            return []
        single_vectors = [] if self.normalize else [self._get_embedding(text)]
        try:
            (batched,) = self._batch([text])
        except EmbeddingError as error:
            # A server is too old for `/api/embed` whose router gives 404, or whose answer has the old form.
            cause = error.__cause__
            is_missing = isinstance(cause, AnswerError) and "without vectors" in str(cause)
            if isinstance(cause, StatusError):
                is_missing = cause.status in (404, 405) and not cause.structured
            if is_missing:
                self._batches = False
            elif not single_vectors:
                raise
            return single_vectors  # single texts work; after other failures batches are tried again the next time
        # Vectors of float16 servers differ by a thousandth of their length.
        self._batches = self.normalize or (
            len(batched) == len(single := single_vectors[0])
            and math.dist(single, batched) <= 1e-3 * math.hypot(*single)
        )
        return single_vectors

    def _batch(self, texts: list[str]) -> list[list[float]]:
        answer = self._client.post("/api/embed", {"model": self.model, "input": texts})
        with self._client.described("/api/embed"):
            return vectors(answer.get("embeddings") if isinstance(answer, dict) else None, len(texts))


@dataclass(frozen=True, slots=True)
class OllamaStatus:
    """Whether a server answers, its version and its models.

    Attributes:
        models: names of the pulled models, sorted.
        problem: why it does not answer; "" if it does.
    """

    url: str
    version: str = ""
    models: tuple[str, ...] = ()
    problem: str = ""

    @property
    def running(self) -> bool:
        """Whether it answered."""
        return not self.problem


def ollama_status(base_url: str = DEFAULT_URL, *, timeout: float = 2.0) -> OllamaStatus:
    """Return what a server says of itself. A failing server is a status, never an error."""
    url = resolve_url(base_url)
    client = JsonClient(url, timeout, send, _OllamaFailures(RemoteError, timeout), never_again, retries=0)
    try:
        version = client.get("/api/version")
        tags = client.get("/api/tags")
    except RemoteError as error:
        return OllamaStatus(url, problem=str(error))
    models = tags.get("models") if isinstance(tags, dict) else None
    if not isinstance(models, list):
        return OllamaStatus(url, problem=f"{url}/api/tags answered without a list of models")
    names = sorted(str(model["name"]) for model in models if isinstance(model, dict) and "name" in model)
    return OllamaStatus(
        url, str(version.get("version", "")) if isinstance(version, dict) else "", tuple(names)
    )


def unit(values: Sequence[float]) -> list[float]:
    """Scale `values` to length 1; a zero vector stays as it is."""
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm else list(values)
