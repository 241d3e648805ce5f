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

_EVENTS: Final = ("lost", "revived", "hedged", "cut_off", "reconnected")


@dataclass(frozen=True, slots=True)
class SearcherMetrics(Collector):
    """How the index of an engine over searchers is served, for Prometheus."""

    engine: RayEngine

    def collect(self) -> Iterator[Metric]:
        """Yield each series."""
        status = self.engine.serving()
        for name, text, value in (
            (
                "published_version",
                "Version of the published index that searchers answer from",
                status.version,
            ),
            ("searchers", "Searchers of a published index", status.searchers),
            ("searchers_up", "Searchers that answer", status.searchers_up),
            ("shards", "Shards of a published index that searchers own", status.shards),
            ("shards_up", "Shards that a searcher answers for", status.shards_up),
            (
                "published_cache_bytes",
                "Size of the fullest cache of published versions of a searcher",
                status.cache_bytes,
            ),
            ("published_cache_limit_bytes", "Limit of that cache", status.cache_limit),
        ):
            yield GaugeMetricFamily(f"sleuth_{name}", text, value)
        events = CounterMetricFamily(
            "sleuth_searcher_events",
            "Searchers lost and revived, questions asked of a replica too, losses of Ray's head",
            labels=["event"],
        )
        for event in _EVENTS:
            events.add_metric([event], status.events.get(event, 0))
        yield events


def _install(_: FastAPI, service: Service) -> None:
    service.metrics.registry.register(SearcherMetrics(cast("RayEngine", service.engine)))


METRICS: Final = Extension(_install)
"""Adds them to a server over a `RayEngine`."""
