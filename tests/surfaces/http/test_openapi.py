"""The OpenAPI document is true: generated requests get the answers that it describes.

`make test` sends a few requests to each operation, `make api` many.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi import checks

from sleuth import index_path, open_code
from sleuth.surfaces.http import add_key
from tests.code.conftest import write

from .conftest import Local, make_index, serving

EXAMPLES = int(os.environ.get("SLEUTH_API_EXAMPLES", "1"))


@contextmanager
def described_server(folder: Path, *, has_keys: bool) -> Iterator[Local]:
    """Run a writable server with documents and code; its client has a key where the server has keys."""
    index = make_index(folder / "index")
    shop = {"bucket.py": "class TokenBucket:\n    def refill(self):\n        return 1\n"}
    with open_code(index, create=True) as storage:
        index_path(storage, write(folder / "shop", shop))
    file = folder / "keys.json" if has_keys else None
    headers = {} if file is None else {"authorization": f"Bearer {add_key(file, 'all')}"}
    with serving(index, sources=("docs", "code"), deadline=20, keys=file) as started:
        started.client.headers.update(headers)
        yield started


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with described_server(tmp_path_factory.mktemp("api"), has_keys=False) as started:
        yield started


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run the same server with keys."""
    with described_server(tmp_path_factory.mktemp("locked"), has_keys=True) as started:
        yield started


@pytest.fixture(scope="module")
def described(api: Local) -> Any:
    schema: dict[str, Any] = api.client.get("/openapi.json").json()
    return schemathesis.openapi.from_dict(schema)


CHECKS = [
    schemathesis.checks.not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
    checks.response_headers_conformance, checks.response_schema_conformance, checks.negative_data_rejection,
]  # fmt: skip
"""All but that valid requests are accepted: a schema cannot say which text is a filter or a cursor."""

OTHER_CHECKS = [check for check in CHECKS if check is not checks.negative_data_rejection]
"""For requests whose body is right, and for forms: a part is text whatever the type of its value was, so that a value
of a wrong type may be a valid part."""

LIMITS = settings(
    max_examples=EXAMPLES, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck), database=None,
)  # fmt: skip


def test_answers_are_as_described(api: Local, described: Any) -> None:
    """No request makes the server fail; status, media type and body of each response match the document."""
    failures = []
    operations = [loaded.ok() for loaded in described.get_all_operations()]
    wrong = [
        (operation, GenerationMode.NEGATIVE)
        for operation in operations
        if operation.method == "post" and operation.body
    ]
    for operation, mode in [*((operation, GenerationMode.POSITIVE) for operation in operations), *wrong]:

        @LIMITS
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            body = case.meta.components.get(ParameterLocation.BODY)
            is_wrong = body is not None and body.mode is GenerationMode.NEGATIVE
            is_json = case.media_type != "multipart/form-data"
            case.call_and_validate(base_url=api.url, checks=CHECKS if is_wrong and is_json else OTHER_CHECKS)

        try:
            check()
        except BaseExceptionGroup as failure:  # all operations are tried, then all failures told
            failures += [f"{operation.label}: {part}" for part in failure.exceptions]
    assert not failures, "\n\n".join(failures)


def test_what_an_operation_does_not_take_is_refused(api: Local) -> None:
    """Each operation answers a query parameter that it lacks, and each form a field, with 422 and the nearest name."""
    for method, path, operation in operations(api):
        names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
        for name in ["zzzz", *(f"{name}x" for name in names)]:
            answer = api.client.request(method, path, params={name: "a"}, json=body_of(operation))
            assert answer.status_code == 422, (method, path, answer.text)
            assert repr(name) in answer.text, (method, path, answer.text)
            assert name == "zzzz" or f"did you mean {name[:-1]!r}" in answer.text, (method, path)
        if "multipart/form-data" in operation.get("requestBody", {}).get("content", {}):
            answer = api.client.post(path, data={"zzzz": "a"}, files={"file": ("a.md", b"a")})
            assert answer.status_code == 422, (method, path, answer.text)
            assert "form fields must be among" in answer.text, (method, path, answer.text)


def operations(server: Local) -> list[tuple[str, str, dict[str, Any]]]:
    """Return method, path and description of each operation."""
    paths = server.client.get("/openapi.json").json()["paths"]
    return [(method, path, paths[path][method]) for path in paths for method in paths[path]]


def body_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    """Return an empty body where an operation takes one as JSON."""
    return {} if "application/json" in operation.get("requestBody", {}).get("content", {}) else None


def test_a_field_comes_once_unless_it_is_a_list(api: Local) -> None:
    """Each operation answers a query parameter or form field that comes twice with 422, save lists."""
    for method, path, operation in operations(api):
        for each in operation.get("parameters", ()):
            if each["in"] == "query":
                twice = {each["name"]: ["1", "2"]}
                answer = api.client.request(method, path, params=twice, json=body_of(operation))
                is_refused = f"must come once each, got {each['name']!r} 2 times" in answer.text
                is_list = '"array"' in json.dumps(each["schema"])
                assert is_refused != is_list, (method, path, each["name"], answer.text)
                assert is_list or answer.status_code == 422
    form = {"metadata": ["{}", "{}"]}
    answer = api.client.post("/v1/documents/upload", data=form, files={"files": ("a.md", b"a")})
    assert answer.status_code == 422
    assert "form fields must come once each, got 'metadata'" in answer.text
    assert answer.json().keys() >= {"title", "detail"}


def test_every_route_is_described(api: Local) -> None:
    """Each operation has a summary and its problems; an answer that may be a stream has both media types."""
    document = api.client.get("/openapi.json").json()
    paths = "search ask documents documents/upload jobs/{id} jobs/{id}/cancel documents/{id} facets status"
    code = "search definitions references repositories"
    expected = {f"/v1/{path}" for path in paths.split()} | {f"/v1/code/{path}" for path in code.split()}
    assert set(document["paths"]) >= expected
    for method, path, operation in operations(api):
        assert operation["summary"], (method, path)
        if path.startswith("/v"):
            assert {"401", "403", "422", "503", "504"} <= set(operation["responses"]), (method, path)
    content = document["paths"]["/v1/ask"]["post"]["responses"]["200"]["content"]
    assert set(content) == {"application/json", "text/event-stream"}


def test_keys_and_limits_are_described(api: Local, locked: Local) -> None:
    """The document has the scheme of keys, which a server without keys does not require, and the limits."""
    for server in (api, locked):
        document = server.client.get("/openapi.json").json()
        assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
        assert document["security"] == ([{"key": []}] if server is locked else [{}, {"key": []}])
        assert document["paths"]["/livez"]["get"]["security"] == []
        for limit in ("33,554,432 bytes", "268,435,456 with files", "20 s", "65,536 bytes in 200 headers"):
            assert limit in document["info"]["description"]


def test_a_key_that_is_missing_is_as_described(locked: Local) -> None:
    """Without its key, each operation but those of health answers with a 401 that the document has."""
    with httpx.Client(base_url=locked.url) as stranger:
        for method, path, operation in operations(locked):
            answer = stranger.request(method, path.replace("{", "").replace("}", ""))
            is_public = operation.get("security") == []
            assert (answer.status_code in (401, 403)) is not is_public, (method, path)
            assert is_public or str(answer.status_code) in operation["responses"], (method, path)
