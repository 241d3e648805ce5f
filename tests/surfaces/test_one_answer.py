"""The same question has the same answer at every door: Python, the command line, HTTP, MCP and the page."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sleuth import CodeRetriever, Document, Engine, Sources, index_path, open_code, open_sources
from sleuth.code.search.request import CodeRequest
from sleuth.engine import SearchRequest, Workspace
from sleuth.engine.codebase import default_embedder
from sleuth.surfaces.cli.code import search as code_search
from sleuth.surfaces.cli.options import FLAGS
from sleuth.surfaces.cli.search import ask, search
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.mcp import TOOLS, Tools
from sleuth.surfaces.page.state import OPTIONS
from sleuth.types.request import defaults
from tests.code.conftest import write
from tests.commands import sleuth
from tests.surfaces.http.conftest import Local, serving
from tests.surfaces.project import BUCKET

GUIDE = (
    "Buckets of tokens smooth bursts of requests: each request takes one token, and a clock puts new tokens into the "
    "bucket until it is full; a request that meets an empty bucket waits or is refused."
)
DOCUMENTS = [
    Document("A token bucket limits the rate of requests.", {"source": "bucket.md", "title": "Limits", "year": 2020}),
    Document("Put the token into the leaky bucket.", {"source": "leaky.md", "year": 2021, "lang": "en"}),
    Document("Chroma is a vector store with a filter.", {"source": "chroma.md", "title": "Stores", "year": 2022}),
    Document("Our vector store filter is a bitmap.", {"source": "bitmap.md", "title": "Filters", "lang": "en"}),
    Document("Block-max pruning skips blocks of postings.", {"source": "pruning.md", "year": 2022}),
    Document("Cats sleep most of the day.", {"source": "cats.md", "lang": "en", "tags": ["animals", "rest"]}),
    Document("Der Eimer hält fünfzig Marken.", {"source": "eimer.md", "lang": "de"}),
    Document(f"{GUIDE}", {"source": "guide.html"}),
    Document(f"{GUIDE} See also the glossary.".upper(), {"source": "guide.txt"}),
    Document("Run serve -k 3 --limit 5 to see three.", {"source": "flags.md", "year": 2023}),
]  # fmt: skip

SERVED = f"{BUCKET}\n\ndef serve_request(bucket):\n    bucket.refill(1)\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"


class Question(NamedTuple):
    """A question with its options."""

    query: str
    options: Mapping[str, Any] = {}


def typed(*queries: str, **options: Any) -> list[Question]:
    """Return questions whose search syntax is read."""
    return [Question(query, {"syntax": True, **options}) for query in queries]


DOCS = {"sources": ["docs"]}
GIBBERISH = ("qwxz blorf", "asdf qwer zxcv", "kwmtkrjw tcrcevjtm", "hjkl fghj", "xcvb rtyu wkqpz")
QUESTIONS = [
    *map(Question, ("token bucket", "how do I limit requests?", "vector store filter", "block-max pruning")),
    *map(Question, ("kittens napping", "Eimer", "TokenBucket", "refill", "serve_request", "TokenBucket.refill")),
    *map(Question, ('"token bucket"', "-chroma vector store filter", "title:limits", "serve -k 3", "--limit 5")),
    *map(Question, GIBBERISH),
    *typed('"token bucket"', '"bucket token"', '"block-max pruning"', '"vector store filter"', '"of the day"'),
    *typed("-chroma vector store filter", "token -leaky", 'bucket -"token bucket"', "-cats", "sleep -cats"),
    *typed("serve -k 3", "serve --limit 5", "block-max", "token-bucket", "requests -5", "three -k -v"),
    *typed("title:limits", "title:limits -year:2020", "lang:en bucket", "-lang:en bucket", "year:2022 filter"),
    *typed("tags:rest", "note: token", "language:python tokens", "symbol:refill tokens", 'title:"Filters" store'),
    *typed(*GIBBERISH[:3]),
    *(Question("token bucket", {"filter": text}) for text in ("year>=2021", "lang:en", "source_type:code", "year<1")),
    Question(GIBBERISH[0], {"filter": "lang:en"}),
    Question("token bucket", {"k": 1}),
    Question("token bucket", {"k": 3, "explain": True}),
    Question("leaky hjkl", {"min_score": 0, **DOCS}),
    Question("token bucket", {"min_score": 0.9, **DOCS}),
    Question("token bucket", {"legs": ["lexical"], **DOCS}),
    Question("token bucket", {"legs": ["dense"], "exact": True, **DOCS}),
    Question("token bucket", {"fusion": "rrf", "deadline": 30, **DOCS}),
    Question("token bucket", {"expand": "document", **DOCS}),
    *(Question("buckets of tokens", {**each, **more}) for each in ({}, {"fold_copies": False}) for more in ({}, DOCS)),
    Question("token bucket", {"per_document": 1}),
    Question("token bucket", {"sources": ["code"]}),
    *(Question(query, {"sources": ["docs", "code"]}) for query in ("where are tokens added", "Cats", "serve_request")),
    *(Question("function that adds tokens", {"k": k, "explain": True}) for k in (1, 2, 7)),
    Question("how is a bucket refilled", {"filter": "source_type:code OR year>=2021"}),
    Question("token bucket of requests", {"deadline": 30}),
    *(Question("bucket", {"sort": key, **more}) for key in ("-year", "source", "nothing") for more in ({}, DOCS)),
    *(Question("token bucket", {"collapse": key, **more}) for key in ("lang", "source") for more in ({}, DOCS)),
    *(Question("vector store", {"recency": "year:1y", **more}) for more in ({}, DOCS, {"sources": ["code"]})),
    *(Question("token", {"boost": "year>=2021^0.5; lang:de^2", **more}) for more in ({}, DOCS)),
    Question("token", {"boost": "lang:en^3", "recency": "year:2y^3", "collapse": "lang", "sort": "-year", **DOCS}),
    Question("token bucket", {"sort": "-year", "k": 2, "explain": True, "filter": "year>=2020"}),
    *typed("buck*", "tok* -leaky", "bukket~", "leeky~2 bucket", "title:lim*", "zzz* bucket"),
    *typed("buck*", "bukket~ filter", sort="-year", **DOCS),
    *(Question("bukket tokne", {"fuzzy": edits, **more}) for edits in (1, 2) for more in ({}, DOCS)),
    Question("token bucket", {"synonyms": False, "fuzzy": 1, "collapse": "lang", "boost": "lang:en^2", **DOCS}),
    Question("Eimer", {"fuzzy": 1, "explain": True, "k": 3, "min_score": 0.1, **DOCS}),
    *typed("bucket -leaky", "title:limits", "kittens napping", sort="-year", **DOCS),
    *typed('"token bucket" refill', "symbol:refill", "where tokens -leaky", sources=["docs", "code"]),
    Question(GIBBERISH[1], {"sources": ["code"]}),
    Question(GIBBERISH[1], DOCS),
]  # fmt: skip


RERANKER = "common-words"


class Answer(NamedTuple):
    """What a door answered: ids best first, and the notes."""

    ids: list[str]
    notes: list[str]


class Place(NamedTuple):
    """An index, and a server over it."""

    root: Path
    sources: Sources
    server: Local
    tools: Tools


@contextmanager
def every_door(index: Path, root: Path | None = None, **settings: Any) -> Iterator[Place]:
    """Open an index of documents and code, which nothing changes, at every door.

    Args:
        settings: of the server.
    """
    offered = ("docs", "code")
    with (
        open_sources(index, offered, deadline=None) as sources,
        serving(index, sources=offered, extensions=extensions(), **settings) as server,
        Workspace(index, root, refresh=False) as workspace,
    ):
        yield Place(index.parent, sources, server, Tools(workspace))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Return an index of ten documents and a repository of two files, open at every door."""
    root = tmp_path_factory.mktemp("doors")
    code, index = root / "code", root / ".sleuth"
    write(code, {"bucket.py": SERVED, "server.pem": KEY})
    with Engine.open(index, create=True) as engine:
        engine.add(DOCUMENTS)
    with open_code(index, create=True) as storage:
        index_path(storage, code)
    with every_door(index, rerank=[RERANKER]) as opened:
        yield opened


def python(place: Place, question: Question) -> Answer:
    """Ask by a call, as for a reader."""
    options: dict[str, Any] = {"fold_copies": True, **question.options}
    ranking = place.sources.retrieve(question.query, **options)
    return Answer([item.id for item in ranking], list(ranking.notes))


def command(place: Place, question: Question) -> Answer:
    """Ask on the command line."""
    options = {"syntax": False, "sources": ["docs", "code"], **question.options}
    arguments: list[str] = []
    for name, value in options.items():
        flag = FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0]
        if name in ("syntax", "fold_copies") and not value:
            arguments.append(flag.replace("--", "--no-"))
        elif value is True:
            arguments.append(flag)
        elif value is not False:
            for each in value if isinstance(value, list) else [value]:
                arguments += [flag, str(each)]
    process = sleuth("search", "--json", *arguments, "--", question.query, cwd=place.root)
    answer = json.loads(process.stdout)
    assert process.returncode == (0 if answer["items"] else 1)
    return Answer([item["id"] for item in answer["items"]], answer["notes"])


def http(place: Place, question: Question) -> Answer:
    """Ask over HTTP, as for a reader."""
    body = {"query": question.query, "fold_copies": True, **question.options}
    response = place.server.client.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    return Answer([item["id"] for item in response.json()["items"]], response.json()["notes"])


def mcp(place: Place, question: Question) -> Answer:
    """Ask as an agent does, where its tool has the options; code is named below the root of the answer."""
    if not question.options.keys() <= TOOLS[0].properties.keys():
        return python(place, question)
    arguments = {"query": question.query, "max_tokens": 50_000, **question.options}
    answer = json.loads(place.tools.call("search", arguments))
    ids = [item["id"] for item in answer["results"]]
    root = answer["indexed_root"]
    return Answer([f"{root}/{id}" if "@" in id else id for id in ids], answer.get("notes", []))


def page(place: Place, question: Question) -> Answer:
    """Ask in a browser; a page has ten results."""
    names = {"filter": "f", "sources": "in"}
    options = {"syntax": False, **question.options}
    most = options.pop("k", 10)
    options.pop("explain", None)
    values = {names.get(name, name): value for name, value in options.items()}
    html = place.server.client.get("/", params={"q": question.query, **values}).text
    notes = re.findall(r'<li dir="auto">(.*?) ?<', html)
    return Answer(
        list(map(unescape, re.findall(r'data-id="(.*?)"', html)))[:most], list(map(unescape, notes))
    )


@pytest.mark.parametrize(
    "question", QUESTIONS, ids=lambda question: f"{question.query} {dict(question.options)}"
)
def test_every_door_gives_the_same_answer(place: Place, question: Question) -> None:
    """Ids and notes are equal at each door, whatever the question asks for."""
    answers = {door.__name__: door(place, question) for door in (python, command, http, mcp, page)}
    assert answers == dict.fromkeys(answers, answers["python"])
    if question.query == "buckets of tokens":
        both = {"guide.html#0", "guide.txt#0"} <= set(answers["python"].ids)
        assert both is ("fold_copies" in question.options)
    if question.query in GIBBERISH:
        assert answers["python"].ids == []


@pytest.mark.parametrize(
    ("question", "grade"),
    [
        ("What does a token bucket limit?", "likely answers"),
        ("What does a token bcuket limit?", "likely answers"),
        ("Which zebras sleep on the bitmaap of a filter?", "may help"),
        ("Was macht der Eimer mit den Zebras?", "may help"),
    ],
)
def test_every_door_gives_the_same_grade(place: Place, question: str, grade: str) -> None:
    """An answer has one grade at each door, also after a correction and in another language."""
    client = place.server.client
    html = client.get("/", params={"q": question, "in": "docs"}).text
    asked = json.loads(sleuth("ask", "--json", "--in", "docs", question, cwd=place.root).stdout)
    grades = {
        "python": place.sources.search(question, sources=["docs"]).extra.get("grade"),
        "command": asked["extra"].get("grade"),
        "http": client.post("/v1/ask", json={"query": question, "sources": ["docs"]}).json()["grade"],
        "page": re.findall(r'data-grade="(.*?)"', html)[0],
        "mcp": json.loads(place.tools.call("search", {"query": question, "sources": ["docs"]}))["grade"],
    }
    assert grades == dict.fromkeys(grades, grade)


def test_every_item_has_its_text_under_one_name(place: Place) -> None:
    """A document, a passage and a piece of code are `text`, in Python and in JSON at each door."""
    (document,) = [document for document in DOCUMENTS if document.metadata["source"] == "cats.md"]
    (item,) = place.sources.retrieve("cats sleep", 1, sources=["docs"])
    assert item.text == item.to_dict()["text"] == document.text == document.page_content
    with open_code(place.root / ".sleuth") as storage:
        hit = CodeRetriever(storage, None).retrieve(
            "refill", storage.repositories()[0].id, strategy="keyword"
        )[0]
    assert hit.text == hit.content == hit.to_dict()["text"]
    body = {"query": "refill", "strategy": "keyword"}
    served = place.server.client.post("/v1/code/search", json=body).json()["hits"][0]
    process = sleuth("code", "search", "--json", "--strategy", "keyword", "refill", cwd=place.root)
    printed = json.loads(process.stdout)["hits"][0]
    assert served["text"] == printed["text"] == hit.text
    assert "content" not in served.keys() | printed.keys()
    passages = place.server.client.get("/v1/documents/cats.md").json()["passages"]
    assert [passage["text"] for passage in passages] == [document.text]


CODE = [
    *(Question(query) for query in ("refill", "TokenBucket.refill", "where are tokens added", *GIBBERISH)),
    *(Question(query, {"strategy": "vector"}) for query in ("where are tokens added", *GIBBERISH)),
    *(Question(query, {"per_file": 1, "k": 3}) for query in ("refill bucket", GIBBERISH[0])),
    Question("tokens", {"strategy": "keyword", "languages": ["python"], "tests": False}),
    *(Question("add tokens", {"exclude_language": [name]}) for name in ("python", "text")),
    *(Question("add tokens", {"category": [name]}) for name in ("code", "config", "docs")),
    *(Question("add tokens", {"weights": text}) for text in ("vector=1", "keyword=0,vector=1")),
]


@pytest.mark.parametrize("question", CODE, ids=lambda question: f"{question.query} {dict(question.options)}")
def test_every_door_finds_the_same_code(place: Place, question: Question) -> None:
    """A search for code has the same hits in Python, on the command line and over HTTP; gibberish finds nothing."""
    options = dict(question.options)
    with open_code(place.root / ".sleuth") as storage:
        repository = storage.repositories()[0].id
        retriever = CodeRetriever(storage, default_embedder())
        names = {"k": "limit", "languages": "language"}
        call = {names.get(name, name): value for name, value in options.items() if name != "tests"}
        filters: dict[str, Any] = {
            key: call.pop(key) for key in ("language", "exclude_language", "category") if key in call
        }
        ids = [hit.id for hit in retriever.retrieve(question.query, repository, filters=filters, **call)]
        assert [
            hit.id for hit in retriever.run(CodeRequest(query=question.query, **options), repository)
        ] == ids
    arguments = ["--no-tests"] if options.pop("tests", True) is False else []
    for name, value in options.items():
        flag = FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0]
        arguments += [flag, value[0] if isinstance(value, list) else str(value)]
    process = sleuth("code", "search", "--json", *arguments, "--", question.query, cwd=place.root)
    assert [hit["id"] for hit in json.loads(process.stdout)["hits"]] == ids
    body = {"query": question.query, **question.options}
    answer = place.server.client.post("/v1/code/search", json=body).json()
    assert [hit["id"] for hit in answer["hits"]] == ids
    if question.query in GIBBERISH:
        assert ids == []


def test_no_door_has_options_of_its_own(place: Place) -> None:
    """Each door has each option of the request, with its default; where people type, the syntax is read."""
    options = {"k": SearchRequest(query="").k, **defaults(SearchRequest)}
    readers = {**options, "fold_copies": True}
    for door, expected in ((search, readers | {"syntax": True}), (ask, options | {"syntax": True})):
        parameters = inspect.signature(door).parameters
        assert {name: parameters[name].default for name in options} == expected
    call = inspect.signature(Engine.retrieve).parameters
    assert {name: each.default for name, each in call.items() if name in options} | {
        "sources": None
    } == options
    schemas = place.server.client.get("/openapi.json").json()["components"]["schemas"]
    for properties in (schemas["SearchBody"]["properties"], schemas["AskBody"]["properties"]):
        assert {name: properties[name].get("default") for name in options} == options
    assert {"k", "filter", "sources", "explain", *OPTIONS} == set(options)
    assert SearchRequest(query="").changed() == {}
    code = {"k": SearchRequest(query="").k, **defaults(CodeRequest)}
    parameters = inspect.signature(code_search).parameters
    assert {name: parameters[name].default for name in code} == code
    assert {name: schemas["CodeRequest"]["properties"][name].get("default") for name in code} == code
    documented = inspect.signature(CodeRetriever.retrieve).parameters
    assert (documented["limit"].default, documented["per_file"].default) == (code["k"], code["per_file"])


def test_copies_are_folded_for_readers(place: Place) -> None:
    """Readers get one hit, which names its copies; programs get every document, unless they ask."""
    query = "buckets of tokens"
    both = {"guide.html#0", "guide.txt#0"}
    assert both <= {item.id for item in place.sources.retrieve(query, sources=["docs"]) if not item.copies}
    response = place.server.client.post("/v1/search", json={"query": query, **DOCS}).json()
    assert both <= {hit["id"] for hit in response["items"] if not hit.get("copies")}
    folded: dict[str, Any] = {**DOCS, "fold_copies": True}
    (item,) = (item for item in place.sources.retrieve(query, **folded) if item.copies)
    assert {item.id, *item.copies} == both
    response = place.server.client.post("/v1/search", json={"query": query, **folded}).json()
    assert {hit["id"]: hit["copies"] for hit in response["items"] if hit.get("copies")} == {
        item.id: list(item.copies)
    }
    results = json.loads(place.tools.call("search", {"query": query, **DOCS}))["results"]
    assert {hit["id"]: hit["copies"] for hit in results if "copies" in hit} == {item.id: list(item.copies)}
    assert "and 1 copy: guide." in sleuth("search", "--in", "docs", query, cwd=place.root).stdout
    html = place.server.client.get("/", params={"q": query, "in": "docs"}).text
    address = re.search(r'<a class="copies" href="([^"]*)">and 1 copy</a>', html)
    assert address is not None
    every = place.server.client.get(unescape(address[1])).text
    assert both <= set(re.findall(r'data-id="(.*?)"', every))
