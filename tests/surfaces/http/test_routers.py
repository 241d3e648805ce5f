"""Routers of installed packages are served as the server's own."""

from collections.abc import Iterator
from typing import Any

import pytest

from sleuth.surfaces.http import add_key

from .conftest import Local, make_index, serving

PACKAGE = '''
import time
from typing import Annotated

from fastapi import File, UploadFile
from pydantic import BaseModel
from starlette.responses import Response

from sleuth.surfaces.http import CurrentCall, Refusal, JsonRouter, Strict, json_response


class Tide(Strict):
    """A tide to add."""

    height: int


class Tides(BaseModel):
    """How many documents tell of tides."""

    documents: int
    passages: int


router = JsonRouter("tides", answers={"/v1/tides/slow"})
plain = JsonRouter("tides", {}, dialect=lambda refusal, _: Response(f"tide: {refusal.detail}", refusal.status_code))


@router.get("/v1/tides", response_model=Tides)
async def tides(call: CurrentCall, query: str = "tide") -> Response:
    """Count what is known of tides."""
    return json_response((await call.read(call.engine.count, query=query))._asdict())


@router.post("/v1/tides")
async def add(body: Tide, call: CurrentCall) -> Response:
    """Add a tide."""
    return json_response({"height": await call.write(lambda: body.height)})


@router.post("/v1/tides/chart")
async def chart(call: CurrentCall, file: Annotated[UploadFile, File(description="A chart.")]) -> Response:
    """Take a chart."""
    call.require("write")
    return json_response({"size": len(await file.read())})


@router.get("/v1/tides/slow")
async def slow(call: CurrentCall) -> Response:
    """Answer after some seconds, as a model may."""
    return json_response(await call.answers(time.sleep, 2.5))


@plain.get("/v1/tides/plain")
async def ebb(call: CurrentCall) -> Response:
    """Refuse in words."""
    raise Refusal(404, "EbbError", "the tide is out")


ROUTERS = (router, plain)
'''


@pytest.fixture(scope="module")
def tidal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, dict[str, dict[str, str]]]]:
    """Run a server beside a package with routers, and one that fails; give its keys as headers, by scope."""
    site = tmp_path_factory.mktemp("site")
    for name, module in (("tides", PACKAGE), ("broken", "raise ValueError('low water')")):
        info = site / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        points = f"[sleuth.routers]\n{name} = {name}_of_a_package:ROUTERS\n"
        (info / "entry_points.txt").write_text(points)
        (site / f"{name}_of_a_package.py").write_text(module)
    file = site / "keys.json"
    keys = {scope: add_key(file, scope, (scope,)) for scope in ("read", "write")}
    limits: dict[str, Any] = {"deadline": 2, "max_body": 100, "max_upload": 10_000}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        with serving(make_index(site / "index"), keys=file, **limits) as server:
            yield server, {scope: {"authorization": f"Bearer {key}"} for scope, key in keys.items()}


def test_keys_and_scopes_hold(tidal: tuple[Local, dict[str, dict[str, str]]]) -> None:
    """A request without a key, or with one that lacks the scope, is refused; with it, it is answered."""
    server, keys = tidal
    read = [
        server.client.get("/v1/tides", params={"query": "cats"}, headers=keys.get(name))
        for name in ("", *keys)
    ]
    assert [answer.status_code for answer in read] == [401, 200, 403]
    assert read[1].json() == {"documents": 1, "passages": 1}
    written = [
        server.client.post("/v1/tides", json={"height": 3}, headers=keys.get(name)) for name in ("", *keys)
    ]
    assert [answer.status_code for answer in written] == [401, 403, 200]


def test_what_is_wrong_is_a_problem(tidal: tuple[Local, dict[str, dict[str, str]]]) -> None:
    """Unknown parameters and wrong bodies are problems, and a router may write its errors in another form."""
    server, keys = tidal
    unknown = server.client.get("/v1/tides", params={"querry": "a"}, headers=keys["read"])
    assert (unknown.status_code, "did you mean 'query'" in unknown.json()["detail"]) == (422, True)
    wrong = server.client.post("/v1/tides", json={"height": "high"}, headers=keys["write"])
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "application/problem+json")
    plain = server.client.get("/v1/tides/plain", headers=keys["read"])
    assert (plain.status_code, plain.text) == (404, "tide: the tide is out")
    assert server.client.get("/v1/tides/plain").text.startswith("tide: send a key")


def test_limits_hold(tidal: tuple[Local, dict[str, dict[str, str]]]) -> None:
    """A path with files takes larger bodies than another, and one of answers has more time."""
    server, keys = tidal
    large = server.client.post("/v1/tides", json={"height": int("1" * 200)}, headers=keys["write"])
    assert large.status_code == 413
    chart = server.client.post("/v1/tides/chart", files={"file": b"a" * 1000}, headers=keys["write"])
    assert chart.json() == {"size": 1000}
    assert server.client.get("/v1/tides/slow", headers=keys["read"]).status_code == 200


def test_the_document_describes_them(tidal: tuple[Local, dict[str, dict[str, str]]]) -> None:
    """OpenAPI has their operations with what every route may answer."""
    server, keys = tidal
    document = server.client.get("/openapi.json", headers=keys["read"]).json()
    assert {"401", "403", "422", "503"} <= document["paths"]["/v1/tides"]["get"]["responses"].keys()
