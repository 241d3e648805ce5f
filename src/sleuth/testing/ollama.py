"""A local Ollama server, which answers as told or fails as told.

A local server that speaks the protocol of https://github.com/ollama/ollama/blob/main/docs/api.md over real
sockets: NDJSON streams, `{"error": …}` bodies, 404 for a model that is not pulled, 503 for a full queue. Its
vectors count words, so that texts which share words lie close.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any, Literal, get_args

from sleuth.testing.serving import LocalServer, Reply, Request

Fault = Literal[
    "busy",
    "rate",
    "crash",
    "hang",
    "die",
    "reset",
    "malformed",
    "endless",
    "drip",
    "error-body",
    "late-error",
    "undone",
    "hollow",
    "cut",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
"""busy: 503, queue full. rate: 429. crash: 500. hang: no answer. die: the connection ends in the middle.
reset: it ends before the answer. malformed: JSON that breaks off. endless: an answer without end. drip: a
byte at a time. error-body: an error with status 200. late-error: a stream whose last line holds only an
error. undone: a stream that ends without `"done": true`. hollow: an object without the field that was asked
for. cut: an answer that the limit of tokens ended.
"""

DIMENSION = 64


class OllamaServer(LocalServer):
    """An Ollama on a free port of 127.0.0.1, up inside its `with` block.

    Args:
        models: the models that are pulled.
        reply: what a model answers to a prompt; by default it repeats the prompt's last line.
        batches: whether `/api/embed` is there; older servers have only `/api/embeddings`.
        context: tokens that `/api/show` says a model reads; None for a server that does not say.
        num_ctx: tokens that it says the model runs with, where it says the former.
        length: length of the vectors of `/api/embeddings`; those of `/api/embed` have length 1, as Ollama's
            have.

    Attributes:
        requests: all that came, in order.
    """

    def __init__(
        self,
        models: Sequence[str] = ("llama3.1", "nomic-embed-text"),
        *,
        reply: Callable[[str], str] | None = None,
        batches: bool = True,
        length: float = 20.0,  # not 1, so that who needs unit vectors must scale them
        context: int | None = None,
        num_ctx: int | None = None,
    ) -> None:
        super().__init__()
        self.models = list(models)
        self.reply = reply or (lambda prompt: prompt.rsplit("\n", 1)[-1])
        self.batches = batches
        self.length = length
        self.context, self.num_ctx = context, num_ctx
        self._faults: deque[Fault] = deque()
        self._always: Fault | None = None
        self._over = Event()

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        super().__exit__(*exc)

    def fail(self, *faults: Fault, always: bool = False) -> None:
        """Make the next requests fail in these ways, one each; with `always`, all later requests in the last way."""
        self._faults.extend(faults)
        self._always = faults[-1] if always else None

    def payloads(self, path: str) -> list[Any]:
        """Return the JSON bodies that were posted to a path, in order."""
        return [json.loads(request.body) for request in list(self.requests) if request.path == path]

    def answer(self, request: Request) -> Reply | None:
        """Ollama's answer, or the fault whose turn it is."""
        names = [_tagged(name) for name in self.models]
        facts: dict[str, dict[str, Any]] = {
            "/api/version": {"version": "0.9.6"},
            "/api/tags": {"models": [{"name": name, "model": name} for name in names]},
        }
        if self.context is not None:
            parameters = {} if self.num_ctx is None else {"parameters": f"num_ctx {self.num_ctx}"}
            facts["/api/show"] = {"model_info": {"llama.context_length": self.context}, **parameters}
        if request.path in facts:
            return _json(facts[request.path])
        routes = {"/api/generate": self._generate, "/api/embeddings": self._embeddings}
        if self.batches:
            routes["/api/embed"] = self._embed
        if request.method != "POST" or request.path not in routes:
            return Reply(404, b"404 page not found", {"Content-Type": "text/plain"})
        fault = self._faults.popleft() if self._faults else self._always
        if fault in ("hang", "reset"):
            self._over.wait(60 if fault == "hang" else 0)
            return None
        if fault in _REPLIES:
            return _REPLIES[fault]
        return self._work(routes[request.path], request.body, fault)

    def _work(
        self, route: Callable[[dict[str, Any], Fault | None], Reply], body: bytes, fault: Fault | None
    ) -> Reply:
        if fault == "endless":
            return Reply(200, pieces=self._endless())
        try:
            payload = json.loads(body)
        except ValueError as error:
            return _json({"error": str(error)}, 400)
        if _tagged(payload.get("model", "")) not in {_tagged(name) for name in self.models}:
            return _json({"error": f"model '{payload.get('model')}' not found"}, 404)
        return route(payload, fault)

    def _endless(self) -> Iterator[bytes]:
        while not self._over.is_set():
            yield b" " * 65536

    def _generate(self, payload: dict[str, Any], fault: Fault | None) -> Reply:
        text = self.reply(payload.get("prompt", ""))
        base = {"model": payload["model"], "created_at": "2026-01-01T00:00:00Z"}
        end = {"done": True, "done_reason": "length" if fault == "cut" else "stop"}
        if payload.get("stream", True) is False:
            return self._whole(json.dumps({**base, "response": text, **end}).encode(), fault)
        lines: list[dict[str, Any]] = [
            {**base, "response": word, "done": False} for word in re.findall(r"\S+\s*|\s+", text)
        ]
        return Reply(
            200,
            headers={"Content-Type": "application/x-ndjson"},
            pieces=self._stream(lines, {**base, "response": "", **end}, fault),
        )

    def _stream(
        self, lines: list[dict[str, Any]], end: dict[str, Any], fault: Fault | None
    ) -> Iterator[bytes]:
        for number, line in enumerate(lines):
            if fault == "die" and number == len(lines) // 2:
                raise ConnectionResetError
            data = json.dumps(line).encode() + b"\n"
            yield from self._drops(data) if fault == "drip" else (data,)
        if fault == "late-error":
            yield json.dumps({"error": "an error was encountered while running the model"}).encode() + b"\n"
        elif fault != "undone":
            yield json.dumps(end).encode() + b"\n"

    def _drops(self, data: bytes) -> Iterator[bytes]:
        for byte in data:
            yield bytes([byte])
            self._over.wait(0.05)  # slower than any deadline of a test for the whole answer

    def _whole(self, body: bytes, fault: Fault | None) -> Reply:
        headers = {"Content-Type": "application/json"}
        if fault == "die":
            return Reply(
                200,
                body[: len(body) // 2],
                {**headers, "Content-Length": str(len(body)), "Connection": "close"},
            )
        if fault == "drip":
            return Reply(200, headers=headers, pieces=self._drops(body))
        return Reply(200, body, headers)

    def _embeddings(self, payload: dict[str, Any], fault: Fault | None) -> Reply:
        text = payload.get("prompt", "")
        embedding = [self.length * x for x in embed(text)] if text else []
        return self._whole(json.dumps({"embedding": embedding}).encode(), fault)

    def _embed(self, payload: dict[str, Any], fault: Fault | None) -> Reply:
        texts = payload.get("input", [])
        texts = [texts] if isinstance(texts, str) else texts
        answer = {"model": payload["model"], "embeddings": [embed(text) for text in texts]}
        return self._whole(json.dumps(answer).encode(), fault)


def embed(text: str) -> list[float]:
    """Return a vector of length 1 that counts the words of a text, shape (64,)."""
    counts = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        counts[digest[0] % DIMENSION] += 1.0 if digest[1] % 2 else -1.0
    norm = math.sqrt(sum(count * count for count in counts))
    return [count / norm for count in counts] if norm else [1.0] + [0.0] * (DIMENSION - 1)


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return Reply(status, json.dumps(value).encode(), {**kind, **(headers or {})})


_REPLIES: dict[Fault, Reply] = {
    "busy": _json({"error": "server busy, please try again.  maximum pending requests exceeded"}, 503),
    "rate": _json({"error": "too many requests"}, 429, {"Retry-After": "0"}),
    "crash": _json({"error": "model runner has unexpectedly stopped"}, 500),
    "error-body": _json({"error": "llama runner process has terminated"}),
    "malformed": Reply(200, b'{"model": "llama3.1", "resp'),
    "hollow": _json({"model": "llama3.1", "done": True}),
}
