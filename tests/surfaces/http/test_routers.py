"""Routers and operations of installed packages are served as the server's own."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError
from sleuth.surfaces.mcp.http import mcp_extension
from sleuth.surfaces.operations import operations
from tests.code.conftest import write
from tests.commands import sleuth_process
from tests.waiting import wait_until

from .conftest import Local, keyed

PACKAGE = Path(__file__).with_name("tides.txt").read_text("utf8")


@pytest.fixture(scope="module")
def tidal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server beside a package with routers, and one that fails; its keys have the names of scopes."""
    site = tmp_path_factory.mktemp("site")
    for name, module in (("tides", PACKAGE), ("broken", "raise ValueError('low water')")):
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
        kinds = ("ROUTERS", "OPERATIONS")
        points = "".join(f"[sleuth.{kind.lower()}]\n{name} = {name}_of_a_package:{kind}\n" for kind in kinds)
        write(site / f"{name}-1.dist-info", {"METADATA": metadata, "entry_points.txt": points})
        write(site, {f"{name}_of_a_package.py": module})
    limits: dict[str, Any] = {"deadline": 2, "max_body": 300, "max_upload": 10_000}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        operations.cache_clear()
        keys: dict[str, Any] = {scope: {"scopes": [scope]} for scope in ("read", "write")}
        keys["zoo"] = {"scopes": ["read"], "filter": "tenant:zoo"}
        limits["extensions"] = [mcp_extension()]
        with keyed(site, keys, **limits) as server:
            yield server
    operations.cache_clear()


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
    assert tidal.ask("write", "POST", "/v1/tides", {"height": int("1" * 400)}).status_code == 413
    chart = tidal.ask("write", "POST", "/v1/tides/chart", files={"file": b"a" * 1000})
    assert chart.json() == {"size": 1000}
    assert tidal.ask("read", "GET", "/v1/tides/slow").status_code == 200


def test_the_document_describes_them(tidal: Local) -> None:
    """OpenAPI has their operations with what every route may answer, and the limits of options."""
    document = tidal.ask("read", "GET", "/openapi.json").json()
    assert {"401", "403", "422", "503"} <= document["paths"]["/v1/tides"]["get"]["responses"].keys()
    option = document["components"]["schemas"]["floods_options"]["properties"]["k"]
    assert (option["maximum"], option["description"]) == (9, "How many.")


def test_an_operation_is_at_every_door(tidal: Local) -> None:
    """One function is a command with help, an endpoint, a tool and a call, over what its caller may see."""
    site = tidal.engine.path.parent
    path = os.pathsep.join([str(site), *sys.path])
    shell = sleuth_process("floods", "tokens", "-k", "1", "--index", "index", cwd=site, PYTHONPATH=path)
    assert (shell.stdout, shell.stderr) == ("limits.md#0\n", "")
    assert "tell of a flood" in sleuth_process("--help", cwd=site, PYTHONPATH=path).stdout
    assert operations()["floods"](tidal.engine, word="tokens", k=1) == {"ids": ["limits.md#0"]}
    shown = [tidal.ask(key, "POST", "/v1/floods", {"word": "tokens cats"}).json() for key in ("read", "zoo")]
    assert [len(answer["ids"]) for answer in shown] == [3, 1]
    wait_until(lambda: "result" in tidal.tool("zoo", "status").json())  # the first call imports the protocol
    tool = tidal.tool("zoo", "floods", word="tokens cats").json()["result"]["content"][0]["text"]
    assert json.loads(tool)["ids"] == shown[1]["ids"]
    written = [tidal.ask(key, "POST", "/v1/flood_all", {"height": 3}) for key in ("read", "write")]
    assert [answer.status_code for answer in written] == [403, 200]
    assert "tool must be one of" in tidal.tool("read", "flood_all", height=3).text


def test_an_operation_checks_what_it_takes(tidal: Local) -> None:
    """A value out of its limits and an unknown name are refused at each door."""
    for name, value, rule in (("k", 0, "greater than or equal to 1"), ("max", 1, "max")):
        with pytest.raises(ArgumentError, match=rule):
            operations()["floods"](tidal.engine, word="cats", **{name: value})
        refused = tidal.ask("read", "POST", "/v1/floods", {"word": "cats", name: value})
        assert (refused.status_code, name in refused.json()["detail"]) == (422, True)
        assert rule in tidal.tool("read", "floods", word="cats", **{name: value}).text
