"""Ray on this machine, once for all tests, beside a server that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.cluster.storage import objects
from sleuth.testing.ollama import OllamaServer
from tests.cluster.conftest import environment_of, s3, s3_endpoint  # noqa: F401 - fixtures

BUCKET = "cluster"


@pytest.fixture(scope="session")
def ollama() -> Iterator[OllamaServer]:
    """Return a server of an embedding model."""
    with OllamaServer() as server:
        yield server


@pytest.fixture(scope="session")
def ray(s3_endpoint: str, ollama: OllamaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:  # noqa: F811
    """Ray with two processors, whose processes know where S3 and the model are."""
    if find_spec("ray") is None:  # it must not be imported before `ray_session` does
        pytest.skip("Ray is not installed: `make cluster` installs it")
    import boto3

    from sleuth.plugins.ray.session import ray_session

    with pytest.MonkeyPatch.context() as environment:
        cache = str(tmp_path_factory.mktemp("cache"))
        values = {**environment_of(s3_endpoint), "OLLAMA_HOST": ollama.url, "SLEUTH_CACHE": cache}
        for name, value in values.items():
            environment.setenv(name, value)
        boto3.client("s3", endpoint_url=s3_endpoint).create_bucket(Bucket=BUCKET)
        with ray_session(cpus=2) as module:
            yield module


@pytest.fixture
def address(ray: Any, tmp_path: Path) -> str:
    """Of an index that is not there yet."""
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of objects that are fetched as sources, in the order in which they are."""
    names: list[str] = []
    download = objects.ObjectFolder.download

    def counted(folder: objects.ObjectFolder, name: str, path: Path, etag: str) -> None:
        names.append(name)
        download(folder, name, path, etag)

    monkeypatch.setattr(objects.ObjectFolder, "download", counted)
    return names


def ranked(source: Engine, query: str, **options: Any) -> list[tuple[str, float | None]]:
    """Return ids and scores of twenty hits."""
    return [(item.id, item.score) for item in source.retrieve(query, 20, **options)]
