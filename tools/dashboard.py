"""Writes the Grafana dashboard: python tools/dashboard.py > deploy/monitoring/dashboard.json."""

from __future__ import annotations

import json
from typing import Any

_REQUESTS = "sum by ({by}) (rate(sleuth_requests_total[$__rate_interval]))"
_QUANTILE = "histogram_quantile({share}, sum by (le{by}) (rate({series}_bucket{where}[$__rate_interval])))"

PANELS = (
    ("Requests a second", "reqps", {"{{status}}": _REQUESTS.format(by="status")}),
    (
        "Seconds of a search",
        "s",
        {
            name: _QUANTILE.format(
                share=share, by="", series="sleuth_request_seconds", where='{route="/v1/search"}'
            )
            for name, share in (("median", 0.5), ("95 of 100", 0.95), ("99 of 100", 0.99))
        },
    ),
    ("Requests a second by route", "reqps", {"{{route}}": _REQUESTS.format(by="route")}),
    (
        "Seconds of a leg or source, 95 of 100",
        "s",
        {"{{leg}}": _QUANTILE.format(share=0.95, by=", leg", series="sleuth_leg_seconds", where="")},
    ),
    (
        "Legs and sources that fail, a second",
        "reqps",
        {
            "{{leg}}": 'sum by (leg) (rate(sleuth_leg_seconds_count{status=~"failed|abandoned"}[$__rate_interval]))'
        },
    ),
    (
        "Requests that wait, and that are worked on",
        "short",
        {
            "{{lane}} wait": "sum by (lane) (sleuth_queue_waiting)",
            "{{lane}} run": "sum by (lane) (sleuth_queue_running)",
        },
    ),
    (
        "Share of searches whose answer was kept",
        "percentunit",
        {
            "kept": 'sum(rate(sleuth_cache_total{outcome="hit"}[$__rate_interval])) / '
            "sum(rate(sleuth_cache_total[$__rate_interval]))"
        },
    ),
    ("Version of the index", "none", {"{{instance}}": "sleuth_index_version"}),
    (
        "Searchers and shards that answer",
        "short",
        {"searchers": "sum(sleuth_searchers_up)", "shards": "sum(sleuth_shards_up)"},
    ),
    (
        "Searchers lost, revived and late, a second",
        "ops",
        {"{{event}}": "sum by (event) (rate(sleuth_searcher_events_total[$__rate_interval]))"},
    ),
    (
        "Cache of published versions",
        "bytes",
        {"used": "max(sleuth_published_cache_bytes)", "limit": "max(sleuth_published_cache_limit_bytes)"},
    ),
    ("Published version", "none", {"{{instance}}": "sleuth_published_version"}),
)
"""Title, unit, and expression by legend, of each panel; two panels stand in a row."""


def dashboard() -> dict[str, Any]:
    """Return the dashboard in the JSON model of Grafana."""
    source = {"type": "prometheus", "uid": "${source}"}
    panels = []
    for place, (title, unit, expressions) in enumerate(PANELS):
        targets = [
            {
                "refId": chr(ord("A") + number),
                "expr": expression,
                "legendFormat": legend,
                "datasource": source,
            }
            for number, (legend, expression) in enumerate(expressions.items())
        ]
        panels.append(
            {
                "id": place + 1,
                "type": "timeseries",
                "title": title,
                "datasource": source,
                "gridPos": {"x": place % 2 * 12, "y": place // 2 * 8, "w": 12, "h": 8},
                "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                "targets": targets,
            }
        )
    variable = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": "sleuth",
        "title": "Sleuth",
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [variable]},
        "panels": panels,
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
