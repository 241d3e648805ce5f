"""What is kept of one file? Runs in worker threads: parsing and compression work without the interpreter's lock."""

from __future__ import annotations

import codecs
import zlib
from dataclasses import dataclass

import numpy as np

from sleuth.code.chunks import KINDS_OF_CHUNKS, cut_text
from sleuth.code.labels import category_of
from sleuth.code.languages import LANGUAGES, language_of
from sleuth.code.parse import Detail, LineIndex, no_tables, parse_with_names
from sleuth.code.syntax import cut_lines

_MINIFIED_LINE = 5_000
_MINIFIED_MEAN = 400


@dataclass(slots=True)
class Analysed:
    """A file as the storage keeps it.

    Attributes:
        skip: why it has no chunks; "" where it has.
        content: its text as UTF-8, compressed; empty where skipped.
        detail: symbols, references, imports and chunks; read by `Detail.read`. Empty where skipped.
        texts: what is searched of the whole file, by field.
        chunk_texts: what is searched of each chunk, by field.
        chunks: how many there are, once their texts are counted and gone.
    """

    path: str
    language: str
    category: str
    encoding: str
    lines: int
    size: int
    skip: str
    content: bytes
    detail: bytes
    texts: dict[str, str]
    chunk_texts: dict[str, list[str]]
    chunks: int = 0


def analyse(path: str, content: bytes) -> Analysed:
    """Take a file apart. Never fails over what the file holds: what cannot be used is skipped with a reason."""
    language = language_of(path)
    name = language.name if language else _by_first_line(content)
    category = category_of(path, name or None, content)
    text, encoding = decode(content)
    skip = "" if text is not None else "binary"
    if text is not None and is_minified(text):
        skip = "minified"
    if text is None or skip:
        kept = "generated" if skip == "minified" else category
        return Analysed(path, name, kept, encoding, 0, len(content), skip, b"", b"", {}, {})
    source = content if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
    detail, uses = _take_apart(source, name, path)
    lines = source.count(b"\n") + (bool(source) and not source.endswith(b"\n"))
    return Analysed(
        path, name, category, encoding, lines, len(content), "", zlib.compress(source, 1), detail.pack(),
        _file_texts(path, text, detail, uses), _chunk_texts(source, detail),
    )  # fmt: skip


def _take_apart(source: bytes, language: str, path: str) -> tuple[Detail, str]:
    """What is in it, and the names that it uses."""
    if language and LANGUAGES[language].package and source.strip():
        if language == "c" and path.endswith(".h") and _looks_like_cpp(source):
            language = "cpp"
        return parse_with_names(source, language, path)
    chunks = cut_text(source, LineIndex(source))
    spans = [(c.start, c.end, c.symbol, KINDS_OF_CHUNKS.index(c.kind)) for c in chunks]
    a, b, c, _ = no_tables()
    return Detail(source, "", path, (a, b, c, np.array(spans, np.int32).reshape(-1, 4)), []), ""


def _looks_like_cpp(source: bytes) -> bool:
    return any(word in source for word in (b"class ", b"namespace ", b"template<", b"template <", b"public:"))


def _file_texts(path: str, text: str, detail: Detail, uses: str) -> dict[str, str]:
    return {
        "body": text,
        "path": path.rpartition(".")[0] or path,
        "names": " ".join([name for kind, name, _ in detail.names if kind != "attribute"]),
        "defines": " ".join([name for _, name, _ in detail.names]),
        "uses": uses,
    }


def _chunk_texts(source: bytes, detail: Detail) -> dict[str, list[str]]:
    qualified = [detail.names[at][2] if at >= 0 else "" for at in detail.spans[:, 2].tolist()]
    return {"body": cut_lines(source, detail.spans), "symbol": qualified}


def decode(content: bytes) -> tuple[str | None, str]:
    """Text and encoding, such that encoding the text gives the bytes again; None for binary content."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            try:
                return content.decode(encoding), encoding
            except UnicodeDecodeError:
                break
    if b"\0" in content[:8000]:
        return None, ""
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1"


def is_minified(text: str) -> bool:
    """Whether lines are longer than people write them."""
    if len(text) < 2_000:
        return False
    if len(text) / (text.count("\n") + 1) > _MINIFIED_MEAN:
        return True
    return len(text) > 20_000 and max(map(len, text.split("\n"))) > max(_MINIFIED_LINE, len(text) // 2)


def _by_first_line(content: bytes) -> str:
    """The language that a `#!` line names."""
    if not content.startswith(b"#!"):
        return ""
    first = content[:200].split(b"\n", 1)[0]
    for word, language in (
        (b"python", "python"),
        (b"bash", "bash"),
        (b"/sh", "bash"),
        (b"node", "javascript"),
        (b"ruby", "ruby"),
    ):
        if word in first:
            return language
    return ""


def analyse_many(files: list[tuple[str, bytes]]) -> list[Analysed]:
    """`analyse` over a batch: what a worker is given at once."""
    return [analyse(path, content) for path, content in files]
