"""The embedder of code."""

import subprocess
import sys

import numpy as np
import pytest

from sleuth.dense import CodeEmbedder, WordLlamaEmbedder
from sleuth.dense.code import TRAINED


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("MAX_SIZE", "max_size"),
        ("v2Api", "v2 api"),
    ],
)
def test_names_in_code_are_divided(name: str, parts: str) -> None:
    """The parts of a name that begin with capitals are read, as document and as query."""
    code = CodeEmbedder()
    assert code.embed_query(name).tolist() == code.embed_query(parts).tolist()
    assert code.embed_documents([name])[0].tolist() == code.embed_documents([parts])[0].tolist()
    assert np.array_equal(code.read([name]).tokens, WordLlamaEmbedder().read([parts]).tokens)
    assert code.fingerprint != WordLlamaEmbedder.fingerprint


def test_halves() -> None:
    """Half of a vector is the beginning of WordLlama's, and both halves count the same; an empty text has zeros."""
    texts = ["open a file", "def read_lines(path): return path.read_text().splitlines()", ""]
    vectors = CodeEmbedder().embed_documents(texts)
    general = WordLlamaEmbedder().embed_documents(texts)[:, :128]
    lengths = np.linalg.norm(vectors.reshape(3, 2, 128), axis=2)
    assert np.allclose(lengths, [[0.5**0.5] * 2, [0.5**0.5] * 2, [0, 0]], atol=1e-5)
    expected = general[:2] / np.linalg.norm(general[:2], axis=1, keepdims=True) * 0.5**0.5
    assert np.allclose(vectors[:2, :128], expected, atol=1e-3)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(CodeEmbedder().embed_query(text), vector, atol=1e-5)


def test_code_is_near_what_it_does() -> None:
    """A question without a word of the code is nearer to it than to other code."""
    code = CodeEmbedder()
    texts = [
        "def __getstate__(self):\n    return self.__dict__.copy()",
        "def resize(self, width, height):\n    self.canvas.scale(width, height)",
        "async def handler(request):\n    return web.Response(status=404)",
    ]
    vectors = code.embed_documents(texts)
    for question, best in [
        ("pickling an object", 0),
        ("make the picture smaller", 1),
        ("http endpoint not found", 2),
    ]:
        assert np.argmax(vectors @ code.embed_query(question)) == best, question


def test_queries_read_little() -> None:
    """A query does not build the table for documents: a command line pays for it on each call."""
    script = (
        "from sleuth.dense import code; code.CodeEmbedder().embed_query('open a file');"
        "assert code._both.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_table() -> None:
    """There is a row for each token of the vocabulary."""
    table = np.load(TRAINED, mmap_mode="r")
    assert table.dtype == np.int8 and table.shape == (32_000, 128)
