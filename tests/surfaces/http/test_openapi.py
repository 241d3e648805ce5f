"""The OpenAPI document is true: generated requests get the answers that it describes.

`make test` sends a few requests to each operation, `make api` many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from sleuth import index_path, open_code
from sleuth.surfaces.http import ServerSettings, create_app

from .conftest import Local, make_index, serving

EXAMPLES = int(os.environ.get("SLEUTH_API_EXAMPLES", "3"))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a writable server with documents and code."""
    folder = tmp_path_factory.mktemp("api")
    index = make_index(folder / "index")
    (folder / "shop").mkdir()
    (folder / "shop" / "bucket.py").write_text(
        "class TokenBucket:\n    def refill(self):\n        return 1\n"
    )
    with open_code(index, create=True) as storage:
        index_path(storage, folder / "shop")
    with serving(index, sources=("docs", "code"), deadline=20) as started:
        yield started


@pytest.fixture(scope="module")
def described(api: Local) -> Any:
    schema: dict[str, Any] = httpx.get(f"{api.url}/openapi.json").json()
    return schemathesis.openapi.from_dict(schema)


CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
"""All but that valid requests are accepted: a schema cannot say which text is a filter or a cursor."""

FORM_CHECKS = [check for check in CHECKS if check is not checks.negative_data_rejection]
"""A part of a form is text whatever the type of its value was, so that a value of a wrong type may be a valid part."""

LIMITS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)


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
            is_form = case.media_type == "multipart/form-data"
            case.call_and_validate(base_url=api.url, checks=FORM_CHECKS if is_form else CHECKS)

        try:
            check()
        except BaseExceptionGroup as failure:  # all operations are tried, then all failures told
            failures += [f"{operation.label}: {part}" for part in failure.exceptions]
    assert not failures, "\n\n".join(failures)


def test_every_field_has_a_sentence_and_an_example(api: Local) -> None:
    """So have the parameters; problems have an example with their status and a code."""
    document = api.client.get("/openapi.json").json()
    for model, schema in document["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            if "$ref" not in field:
                assert field.get("description"), f"{model}.{name}"
                assert {"examples", "example", "const"} & field.keys(), f"{model}.{name}"
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert all(each.get("description") for each in operation.get("parameters", ())), path
            for status, response in operation["responses"].items():
                content = response.get("content", {}).get("application/problem+json")
                if content is not None:
                    assert str(content["example"]["status"]) == status
                    assert content["example"]["code"]


def test_every_route_is_described(api: Local) -> None:
    """Each operation has a summary and its problems; the routes for foreign clients are included."""
    document = api.client.get("/openapi.json").json()
    assert set(document["paths"]) >= {
        "/v1/search",
        "/v1/ask",
        "/v1/documents",
        "/v1/documents/upload",
        "/v1/index",
        "/v1/jobs",
        "/v1/jobs/{id}",
        "/v1/jobs/{id}/cancel",
        "/v1/documents/{id}",
        "/v1/facets",
        "/v1/code/search",
        "/v1/code/definitions",
        "/v1/code/references",
        "/v1/code/history",
        "/v1/code/map",
        "/v1/status",
        "/v1/vector_stores/{vector_store_id}/search",
        "/v1/embeddings",
        "/v1/rerank",
        "/v2/rerank",
        "/retrieval",
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            if path.startswith("/v"):
                assert {"401", "403", "422", "503", "504"} <= set(operation["responses"]), (method, path)


def test_keys_are_described(tmp_path: Path) -> None:
    """A server with keys describes them in the document."""
    from sleuth import Engine
    from sleuth.surfaces.http import add_key

    add_key(tmp_path / "keys.json", "a")
    with Engine.open(make_index(tmp_path / "index")) as engine:
        document = create_app(engine, ServerSettings(keys=tmp_path / "keys.json")).openapi()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
