"""Fixtures: a local AWS, fresh retry budgets, and no default client."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.knowledge_base import LocalKnowledgeBase, clients
from sleuth.remote.endpoints import forget_endpoints
from sleuth.testing.aws import BedrockServer

KB, DS, OTHER = "KB12345678", "DS12345678", "DSOTHER000"
BUCKETS = {DS: "bucket", OTHER: "other"}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_endpoints()
    for name in ("REGION", "DEFAULT_REGION", "PROFILE", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
    clients.set_default_client(None)


class Account:
    """A knowledge base over an index, with two data sources that read buckets."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._buckets = {bucket: folder / bucket for bucket in BUCKETS.values()}
        for bucket in self._buckets.values():
            bucket.mkdir()
        sources = {source: f"s3://{bucket}/" for source, bucket in BUCKETS.items()}
        self.base = LocalKnowledgeBase(engine, sources=sources, buckets=self._buckets, knowledge_base_id=KB)

    def put(self, uri: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Write an object of a bucket, with its metadata beside it."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        path = self._buckets[bucket] / key
        path.write_text(text)
        attributes = {"metadataAttributes": dict(metadata or {})}
        path.with_name(path.name + ".metadata.json").write_text(json.dumps(attributes))

    def hold(self, source: str, uri: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Write an object of a bucket and index it as a document of its data source."""
        self.put(uri, text, metadata)
        owned = {"source": uri, "title": uri.rpartition("/")[2], "x-amz-bedrock-kb-data-source-id": source}
        self._engine.add([Document(text, {**owned, **(metadata or {})}, id=uri)])


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with Engine.open(tmp_path / "account", create=True) as engine:
        account = Account(engine, tmp_path)
        genealogy = {"topic": "genealogy"}
        account.hold(DS, "s3://bucket/judy.txt", "pictures of judy at the lake", {**genealogy, "year": 1990})
        account.hold(DS, "s3://bucket/pictures.txt", "pictures of judy", {"topic": "photos", "year": 2001})
        account.hold(DS, "s3://bucket/rag.txt", "what is a knowledge base", {"topic": "tech"})
        account.hold(OTHER, "s3://other/judy.txt", "judy elsewhere", genealogy)
        with account.base:
            yield account


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BedrockServer]:
    """Start one server for the session, since reading its models takes half a second."""
    folder = tmp_path_factory.mktemp("server")
    with (
        Engine.open(folder / "index", create=True) as engine,
        BedrockServer(LocalKnowledgeBase(engine)) as server,
    ):
        yield server


@pytest.fixture
def server(running: BedrockServer, account: Account) -> BedrockServer:
    running.base = account.base
    running.rules.clear()
    running.calls.clear()
    running.requests.clear()
    running.limit_rate(math.inf)
    return running


@pytest.fixture(scope="session")
def runtime(running: BedrockServer) -> Any:
    return running.client("bedrock-agent-runtime", max_pool_connections=50)


@pytest.fixture(scope="session")
def agent(running: BedrockServer) -> Any:
    return running.client("bedrock-agent")


def set_account(monkeypatch: pytest.MonkeyPatch, url: str, key: str = "local") -> None:
    """Set the environment of an AWS account whose region is the server at a URL."""
    account = {"REGION": "us-east-1", "ACCESS_KEY_ID": "local", "SECRET_ACCESS_KEY": key, "ENDPOINT_URL": url}
    for name, value in {**account, "CONFIG_FILE": "/nonexistent"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def aws(server: BedrockServer, monkeypatch: pytest.MonkeyPatch) -> BedrockServer:
    """Set the environment of an AWS account whose region is this server."""
    set_account(monkeypatch, server.url)
    return server
