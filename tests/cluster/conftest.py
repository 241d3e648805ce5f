"""Fixtures and indexes of these tests: a local S3 (moto's server on loopback), published indexes and shards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.cluster import Cache, ShardedEngine
from sleuth.cluster.published import published_backend
from sleuth.engine.opening import OpenOptions

BUCKET = "indexes"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Return the URL of a server that speaks S3."""
    pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    with moto_behind(lambda request: None) as url:
        yield url


@pytest.fixture
def forgetful_s3(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the same bucket behind a server that ignores If-None-Match, as some storages do."""
    with moto_behind(lambda request: request.pop("HTTP_IF_NONE_MATCH", None)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        yield s3


@contextmanager
def moto_behind(change: Callable[[dict[str, Any]], object]) -> Iterator[str]:
    """Run a server of moto, whose requests are changed first; the URL.

    It answers one request after the other: moto looks for an object and creates it in two steps, between which another
    thread could create it; S3 does that in one.
    """
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    backend, turn = DomainDispatcherApplication(create_backend_app), Lock()

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        change(environ)
        with turn:
            return backend(environ, start_response)

    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def environment_of(endpoint: str) -> dict[str, str]:
    """Return what obstore and boto3 read of a server of S3."""
    regions = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    return {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true", **keys, **regions}


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return an empty bucket and a client of boto3, with the environment that obstore reads."""
    import boto3

    for name, value in environment_of(s3_endpoint).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=s3_endpoint)
    client.create_bucket(Bucket=BUCKET)
    yield client
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    for page in pages:
        for entry in page.get("Contents", ()):
            client.delete_object(Bucket=BUCKET, Key=entry["Key"])
    client.delete_bucket(Bucket=BUCKET)


@pytest.fixture
def address(tmp_path: Path) -> str:
    """Where an index is published in a folder."""
    return f"file://{tmp_path}/published"


def open_published(address: str, cache: Cache) -> Engine:
    """Open a published index over a cache of the test's own; `Engine.open` uses that of the user."""
    return Engine(published_backend(address, OpenOptions(), cache=cache))


def documents(n: int) -> list[Document]:
    return [Document(f"tide number {i}", {"n": i}, id=f"d{i}") for i in range(n)]


@contextmanager
def twins(
    folder: Path, documents: list[Document], shards: int = 3, **options: Any
) -> Iterator[tuple[Engine, Engine]]:
    """Make an index and one of shards with the same documents."""
    with (
        Engine.open(folder / "one", create=True, **options) as one,
        ShardedEngine.open(folder / "many", create=True, shards=shards, **options) as many,
    ):
        for engine in (one, many):
            engine.add(documents)
        yield one, many
