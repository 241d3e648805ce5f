"""Quickstarts of other packages beside the lines that docs/how-to/moving-in.md has for them: `make conformance`."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import bm25s
import chromadb
import cohere
import nbformat
import numpy as np
import openai
import pytest
from chromadb.errors import NotFoundError
from fastapi import BackgroundTasks, Depends, FastAPI, Header, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.testclient import TestClient
from langchain_community.document_compressors.jina_rerank import JinaRerank
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
from nbclient import NotebookClient
from pydantic import BaseModel
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from sleuth import ArgumentError, Document, Engine
from sleuth.errors import FilterError, IndexNotFoundError
from tests.documents import DOCS, NEWS, QUERY, check_examples, guide_line, meaning
from tests.documents import news as engine
from tests.surfaces.http.conftest import Local, make_index, serving

__all__ = ["engine"]


def ids(hits: Any) -> list[int]:
    return [int(hit.document_id) for hit in hits]


class Meaning(chromadb.EmbeddingFunction[Any]):
    """The vectors of the default embedder."""

    def __init__(self) -> None:
        pass

    def __call__(self, input: Any) -> Any:
        return list(map(meaning, input))


def test_chroma(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection: queries, filters on metadata and texts, pages, changes, and what a second `add` does."""
    monkeypatch.chdir(tmp_path)
    client = chromadb.PersistentClient(tmp_path / "chroma")
    news = client.create_collection("news", embedding_function=Meaning())
    news.add(ids=[*"012345"], documents=[*NEWS], metadatas=[{"n": n} for n in range(6)])
    (best,) = news.query(query_texts=[QUERY], n_results=2)["ids"]
    assert ids(guide_line("Chroma: `query", engine=engine, text=QUERY)) == [*map(int, best)] == [1, 5]
    vector: Any = meaning("crime")
    (nearest,) = news.query(query_embeddings=[vector], n_results=2)["ids"]
    assert ids(engine.nearest(vector, 2)) == [*map(int, nearest)]
    n_from_2: Any = {"n": {"$gte": 2}}
    chosen = news.get(where=n_from_2, where_document={"$contains": "city bank"})["ids"]
    assert ids(guide_line("Chroma: `where`", engine=engine)) == [*map(int, chosen)] == [2]
    page = guide_line("Chroma: `get(limit", engine=engine, id="1")
    assert [each.id for each in page.documents] == news.get(limit=2, offset=2)["ids"] == ["2", "3"]
    news.update(ids=["1"], metadatas=[{"kind": "sky"}])
    guide_line("Chroma: `update`", engine=engine, id="1", metadata={"kind": "sky"})
    assert news.get(ids=["1"])["metadatas"] == [
        {key: engine.get("1")[0].metadata[key] for key in ("n", "kind")}
    ]
    news.add(ids=["0"], documents=["other"])
    guide_line("Chroma: `add`", engine=engine, id="0", document=Document("other", id="0"))
    assert [item.text for item in engine.get("0")] == news.get(ids=["0"])["documents"] == [NEWS[0]]
    news.upsert(ids=["0"], documents=["other"])
    engine.add([Document("other", id="0")])
    assert [item.text for item in engine.get("0")] == news.get(ids=["0"])["documents"] == ["other"]
    news.delete(ids=["0"])
    engine.delete(["0"])
    assert engine.count().documents == news.count() == 5
    for number in (0, 1):
        with guide_line("Chroma: `PersistentClient", Engine=Engine) as opened:
            assert opened.count().documents == number
            opened.add([Document("one", id=str(number))])
    with pytest.raises(TypeError, match="no argument 'n_results'; did you mean 'k'"):
        engine.retrieve("rain", n_results=1)  # type: ignore[call-arg]


WHERE: tuple[dict[str, Any], ...] = (
    {"n": {"$ne": 2}}, {"n": {"$in": [0, 9]}}, {"n": {"$nin": [0, 9]}}, {"kind": "sky"},
    {"$and": [{"n": {"$gt": 1}}, {"n": {"$lt": 4}}]}, {"$or": [{"n": {"$lte": 0}}, {"kind": {"$eq": "sky"}}]},
)  # fmt: skip


def test_collections_of_chroma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collections are listed, opened, looked into, filtered and deleted; one that is not there is named."""
    monkeypatch.chdir(tmp_path)
    client = chromadb.PersistentClient(tmp_path / "chroma")
    kinds: list[Any] = [{"n": n, "kind": "sky" if n in (1, 5) else "news"} for n in range(6)]
    for name in ("news", "other"):
        made = client.create_collection(name, embedding_function=Meaning())
        made.add(ids=[*"012345"], documents=[*NEWS], metadatas=kinds)
        with Engine.open(f"all/{name}", create=True) as opened:
            opened.add(Document(text, kinds[n], id=str(n)) for n, text in enumerate(NEWS))
    folders = sorted(path.name for path in Path("all").iterdir())
    assert folders == sorted(each.name for each in client.list_collections())
    client.delete_collection("other")
    shutil.rmtree("all/other")
    with pytest.raises(NotFoundError, match="other"):
        client.get_collection("other")
    with pytest.raises(IndexNotFoundError, match="all/other: make one with create=True"):
        Engine.open("all/other")
    news = client.get_collection("news", embedding_function=Meaning())
    with Engine.open("all/news") as opened:
        assert [each.id for each in opened.list_documents(limit=2).documents] == news.peek(2)["ids"]
        for where in WHERE:
            matches = [each.id for each in opened.list_documents(filter=where).documents]
            assert matches == news.get(where=where)["ids"] != []
        vectors: Any = [meaning("crime"), meaning("a film by the sea")]
        from_2: Any = {"n": {"$gt": 1}}
        batch: Any = news.query(query_embeddings=vectors, n_results=2, where=from_2)
        for vector, best, distances in zip(vectors, batch["ids"], batch["distances"], strict=True):
            hits = opened.nearest(vector, 2, filter=from_2)
            assert ids(hits) == [*map(int, best)]
            cosines = [1 - each / 2 for each in distances]
            assert [hit.score for hit in hits] == pytest.approx(cosines, abs=1e-3)
        without: Any = {"$and": [{"$contains": "weather"}, {"$not_contains": "cloudy"}]}
        assert ids(opened.retrieve("weather -cloudy", syntax=True, legs=["lexical"])) == [5]
        assert news.get(where_document=without)["ids"] == ["5"]
        with pytest.raises(FilterError, match=r"operator must be .*got '\$near'"):
            opened.retrieve("x", filter={"n": {"$near": 2}})
        with pytest.raises(TypeError, match="no argument 'where'; did you mean 'filter'"):
            opened.retrieve("x", where={"n": 2})  # type: ignore[call-arg]


tokens = partial(bm25s.tokenize, stopwords="en", show_progress=False)


def test_bm25(engine: Engine, tmp_path: Path) -> None:
    """Best texts of rank_bm25; of bm25s many queries at once, a k above the corpus, and an index that is loaded."""
    texts = ["the weather tomorrow", "a wonderful film"]
    okapi = BM25Okapi([text.lower().split() for text in NEWS])
    bm25s_index = bm25s.BM25()
    bm25s_index.index(tokens([*NEWS]), show_progress=False)
    bm25s_index.save(tmp_path / "saved")
    loaded = bm25s.BM25.load(tmp_path / "saved")
    best = [okapi.get_top_n(text.split(), range(6), n=1)[0] for text in texts]
    assert [ids(guide_line("rank_bm25: your", engine=engine, text=text, n=1))[0] for text in texts] == best
    rankings = guide_line("bm25s: many", engine=engine, texts=texts)
    assert [ids(ranking)[0] for ranking in rankings] == best
    assert loaded.retrieve(tokens(texts), k=1, show_progress=False)[0].tolist() == [[n] for n in best]
    for text, first in zip(texts, best, strict=True):
        scores = guide_line("rank_bm25: `get_scores`", engine=engine, text=text)
        assert max(scores, key=scores.__getitem__) == str(first)
        assert {int(id) for id in scores} <= {*np.flatnonzero(okapi.get_scores(text.split()))}
    mask = np.array([n >= 2 for n in range(6)])
    masked = loaded.retrieve(tokens(texts), k=1, weight_mask=mask, show_progress=False)[0]
    filtered = [engine.retrieve(text, 1, filter="n>=2", legs=["lexical"]) for text in texts]
    assert [ids(ranking)[0] for ranking in filtered] == masked.ravel().tolist() == [5, 4]
    with pytest.raises(ValueError, match="k of 9 is larger"):
        loaded.retrieve(tokens(texts), k=9, show_progress=False)
    with pytest.raises(TypeError, match="no argument 'top_n'; did you mean 'k'"):
        engine.retrieve("rain", top_n=1)  # type: ignore[call-arg]


def test_further_pages_of_bm25(engine: Engine, tmp_path: Path) -> None:
    """Other formulas, texts of a batch of ids, and of bm25s a corpus of rows that is saved with its index."""
    film, weather = ("wonderful film", "the weather tomorrow")
    for formula in (BM25Okapi, BM25L, BM25Plus):
        peer = formula([re.findall(r"\w+", text.lower()) for text in NEWS])
        scores = peer.get_batch_scores(film.split(), [0, 4])
        chosen = engine.retrieve(film, filter={"n": {"$in": [0, 4]}}, legs=["lexical"])
        assert ids(chosen)[0] == [0, 4][int(np.argmax(scores))] == 4
    corpus = [{"n": n, "text": text} for n, text in enumerate(NEWS)]
    index = bm25s.BM25(corpus=corpus, method="bm25+")
    index.index(tokens([*NEWS]), show_progress=False)
    index.save(tmp_path / "saved", corpus=corpus)
    loaded = bm25s.BM25.load(tmp_path / "saved", load_corpus=True, mmap=True)
    for text in (film, weather):
        rows, _ = loaded.retrieve(tokens([text]), k=1, show_progress=False)
        (hit,) = engine.retrieve(text, 1, legs=["lexical"])
        assert (hit.metadata["n"], hit.text) == (rows[0][0]["n"], rows[0][0]["text"])
    with pytest.raises(ArgumentError, match="k must be"):
        engine.retrieve(film, 0.5)  # type: ignore[arg-type]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Local]:
    with serving(make_index(tmp_path / "served")) as server:
        yield server


def test_clients_of_rerankers(served: Local) -> None:
    """Cohere's client and LlamaIndex's for TEI get the same order from our server; wrong fields are named."""
    client = cohere.ClientV2(api_key="-", base_url=served.url)
    results = client.rerank(model="rerank-v3.5", query=QUERY, documents=NEWS, top_n=3).results
    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(n))) for n, text in enumerate(NEWS)]
    tei = TextEmbeddingInference(base_url=served.url, top_n=3).postprocess_nodes(nodes, query_str=QUERY)
    assert [int(hit.node.node_id) for hit in tei] == [result.index for result in results]
    body = {"query": "pancakes", "texts": NEWS, "return_text": True}
    assert served.client.post("/rerank", json=body).json()[0]["text"] == NEWS[0]
    unused = ("/v1/rerank rank_fields", "/v2/rerank max_tokens_per_doc", "/rerank raw_scores")
    for path, name in map(str.split, unused):
        refused = served.client.post(path, json={**body, "documents": NEWS, name: True})
        assert (refused.status_code, name in refused.text) == (422, True)
    assert [hit.score for hit in tei] == pytest.approx([result.relevance_score for result in results])
    with pytest.raises(cohere.UnprocessableEntityError, match="top_n"):
        client.rerank(model="rerank-v3.5", query=QUERY, documents=NEWS, top_n=0)


def test_further_pages_of_rerankers(served: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields written as YAML, asked without blocking; Jina's client alone; TEI's clips nothing, in a query of many."""
    pages = [f"Title: News {n}\nText: {text}\n" for n, text in enumerate(NEWS)]

    async def ask() -> Any:
        async with cohere.AsyncClientV2(api_key="-", base_url=served.url) as client:
            return await client.rerank(model="rerank-v3.5", query=QUERY, documents=pages, top_n=2)

    best = [(result.index, result.relevance_score) for result in asyncio.run(ask()).results]
    assert {index for index, _ in best} == {1, 5}
    monkeypatch.setattr(
        "langchain_community.document_compressors.jina_rerank.JINA_API_URL", f"{served.url}/v1/rerank"
    )
    results = JinaRerank(jina_api_key="-", top_n=2).rerank(pages, QUERY)
    assert [(each["index"], each["relevance_score"]) for each in results] == best
    nodes = [NodeWithScore(node=TextNode(text=page, id_=str(n))) for n, page in enumerate(pages)]
    tei = TextEmbeddingInference(base_url=served.url, top_n=2, truncate_text=True)
    hits = asyncio.run(tei.apostprocess_nodes(nodes, query_str=QUERY))
    assert [(int(hit.node.node_id), hit.score) for hit in hits] == best
    with pytest.raises(RuntimeError, match="top_n: Input should be greater than or equal to 1"):
        JinaRerank(jina_api_key="-", top_n=0).rerank(pages, QUERY)
    for name, body in (
        ("texts", {"texts": []}),
        ("truncation_direction", {"texts": [""], "truncation_direction": "Left"}),
    ):
        refused = served.client.post("/rerank", json={"query": "x", **body})
        assert (refused.status_code, name in refused.json()["detail"]) == (422, True)


def test_file_search_of_openai(served: Local) -> None:
    """A store with files, an answer from it, and a follow-up; what would change nothing is refused by name."""
    client: Any = openai.OpenAI(base_url=f"{served.url}/v1", api_key="-", max_retries=0)
    store = client.vector_stores.create(name="news")
    files = [(f"{n}.md", text.encode()) for n, text in enumerate(NEWS)]
    store_files = client.vector_stores.files
    upload = partial(store_files.upload_and_poll, vector_store_id=store.id, poll_interval_ms=50)
    attached = guide_line("OpenAI: `file_batches`", upload=upload, files=files)
    assert [file.status for file in attached] == ["completed"] * 6
    in_text = {"type": "ne", "key": "n", "value": 1}
    tool = {"type": "file_search", "vector_store_ids": [store.id], "max_num_results": 2, "filters": in_text}
    ask = partial(client.responses.create, model="gpt-4.1", tools=[tool])
    response = ask(input="Who broke into the bank?")
    assert response.output[1].content[0].annotations[0].filename == "2.md"
    names = [{"role": "user", "content": text} for text in ("Who broke into the bank?", "And the weather?")]
    talk = {"response": response, "question": names[0], "follow_up": names[1]}
    assert guide_line("OpenAI: `previous", client=client, **talk).output_text
    unused = ("instructions", "temperature", "previous_response_id", "conversation")
    wrong: dict[str, Callable[..., Any]] = dict.fromkeys(unused, partial(ask, input="x"))
    wrong["rewrite_query"] = partial(client.vector_stores.search, store.id, query="x")
    wrong["chunking_strategy"] = partial(client.vector_stores.files.create, store.id, file_id="x")
    with pytest.raises(openai.NotFoundError, match="vector store must be"):
        ask(input="x", tools=[tool | {"vector_store_ids": ["other"]}])
    for name, call in wrong.items():
        with pytest.raises(openai.UnprocessableEntityError, match=name):
            call(**{name: "x"})


def test_further_pages_of_file_search(served: Local) -> None:
    """Attributes are set, changed and searched by; the client that does not block gets the events of a stream."""
    client: Any = openai.OpenAI(base_url=f"{served.url}/v1", api_key="-", max_retries=0)
    store = client.vector_stores.create(name="news")
    files = client.vector_stores.files
    upload = partial(files.upload_and_poll, vector_store_id=store.id, poll_interval_ms=50)
    attached = [upload(file=(f"{n}.md", text.encode()), attributes={"n": n}) for n, text in enumerate(NEWS)]
    late = {"type": "gte", "key": "n", "value": 7}
    assert client.vector_stores.search(store.id, query="bank", filters=late).data == []
    changed = files.update(attached[2].id, vector_store_id=store.id, attributes={"n": 7, "kind": "crime"})
    assert changed.attributes == {"n": 7, "kind": "crime"}
    (hit,) = client.vector_stores.search(store.id, query="bank", filters=late).data
    assert (hit.filename, hit.attributes, hit.content[0].text) == ("2.md", changed.attributes, NEWS[2])
    tool: Any = {"type": "file_search", "vector_store_ids": [store.id], "filters": late}

    async def stream() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="-", max_retries=0) as waiting:
            question: Any = {"model": "gpt-4.1", "input": "Who broke into the bank?", "tools": [tool]}
            return [event async for event in await waiting.responses.create(**question, stream=True)]

    events = asyncio.run(stream())
    types = [event.type for event in events]
    assert {"response.file_search_call.searching", "response.output_text.annotation.added"} <= {*types}
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert NEWS[2] in text and text == events[-1].response.output_text
    with pytest.raises(openai.NotFoundError, match="file_id must be of an uploaded file"):
        files.update("other", vector_store_id=store.id, attributes={"n": 7})
    with pytest.raises(openai.UnprocessableEntityError, match="attributes"):
        files.update(attached[0].id, vector_store_id=store.id, attributes={"n": [7]})


def test_the_client_of_the_guide_embeds(served: Local) -> None:
    """LangChain's `OpenAIEmbeddings`, as docs/how-to/clients-of-others.md makes it, gets the index's vectors."""
    guide = (DOCS / "clients-of-others.md").read_text("utf8")
    (code,) = re.findall(r"```python\n(from langchain_openai .*?)```", guide, re.DOTALL)
    values: dict[str, Any] = {}
    exec(code.replace("http://localhost:8321", served.url), values)  # noqa: S102
    assert values["vector"] == pytest.approx(meaning("how often are tokens refilled"), abs=1e-5)


def test_an_application_of_fastapi(engine: Engine) -> None:
    """Results, an answer that is streamed, and documents of one tenant; a wrong argument is named."""
    app = FastAPI()

    @app.get("/search")
    async def search(q: str, k: int = 2) -> list[dict[str, Any]]:
        return [item.to_dict() for item in await engine.aretrieve(q, k)]

    @app.get("/mine")
    def mine(q: str, x_tenant: Annotated[int, Header()]) -> list[str]:
        return [item.document_id for item in engine.scoped({"n": x_tenant}).retrieve(q)]

    @app.get("/answer")
    def answer(q: str) -> StreamingResponse:
        return StreamingResponse(engine.stream_search(q, 1), media_type="text/plain")

    @app.exception_handler(ArgumentError)
    async def refuse(_: Any, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    with TestClient(app) as client:
        question = {"q": "who broke into the bank"}
        (best,) = client.get("/search", params=question | {"k": 1}).json()
        assert (best["id"], best["text"]) == ("2#0", NEWS[2])
        assert client.get("/mine", params=question, headers={"x-tenant": "2"}).json() == ["2"]
        assert NEWS[2] in client.get("/answer", params=question).text
        refused = client.get("/search", params={"q": "x", "k": -1})
        assert (refused.status_code, refused.json()["detail"][:7]) == (422, "k must ")


class Hit(BaseModel):
    """What an application shows of a passage."""

    id: str
    text: str


def test_further_pages_of_fastapi(tmp_path: Path) -> None:
    """An engine opened with the application and given by a dependency; uploads in the background; a response model."""
    opened: dict[str, Engine] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with Engine.open(tmp_path / "index", create=True) as opened["engine"]:
            yield

    app = FastAPI(lifespan=lifespan)
    dependency = Depends(lambda: opened["engine"])

    @app.post("/files", status_code=202)
    def upload(file: UploadFile, tasks: BackgroundTasks, engine: Any = dependency) -> None:
        tasks.add_task(engine.add, [Document(file.file.read().decode(), id=file.filename)])

    @app.get("/search", response_model=list[Hit])
    async def search(q: str, filter: str | None = None, engine: Any = dependency) -> Any:
        return [item.to_dict() for item in await engine.aretrieve(q, 1, filter=filter)]

    with TestClient(app) as client:
        for n, text in enumerate(NEWS):
            assert client.post("/files", files={"file": (f"{n}.md", text)}).status_code == 202
        answer = client.get("/search", params={"q": "robbers"}).json()
        assert answer == [{"id": "2.md#0", "text": NEWS[2]}]
        with pytest.raises(FilterError, match="n >> 2"):
            client.get("/search", params={"q": "robbers", "filter": "n >> 2"})


def test_a_notebook(engine: Engine, tmp_path: Path) -> None:
    """Answers and explanations are lists; calls wait and do not wait; an error names its argument."""
    cells = [
        "from sleuth import Engine; engine = Engine.open('.sleuth'); engine.retrieve('weather', 2)",
        "(await engine.asearch('who broke into the bank'))",
        "engine.retrieve('weather', 1, explain=True)[0].explanation",
        "import pandas; from sleuth.plugins.frameworks.tables import to_rows\n"
        "pandas.DataFrame(to_rows(engine.retrieve('weather', 2)))",
        "from sleuth import Document; engine.add(Document(f'row {n}', id=f'r{n}') for n in range(3))",
        "engine.retrieve('weather', n_results=2)",
    ]
    form: Any = nbformat.v4
    notebook = form.new_notebook(cells=[form.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": tmp_path}}).execute()
    ranking, answer, explanation, frame, report, error = [cell.outputs[0] for cell in notebook.cells]
    assert "Ranking(2 items" in ranking["data"]["text/plain"]
    assert "<pre>2#0</pre>" in answer["data"]["text/html"]
    assert "<ul><li>" in explanation["data"]["text/html"] and "idf" in explanation["data"]["text/html"]
    assert "<td>1#0</td>" in frame["data"]["text/html"] and "3" in report["data"]["text/plain"]
    assert "did you mean 'k'" in error["evalue"]


GUIDES = (
    "Data frames", "LangGraph", "Pydantic AI", "DSPy", "Haystack", "LlamaIndex", "A model of another package",
    "PyTerrier",
)  # fmt: skip
"""Headings of guides with examples; that of MTEB is run beside its suite."""


@pytest.mark.parametrize("heading", GUIDES)
def test_the_guide_is_true(tmp_path: Path, heading: str) -> None:
    """The examples of an adapter print what its guide says."""
    check_examples(heading, tmp_path)


def test_each_line_of_the_guide_is_run() -> None:
    """Every code in the table is run by a test, beside what it stands in for."""
    rows = re.findall(r"^\| (.+?) \|.*\| `.+` \|$", (DOCS / "moving-in.md").read_text("utf8"), re.MULTILINE)
    sources = "".join(path.read_text("utf8") for path in Path(__file__).parent.glob("conformance_*.py"))
    beginnings = tuple(re.findall(r'guide_line\(\s*"([^"]+)"', sources))
    assert [row for row in rows if not row.startswith(beginnings)] == []
