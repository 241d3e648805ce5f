"""Fixtures: a local AWS, fresh retry budgets, and no default client."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from sleuth.knowledge_base import clients
from sleuth.remote import forget_endpoints
from sleuth.testing.aws import BedrockServer

KB, DS = "KB12345678", "DS12345678"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_endpoints()
    for name in (
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
    clients.set_default_client(None)


def fill(server: BedrockServer) -> None:
    server.hold(
        KB, DS, "s3://bucket/judy.txt", "pictures of judy at the lake", {"topic": "genealogy", "year": 1990}
    )
    server.hold(KB, DS, "s3://bucket/pictures.txt", "pictures of judy", {"topic": "photos", "year": 2001})
    server.hold(KB, DS, "s3://bucket/rag.txt", "what is a knowledge base", {"topic": "tech"})
    server.hold(KB, "DSOTHER000", "s3://other/judy.txt", "judy elsewhere", {"topic": "genealogy"})


@pytest.fixture(scope="session")
def running() -> Iterator[BedrockServer]:
    """Start one server for the session, since reading its models takes half a second."""
    with BedrockServer() as server:
        yield server


@pytest.fixture
def server(running: BedrockServer) -> BedrockServer:
    running.bases.clear()
    running.rules.clear()
    running.calls.clear()
    running.requests.clear()
    running.page_size = 100
    running.limit_rate(math.inf)
    fill(running)
    return running


@pytest.fixture(scope="session")
def runtime(running: BedrockServer) -> Any:
    return running.client("bedrock-agent-runtime", max_pool_connections=50)


@pytest.fixture(scope="session")
def agent(running: BedrockServer) -> Any:
    return running.client("bedrock-agent")


@pytest.fixture
def aws(server: BedrockServer, monkeypatch: pytest.MonkeyPatch) -> BedrockServer:
    """Set the environment of an AWS account whose region is this server."""
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    return server
