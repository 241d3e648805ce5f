"""The HTTP server as an application of Ray Serve, which a RayService of KubeRay runs.

applications:
  - name: sleuth
    import_path: sleuth.plugins.ray.application:application
    args: {index: "s3://bucket/docs", keys: /keys/keys.json, allow_host: [search.example.org]}
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI

from sleuth.errors import ArgumentError, requires
from sleuth.plugins.ray.engine import serve_from_ray
from sleuth.plugins.ray.metrics import METRICS
from sleuth.plugins.ray.router import RouterOptions
from sleuth.surfaces.cli import extensions, settings_of
from sleuth.surfaces.http import Extension, ServerSettings, create_app

_ROUTING: Final = ("searchers", "replicas")
_SERVING: Final = (*_ROUTING, "follow")
_NAMES: Final = {"index", *_SERVING, *(field.name for field in fields(ServerSettings))} - {"host", "port"}


def application(arguments: Mapping[str, Any]) -> Any:
    """Return the application of Ray Serve that serves a published index from searchers on Ray.

    Args:
        arguments: `index`, its address; `searchers`, `replicas` and `follow`, as options of `sleuth cluster serve`; and
            fields of `ServerSettings`, without `host` and `port`: Ray Serve has its own. `keys` is required.

    Raises:
        ArgumentError: an argument is missing, not known, or has no such value.
        MissingPackageError: Ray Serve is not installed.
    """
    options = dict(arguments)
    _settings(options)  # refuses wrong arguments here, and not in the processes of Ray Serve
    with requires("ray", "cluster", "an application of Ray Serve"):
        from ray import serve

    def build() -> FastAPI:
        return _build(options)

    deployment: Any = serve.deployment(serve.ingress(build)(), name="sleuth")
    return deployment.bind()


def _settings(options: Mapping[str, Any]) -> ServerSettings:
    """Return the settings of the server among the arguments of `application`; raises as it."""
    if unknown := sorted(options.keys() - _NAMES):
        raise ArgumentError(f"args must be among {', '.join(sorted(_NAMES))}, got {unknown[0]!r}")
    for name in ("index", "keys"):
        if not isinstance(options.get(name), str):
            raise ArgumentError(f"args must have {name} as a text, got {options.get(name)!r}")
    values = {name: value for name, value in options.items() if name not in {"index", *_SERVING}}
    return settings_of({**values, "keys": Path(options["keys"])}, 1)


def _build(options: Mapping[str, Any]) -> FastAPI:
    """Start searchers in the Ray of this process, and return the application; they end when it does."""
    settings = _settings(options)
    routing = RouterOptions(**{name: options[name] for name in _ROUTING if name in options})
    context = serve_from_ray(options["index"], options=routing, follow=options.get("follow"))
    engine = context.__enter__()
    engine.use_model(settings.model)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        yield
        context.__exit__(None, None, None)

    closing = Extension(lambda *_: None, lifespan=lifespan)
    return create_app(engine, settings, extensions=[*extensions(), METRICS, closing])
