"""How many attempts does a request cost while its service is down?

    python -m benchmarks.studies.outage [--seconds 60] [--threads 20]

Threads search the web, and then embed texts, at a local server that answers every request with 503 for so many
seconds. A thread pauses for half a second after each failed request, as a program does that serves its own users.
Printed: requests, attempts that reached the server, attempts per request, and whether the first request
after the outage succeeds. The bar is 1.3 attempts per request.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, sleep

from sleuth.errors import EmbeddingError
from sleuth.llm import OpenAIEmbedder
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.web import search_web

KEY = "tvly-outage"
PAUSE = 0.5
VECTOR = json.dumps({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).encode()
RESULTS = json.dumps({"results": [{"url": "https://a.org/", "title": "A", "content": "A page."}]}).encode()


class FailingServer(LocalServer):
    """A web search and an embedder, both down while `is_down`."""

    is_down = True

    def answer(self, request: Request) -> Reply:
        """Return 503 during the outage."""
        if self.is_down:
            return Reply(503, b'{"error": {"message": "down"}}')
        return Reply(200, VECTOR if request.path.endswith("/embeddings") else RESULTS)


def storm(call: Callable[[], bool], seconds: float, threads: int) -> int:
    """Call from several threads until the time is over; return how often."""
    end = monotonic() + seconds

    def caller(_: int) -> int:
        calls = 0
        while monotonic() < end:
            call()
            calls += 1
            sleep(PAUSE)
        return calls

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(caller, range(threads)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=20)
    options = parser.parse_args()
    logging.getLogger("sleuth").addHandler(logging.NullHandler())
    with FailingServer() as web, FailingServer() as model:
        embedder = OpenAIEmbedder("e", f"{model.url}/v1", api_key=KEY)

        def search() -> bool:
            return bool(search_web("climate", 1, api_key=KEY, base_url=web.url)["results"])

        def embed() -> bool:
            with suppress(EmbeddingError):
                return bool(embedder.embed_query("climate"))
            return False

        print("| client | requests | attempts | attempts per request | works again |\n|---|---|---|---|---|")
        for name, server, call in (("web search", web, search), ("embedder", model, embed)):
            requests = storm(call, options.seconds, options.threads)
            attempts = len(server.requests)
            server.is_down = False
            ratio = attempts / requests
            print(
                f"| {name} | {requests} | {attempts} | {ratio:.2f} | {'yes' if call() else 'no'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
