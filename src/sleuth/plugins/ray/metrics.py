"""What /metrics has of searchers: read when it is asked for, so that nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from fastapi import FastAPI
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sleuth.plugins.ray.engine import RayEngine
from sleuth.surfaces.http import Extension, Service

_GAUGES: Final = {
    "published_version": "Version of the published index that searchers answer from",
    "searchers": "Searchers of a published index",
    "searchers_up": "Searchers that answer",
    "shards": "Shards of a published index that searchers own",
    "shards_up": "Shards that a searcher answers for",
    "published_cache_bytes": "Size of the fullest cache of published versions of a searcher",
    "published_cache_limit_bytes": "Limit of that cache",
}
_EVENTS: Final = ("lost", "revived", "hedged", "cut_off", "reconnected")


@dataclass(frozen=True, slots=True)
class SearcherMetrics(Collector):
    """How the index of an engine over searchers is served, for Prometheus."""

    engine: RayEngine

    def collect(self) -> Iterator[Metric]:
        """Yield each series."""
        gauges, counts = self.engine.backend.served.serving()
        for name, text in _GAUGES.items():
            yield GaugeMetricFamily(f"sleuth_{name}", text, gauges[name])
        events = CounterMetricFamily(
            "sleuth_searcher_events",
            "Searchers lost and revived, questions asked of a replica too, losses of Ray's head",
            labels=["event"],
        )
        for event in _EVENTS:
            events.add_metric([event], counts.get(event, 0))
        yield events


def _install(_: FastAPI, service: Service) -> None:
    service.metrics.registry.register(SearcherMetrics(cast("RayEngine", service.engine)))


METRICS: Final = Extension(_install)
"""Adds them to a server over a `RayEngine`."""
