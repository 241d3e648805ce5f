"""The files under deploy/ fit the commands, the application and the metrics of the plugin. Needs no Ray."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from starlette.testclient import TestClient

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.plugins.ray.metrics import METRICS
from sleuth.surfaces.http import ServerSettings, create_app
from tests.commands import sleuth
from tests.test_deploy import CHART, FLAG, flags_of, read_yaml, series_asked_for, series_in, serve_arguments

SERVING = {"--searchers", "--replicas", "--follow", "--address"}


def test_every_option_of_a_build_exists(tmp_path: Path) -> None:
    """`sleuth cluster index` takes each option that the chart gives it."""
    (flags,) = [flags_of(*each, tmp_path) for each in serve_arguments() if each[1][0] == "cluster"]
    assert flags == {"--prune", "--shards", "--address"}


def test_a_server_has_the_options_of_every_server(tmp_path: Path) -> None:
    """`sleuth cluster serve` takes what `sleuth serve` does, without what an index on this machine needs."""
    alone, many = (
        sleuth(*command, "--help", cwd=tmp_path, COLUMNS="200").stdout
        for command in (["serve"], ["cluster", "serve"])
    )
    of_this_machine = {"--index", "--create", "--workers"}
    assert set(FLAG.findall(many)) == set(FLAG.findall(alone)) - of_this_machine | SERVING


def test_the_application_of_ray_serve_takes_its_arguments() -> None:
    """The RayService names a function of this version, which takes what the chart gives it."""
    (service,) = read_yaml(CHART / "templates" / "service.yaml")
    (entry,) = yaml.safe_load(service["spec"]["serveConfigV2"])["applications"]
    module, _, name = entry["import_path"].partition(":")
    build = getattr(import_module(module), name)
    with pytest.raises(ArgumentError, match=r"args must be among .*, got 'zone'"):
        build({**entry["args"], "zone": 2})
    for missing in ("index", "keys"):
        with pytest.raises(ArgumentError, match=f"args must have {missing} as a text, got None"):
            build({key: value for key, value in entry["args"].items() if key != missing})


def test_metrics_have_the_counts_of_searchers(hybrid: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server over searchers gives each series that alerts and panels ask for, as it is at that moment."""
    gauges = {"published_version": 7, "searchers": 4, "searchers_up": 3, "shards": 8, "shards_up": 6}
    gauges |= {"published_cache_bytes": 100, "published_cache_limit_bytes": 200}
    served = SimpleNamespace(serving=lambda: (gauges, {"lost": 2}))
    monkeypatch.setattr(hybrid.backend, "served", served, raising=False)
    app = create_app(hybrid, ServerSettings(), extensions=[METRICS])
    with TestClient(app, "http://localhost") as client:
        lines = client.get("/metrics").text
    assert series_asked_for(of_searchers=True) <= series_in(lines)
    events = {'{event="lost"}': 2, '{event="cut_off"}': 0}
    expected = {f"sleuth_{name} {value}.0" for name, value in gauges.items()}
    expected |= {f"sleuth_searcher_events_total{event} {count}.0" for event, count in events.items()}
    assert expected <= set(lines.splitlines())
