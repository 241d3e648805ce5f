"""Counts and times requests for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from sleuth.types import PartReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
WORKERS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder that several workers share their counts in; prometheus-client reads it when it is imported."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds of the buckets of durations: steps of 2 to 2.5, up to the 30 s that a request has by default."""


class Metrics:
    """What a server counts. `render` gives it in the text format of Prometheus, of all workers together."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sleuth_requests", "Requests answered", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "sleuth_request_seconds",
            "Time from a request's head to the end of its answer",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.legs = Histogram(
            "sleuth_leg_seconds",
            "Time of each leg or source of a search",
            ("leg", "status"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.waiting = Gauge(
            "sleuth_queue_waiting",
            "Requests that wait for a thread",
            ("lane",),
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.running = Gauge(
            "sleuth_queue_running",
            "Requests that are worked on",
            ("lane",),
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.cache = Counter(
            "sleuth_cache", "Searches by whether their answer was kept", ("outcome",), registry=self.registry
        )
        self.cache_hits, self.cache_misses = self.cache.labels("hit"), self.cache.labels("miss")
        self.cache_bytes = Gauge(
            "sleuth_cache_bytes",
            "Size of the answers that are kept",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.version = Gauge(
            "sleuth_index_version",
            "Newest committed version of the index",
            registry=self.registry,
            multiprocess_mode="livemax",
        )

        self._observers: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        self._part_observers: dict[tuple[str, str], Histogram] = {}

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        """Count one request. Looking up a series takes longer than counting, so that it is done once."""
        code = str(status)
        observers = self._observers.get((route, code))
        if observers is None:
            observers = self.requests.labels(route, code), self.seconds.labels(route)
            self._observers[route, code] = observers
        requests, histogram = observers
        requests.inc()
        histogram.observe(seconds)

    def observe_parts(self, parts: Iterable[PartReport]) -> None:
        """Record how long each leg or source of one search took, by kind and status."""
        for part in parts:
            kind = part.name.partition(":")[0]  # ids and paths would make a series each
            histogram = self._part_observers.get((kind, part.status))
            if histogram is None:
                histogram = self._part_observers[kind, part.status] = self.legs.labels(kind, part.status)
            histogram.observe(part.seconds)

    def render(self) -> bytes:
        """Return all counts in the format of Prometheus."""
        registry = self.registry
        if WORKERS_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
