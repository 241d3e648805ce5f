"""A limit of an argument holds at every door, in the same words; no text makes a server work past its deadline."""

import asyncio
import json
from collections.abc import Callable, Iterator
from html import unescape
from itertools import islice, product
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from sleuth import open_code
from sleuth.arguments import MOST_K, MOST_NAME, MOST_QUERY
from sleuth.code import Navigator
from sleuth.errors import SleuthError
from sleuth.surfaces.http.lanes import Lane
from sleuth.surfaces.mcp import TOOLS
from tests.commands import sleuth
from tests.surfaces.project import make_project
from tests.surfaces.test_one_answer import Place, every_door

OFFERED = ("docs", "code")
DEADLINE = 10
"""Seconds of the server; a text that is read in linear time takes a hundredth of them."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = make_project(tmp_path_factory.mktemp("limits") / "project")
    with every_door(root / ".sleuth", root, deadline=DEADLINE, read_only=True) as opened:
        yield opened


def error_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the message of the error that a call raises; "" where it raises none."""
    try:
        call(*arguments, **options)
    except SleuthError as error:
        return str(error)
    return ""


def page_text(place: Place, path: str, **parameters: Any) -> str:
    """Return the text of a page."""
    return unescape(place.server.client.get(path, params=parameters).text)


@pytest.mark.parametrize("k", [-1, MOST_K + 1, 10**20])
def test_a_k_is_refused_in_the_same_words_at_every_door(place: Place, k: int) -> None:
    """Python, the command line, HTTP and MCP share one limit of k and one sentence."""
    client = place.server.client
    sentence = f"k must be an int from 0 to 10,000, got {k!r}"
    assert error_of(place.sources.retrieve, "token", k) == sentence
    assert error_of(place.tools.call, "search", {"query": "token", "k": k}) == sentence
    for command in (("search",), ("code", "search"), ("ask",)):
        assert sentence in " ".join(sleuth(*command, f"--limit={k}", "token", cwd=place.root).stderr.split())
    for path in ("/v1/search", "/v1/code/search", "/v1/ask"):
        response = client.post(path, json={"query": "token", "k": k})
        assert (response.status_code, response.json()["detail"]) == (422, sentence)


def test_the_largest_k_is_taken_at_every_door(place: Place) -> None:
    """A k at the limit gives the same hits in Python, over HTTP and over MCP."""
    ids = [item.id for item in place.sources.retrieve("token", MOST_K, fold_copies=True)]
    body = {"query": "token", "k": MOST_K, "fold_copies": True}
    response = place.server.client.post("/v1/search", json=body)
    arguments = {"query": "token", "k": MOST_K, "max_tokens": 50_000}
    assert [item["id"] for item in response.json()["items"]] == ids
    hits = json.loads(place.tools.call("search", arguments))["results"]
    assert all(id.endswith(hit["id"]) for id, hit in zip(ids, hits, strict=True))


def test_an_unknown_source_is_refused_at_every_door(place: Place) -> None:
    """Python, the command line, HTTP, MCP and the page name the known sources."""
    options: dict[str, Any] = {"sources": ["docs", "nosuch"]}
    response = place.server.client.post("/v1/search", json={"query": "token", **options})
    messages = [
        error_of(place.sources.retrieve, "token", **options),
        error_of(place.tools.call, "search", {"query": "token", **options}),
        sleuth("search", "--in", "docs", "--in", "nosuch", "token", cwd=place.root).stderr,
        response.json()["detail"],
        page_text(place, "/", q="token", **{"in": options["sources"]}),
    ]
    assert response.status_code == 422
    assert all("must be" in message and "nosuch" in message for message in messages), messages


@pytest.mark.parametrize("name", ["a" * (MOST_NAME + 1), "a.b" * 400, "::" * 5_000], ids=len)
def test_a_long_name_is_refused_at_every_door(place: Place, name: str) -> None:
    """Calls, commands, endpoints, tools and the page look up no name of more than 200 characters."""
    sentence = f"name must have at most {MOST_NAME} characters, got {len(name):,}"
    with open_code(place.root / ".sleuth") as storage:
        repository = storage.repositories()[0]
        navigator = Navigator(storage.open_snapshot(repository, storage.snapshot(repository)))
        for call in (
            navigator.find_definition, navigator.find_references, navigator.near, navigator.callers, navigator.impact
        ):  # fmt: skip
            assert error_of(call, name) == sentence
    assert sentence in " ".join(sleuth("code", "refs", name, cwd=place.root).stderr.split())
    for tool in ("definitions", "references"):
        assert sentence in error_of(place.tools.call, tool, {"name": name})
        response = place.server.client.get(f"/v1/code/{tool}", params={"name": name})
        assert (response.status_code, response.json()["detail"]) == (422, sentence)
    assert sentence in page_text(place, "/symbol", name=name)


@pytest.mark.parametrize("query", ['"', "'", '""', " ' \" "])
@pytest.mark.parametrize("syntax", [True, False])
@pytest.mark.parametrize("sources", [["docs"], ["code"], list(OFFERED)], ids=str)
def test_quotes_alone_find_nothing(place: Place, query: str, syntax: bool, sources: list[str]) -> None:
    """A query of quotes has nothing to look for, in any source."""
    options: dict[str, Any] = {"syntax": syntax, "sources": sources}
    assert not place.sources.retrieve(query, **options)
    assert not json.loads(place.tools.call("search", {"query": query, "sources": sources}))["results"]
    assert not place.server.client.post("/v1/search", json={"query": query, **options}).json()["items"]


def test_a_quote_that_nothing_closes_is_left_out(place: Place) -> None:
    """`"token` finds what `token` finds, with the same scores."""
    rankings = [place.sources.retrieve(query, syntax=True) for query in ('"token', "token")]
    scores, expected = ([(item.id, item.score) for item in ranking] for ranking in rankings)
    assert scores
    assert scores == expected


SHAPES = (
    "a", "ab ", "a.", "a::", "a->", "a#", "aB", "a_", "_", ".", ":", "/", "../", "\\", "-", "-a ", '"', '"a b" ', "'",
    "`", "(", ")", "(a+)+$", "[", "{", "*", "a* ", "a~2 ", "type:md ", "a OR ", "NOT (", "year>=2020 ", "x:1-2@", "é",
    "検索", "😀", "\u0301", "\0", "\n", ' File "a.py", line 1, in b\n',
)  # fmt: skip
MOST_ADDRESS = 60_000
"""Characters of an address; the client sends no longer one."""
LENGTHS = (MOST_NAME, 1_000, MOST_QUERY, 2 * MOST_QUERY)


def texts(lengths: tuple[int, ...]) -> Iterator[str]:
    """Yield a text of each shape and length."""
    for shape, length in product(SHAPES, lengths):
        yield (shape * (length // len(shape) + 1))[:length]


class Field(NamedTuple):
    """A place of a request that takes a text or a list of them, and values of the other fields that it needs."""

    method: str
    path: str
    place: str
    name: str
    values: dict[str, Any]
    is_list: bool = False


def fields_of(document: dict[str, Any]) -> Iterator[Field]:
    """Yield each text of each operation of an OpenAPI document: parameters, and fields of bodies in JSON."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", [])
            needed = {each["name"]: "a" for each in parameters if each.get("required")}
            for each in parameters:
                if takes_text(each["schema"]):
                    yield Field(method, path, each["in"], each["name"], needed)
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            reference = content.get("schema", {}).get("$ref", "")
            model = schemas.get(reference.rpartition("/")[2], {})
            fields = model.get("properties", {})
            values = {name: fields[name].get("examples", [None])[0] for name in model.get("required", ())}
            for name, schema in fields.items():
                lists = [form["items"] for form in forms_of(schema) if form.get("type") == "array"]
                if takes_text(schema) or any(map(takes_text, lists)):
                    yield Field(method, path, "body", name, values, not takes_text(schema))


def forms_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema, *schema.get("anyOf", ())]


def takes_text(schema: dict[str, Any]) -> bool:
    """Return whether a schema allows a text that is not one of a few."""
    return any(form.get("type") == "string" and "enum" not in form for form in forms_of(schema))


def send(client: Any, field: Field, text: str) -> int:
    """Send a text in a field; return the status of the answer."""
    if field.place == "body":
        values = field.values | {field.name: [text] if field.is_list else text}
        return int(client.request(field.method, field.path, json=values).status_code)
    values = field.values | {field.name: text[: MOST_ADDRESS * len(text) // len(quote(text, safe=""))]}
    path = field.path.format_map({name: quote(str(value), safe="") for name, value in values.items()})
    query = {name: value for name, value in values.items() if f"{{{name}" not in field.path}
    return int(client.request(field.method, path, params=query).status_code)


def check_http(place: Place, lengths: tuple[int, ...], every: int = 1) -> None:
    """Send texts to each field; no request may fail or reach its deadline.

    Args:
        every: a field gets one in so many texts, the next field those after them.
    """
    client = place.server.client
    fields = list(fields_of(client.get("/openapi.json").json()))
    assert len(fields) > 40
    for number, field in enumerate(fields):
        if "{" in field.path and ":path" in field.path:
            continue
        for text in islice(texts(lengths), number % every, None, every):
            status = send(client, field, text)
            assert status < 500 and status != 408, (field, text[:20], len(text), status)


def check_mcp(place: Place, lengths: tuple[int, ...], every: int = 1) -> None:
    """Send one in so many texts as each argument of each tool; no call may reach a deadline."""
    lane = Lane("tools", 1, 1)

    async def work(tool: str, arguments: dict[str, Any]) -> str:
        async with asyncio.timeout(DEADLINE):
            return await lane.run(place.tools.call, tool, arguments)

    for tool in TOOLS:
        needed = dict.fromkeys(list(tool.properties)[:1], "token")
        for name in (name for name, schema in tool.properties.items() if takes_text(schema)):
            for text in islice(texts(lengths), len(name) % every, None, every):
                error_of(asyncio.run, work(tool.name, needed | {name: text}))
    lane.close()


def test_no_text_holds_a_server_up(place: Place) -> None:
    """The fields of the HTTP API together take texts of forty shapes within the deadline of the server."""
    check_http(place, LENGTHS[2:3], every=15)


def test_no_text_holds_a_tool_up(place: Place) -> None:
    """Each argument of each tool takes texts of forty shapes within a deadline."""
    check_mcp(place, LENGTHS[2:3], every=3)


@pytest.mark.slow
def test_no_text_of_any_length_holds_a_door_up(place: Place) -> None:
    """The same at four lengths, two of them beyond what a name and a query may have."""
    check_http(place, LENGTHS)
    check_mcp(place, LENGTHS)
