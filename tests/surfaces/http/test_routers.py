"""Routers of installed packages are served as the server's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.code.conftest import write

from .conftest import Local, keyed

PACKAGE = Path(__file__).with_name("tides.txt").read_text("utf8")


@pytest.fixture(scope="module")
def tidal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server beside a package with routers, and one that fails; its keys have the names of scopes."""
    site = tmp_path_factory.mktemp("site")
    for name, module in (("tides", PACKAGE), ("broken", "raise ValueError('low water')")):
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
        points = f"[sleuth.routers]\n{name} = {name}_of_a_package:ROUTERS\n"
        write(site / f"{name}-1.dist-info", {"METADATA": metadata, "entry_points.txt": points})
        write(site, {f"{name}_of_a_package.py": module})
    limits: dict[str, Any] = {"deadline": 2, "max_body": 100, "max_upload": 10_000}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        with keyed(site, {scope: {"scopes": [scope]} for scope in ("read", "write")}, **limits) as server:
            yield server


def test_keys_and_scopes_hold(tidal: Local) -> None:
    """A request without a key, or with one that lacks the scope, is refused; with it, it is answered."""
    names = ("", "read", "write")
    read = [tidal.ask(name, "GET", "/v1/tides", params={"query": "cats"}) for name in names]
    assert [answer.status_code for answer in read] == [401, 200, 403]
    assert read[1].json() == {"documents": 1, "passages": 1}
    written = [tidal.ask(name, "POST", "/v1/tides", {"height": 3}) for name in names]
    assert [answer.status_code for answer in written] == [401, 403, 200]


def test_what_is_wrong_is_a_problem(tidal: Local) -> None:
    """Unknown parameters and wrong bodies are problems, and a router may write its errors in another form."""
    unknown = tidal.ask("read", "GET", "/v1/tides", params={"querry": "a"})
    assert (unknown.status_code, "did you mean 'query'" in unknown.json()["detail"]) == (422, True)
    wrong = tidal.ask("write", "POST", "/v1/tides", {"height": "high"})
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "application/problem+json")
    plain = tidal.ask("read", "GET", "/v1/tides/plain")
    assert (plain.status_code, plain.text) == (404, "tide: the tide is out")
    assert tidal.ask("", "GET", "/v1/tides/plain").text.startswith("tide: send a key")


def test_limits_hold(tidal: Local) -> None:
    """A path with files takes larger bodies than another, and one of answers has more time."""
    assert tidal.ask("write", "POST", "/v1/tides", {"height": int("1" * 200)}).status_code == 413
    chart = tidal.ask("write", "POST", "/v1/tides/chart", files={"file": b"a" * 1000})
    assert chart.json() == {"size": 1000}
    assert tidal.ask("read", "GET", "/v1/tides/slow").status_code == 200


def test_the_document_describes_them(tidal: Local) -> None:
    """OpenAPI has their operations with what every route may answer."""
    document = tidal.ask("read", "GET", "/openapi.json").json()
    assert {"401", "403", "422", "503"} <= document["paths"]["/v1/tides"]["get"]["responses"].keys()
