"""Counts and times requests for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from sleuth.surfaces.http.settings import WORKERS_VARIABLE
from sleuth.types import PartReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds of the buckets of durations: steps of 2 to 2.5, up to the 30 s that a request has by default."""


class Metrics:
    """What a server counts. `render` gives it in the text format of Prometheus, of all workers together."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        count = partial(Counter, registry=self.registry)
        time = partial(Histogram, registry=self.registry, buckets=_SECONDS)
        gauge = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        self.requests = count("sleuth_requests", "Requests answered", ("route", "status"))
        self.seconds = time(
            "sleuth_request_seconds", "Time from a request's head to the end of its answer", ("route",)
        )
        self.legs = time("sleuth_leg_seconds", "Time of each leg or source of a search", ("leg", "status"))
        self.waiting = gauge("sleuth_queue_waiting", "Requests that wait for a thread", ("lane",))
        self.running = gauge("sleuth_queue_running", "Requests that are worked on", ("lane",))
        self.cache = count("sleuth_cache", "Searches by whether their answer was kept", ("outcome",))
        self.cache_hits, self.cache_misses = self.cache.labels("hit"), self.cache.labels("miss")
        self.cache_bytes = gauge("sleuth_cache_bytes", "Size of the answers that are kept")
        self.version = gauge(
            "sleuth_index_version", "Newest committed version of the index", multiprocess_mode="livemax"
        )
        # Looking up a series takes longer than counting, so that it is done once.
        self.requests_of, self.seconds_of = cache(self.requests.labels), cache(self.seconds.labels)
        self._legs_of = cache(self.legs.labels)

    def observe_parts(self, parts: Iterable[PartReport]) -> None:
        """Record how long each leg or source of one search took, by kind and status."""
        for part in parts:
            kind = part.name.partition(":")[0]  # ids and paths would make a series each
            self._legs_of(kind, part.status).observe(part.seconds)

    def render(self) -> bytes:
        """Return all counts in the format of Prometheus."""
        registry = self.registry
        if WORKERS_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
