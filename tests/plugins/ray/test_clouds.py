"""Google's and Azure's storage, as sources and as storage: moto speaks as the one, Azurite as the other."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import pytest

from sleuth import Engine
from sleuth.cluster import fetch, prune, versions
from sleuth.cluster.storage import objects
from sleuth.errors import StorageError, StoreError
from sleuth.plugins.ray import index_on_ray
from tests.cluster.conftest import moto_behind
from tests.commands import sleuth
from tests.guides import HOME
from tests.waiting import free_port, wait_until

AZURITE = HOME / "build" / "azurite" / "node_modules" / ".bin" / "azurite-blob"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own account; its documentation names both."""


@pytest.fixture(params=["gs", "az"])
def box(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of an empty bucket of Google or container of Azure."""
    pytest.importorskip("obstore", reason="obstore is not installed")
    make = {"gs": _google, "az": _azure}[request.param]
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    with make(tmp_path, monkeypatch):
        yield f"{request.param}://box"


@contextmanager
def _google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run moto's S3: the XML API of Google differs in the header of a conditional creation, and in who may call."""
    pytest.importorskip("moto.server", reason="moto is not installed")

    def as_s3(request: dict[str, Any]) -> None:
        if request.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
            request["HTTP_IF_NONE_MATCH"] = "*"
        request["HTTP_AUTHORIZATION"] = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request"

    with moto_behind(as_s3) as url:
        account = tmp_path / "account.json"
        nobody = {"client_email": "", "private_key": "", "private_key_id": ""}
        account.write_text(json.dumps({"gcs_base_url": url, "disable_oauth": True, **nobody}))
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(account))
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        httpx.put(f"{url}/box").raise_for_status()
        yield


@contextmanager
def _azure(_: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    program = shutil.which("azurite-blob") or (str(AZURITE) if AZURITE.exists() else None)
    if program is None or not shutil.which("node"):
        pytest.skip("Azurite is not installed: `make cluster` installs it")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    where = [f"--blobPort={port}", "--blobHost=127.0.0.1", "--inMemoryPersistence"]
    options = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    process = subprocess.Popen([program, *where, *options], stdout=subprocess.DEVNULL)
    for name, value in {
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": url,
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
    }.items():
        monkeypatch.setenv(name, value)
    try:
        wait_until(lambda: _makes_container(url))
        yield
    finally:
        process.terminate()
        process.wait()


def _makes_container(url: str) -> bool:
    """Create the container, with the signature that Azure's REST API asks for; whether the server answers."""
    names = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    headers = "".join(f"{name}:{value}\n" for name, value in names.items())
    text = f"PUT{chr(10) * 12}{headers}/{ACCOUNT}/{ACCOUNT}/box\nrestype:container"
    digest = hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)
    signed = {
        "authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
        "content-length": "0",
    }
    with suppress(httpx.TransportError):
        httpx.put(f"{url}/{ACCOUNT}/box?restype=container", headers=names | signed).raise_for_status()
        return True
    return False


def put(folder: objects.ObjectFolder, name: str, text: str) -> None:
    folder.delete([name])
    assert folder.put(name, text.encode())


def test_an_index_is_built_published_and_opened_there(box: str, tmp_path: Path, downloads: list[str]) -> None:
    """Sources and versions both lie there; what changed is fetched again, and a version is fetched whole."""
    source, address = objects.ObjectFolder(f"{box}/corpus"), f"{box}/docs"
    for number in range(5):
        put(source, f"deep/{number}.md", f"# Tide {number}\n\nThe moon pulls {number} times.\n")
    settings = {"embedder": ""}
    assert index_on_ray(address, [f"{box}/corpus"], shards=2, settings=settings).added == 5
    assert len(downloads) == 5
    downloads.clear()
    assert index_on_ray(address, [f"{box}/corpus"]).version == 1
    assert downloads == []
    put(source, "deep/3.md", "The moon is gone.")
    source.delete(["deep/4.md"])
    report = index_on_ray(address, [f"{box}/corpus"], prune=True)
    assert (report.version, report.updated, report.pruned, report.documents) == (2, 1, 1, 4)
    assert downloads == ["3.md"]
    with Engine.open(address) as engine:
        assert engine.retrieve("gone moon", 1).items[0].text == "The moon is gone."
        assert engine.count().documents == 4
    with Engine.open(f"{address}@1") as engine:
        assert engine.count().documents == 5
    fetch(address, tmp_path / "copy")
    prune(address, keep=1)
    assert [manifest.number for manifest in versions(address)] == [2]


def test_errors_name_what_is_missing(box: str, tmp_path: Path) -> None:
    """A bucket or container that is not there is no empty one, and the variables are those of the storage."""
    scheme = box.partition(":")[0]
    kind, variable = {"gs": ("bucket", "GOOGLE_"), "az": ("container", "AZURE_")}[scheme]
    for call in (
        lambda: objects.ObjectFolder(f"{scheme}://absent/docs").put("name", b""),
        lambda: list(objects.ObjectFolder(f"{scheme}://absent/docs").list("")),
    ):
        with pytest.raises(StorageError, match=f"there is no {kind} {scheme}://absent: .*{variable}"):
            call()
    result = sleuth("cluster", "index", f"file://{tmp_path}/out", f"{scheme}://absent/corpus", cwd=tmp_path)
    assert result.returncode == 5, result.stderr
    folder = objects.ObjectFolder(f"{box}/docs")
    folder.check_create_only()
    put(folder, "a.txt", "first")
    with pytest.raises(StoreError, match="is not there"):
        folder.download("a.txt", tmp_path / "a.txt", '"another"')
