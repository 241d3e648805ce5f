"""What is kept of one file? Runs in worker processes: bytes in, plain values out."""

from __future__ import annotations

import codecs
import json
import zlib
from dataclasses import dataclass

from sleuth.code.chunks import Chunk, cut, cut_text
from sleuth.code.imports import Import
from sleuth.code.labels import category_of
from sleuth.code.languages import LANGUAGES, language_of
from sleuth.code.parse import LineIndex, Parsed, Reference, Symbol, parse_source

_MINIFIED_LINE = 5_000
_MINIFIED_MEAN = 400


@dataclass(slots=True)
class Analysed:
    """A file as the storage keeps it.

    Attributes:
        skip: why it has no chunks; "" where it has.
        content: its text as UTF-8, compressed; empty where skipped.
        detail: symbols, references, imports and chunks, compressed JSON; read by `Detail.read`.
        texts: what is searched of the whole file, by field.
        chunk_texts: what is searched of each chunk, by field.
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


@dataclass(frozen=True, slots=True)
class Detail:
    """What parsing found in a file."""

    symbols: list[Symbol]
    references: list[Reference]
    imports: list[Import]
    chunks: list[Chunk]
    sound: bool

    def pack(self) -> bytes:
        """Compressed JSON."""
        value = [self.symbols, self.references, self.imports, self.chunks, self.sound]
        return zlib.compress(json.dumps(value, separators=(",", ":")).encode("utf-8", "replace"), 1)

    @classmethod
    def read(cls, packed: bytes) -> Detail:
        """The inverse of `pack`."""
        symbols, references, imports, chunks, sound = json.loads(zlib.decompress(packed))
        return cls(
            [Symbol._make((*s[:9], tuple(s[9]))) for s in symbols],
            [Reference(*r) for r in references],
            [Import(*i) for i in imports],
            [Chunk(*c) for c in chunks],
            sound,
        )


EMPTY = Detail([], [], [], [], True)


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
        return Analysed(
            path, name, "generated" if skip == "minified" else category, encoding, 0, len(content), skip,
            b"", EMPTY.pack(), {}, {},
        )  # fmt: skip
    source = text.encode("utf-8", "surrogatepass")
    lines = LineIndex(source)
    parsed = _parse(source, name, path)
    chunks = cut(parsed, source, lines) if parsed.root is not None else cut_text(source, lines)
    detail = Detail(parsed.symbols, parsed.references, parsed.imports, chunks, parsed.sound)
    texts, chunk_texts = _fields(path, text, source, lines, detail)
    return Analysed(
        path, name, category, encoding, len(lines), len(content), "",
        zlib.compress(source, 1), detail.pack(), texts, chunk_texts,
    )  # fmt: skip


def _parse(source: bytes, language: str, path: str) -> Parsed:
    if not language or not LANGUAGES[language].package or not source.strip():
        return Parsed(language)
    if language == "c" and path.endswith(".h") and _looks_like_cpp(source):
        language = "cpp"
    return parse_source(source, language, path)


def _looks_like_cpp(source: bytes) -> bool:
    return any(word in source for word in (b"class ", b"namespace ", b"template<", b"template <", b"public:"))


def _fields(
    path: str, text: str, source: bytes, lines: LineIndex, detail: Detail
) -> tuple[dict[str, str], dict[str, list[str]]]:
    names = [s.name for s in detail.symbols]
    stem = path.rpartition(".")[0] or path
    texts = {
        "body": text,
        "path": stem,
        "names": " ".join(s.name for s in detail.symbols if s.kind != "attribute"),
        "defines": " ".join(names),
        "uses": " ".join(r.name for r in detail.references),
    }
    bodies = [
        source[lines.start(c.start) : lines.stop(c.end)].decode("utf-8", "surrogatepass")
        for c in detail.chunks
    ]
    qualified = [detail.symbols[c.symbol].qualified if c.symbol >= 0 else "" for c in detail.chunks]
    return texts, {"body": bodies, "symbol": qualified}


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
    lines = text.split("\n")
    return len(text) / len(lines) > _MINIFIED_MEAN or (
        len(text) > 20_000 and max(map(len, lines)) > max(_MINIFIED_LINE, len(text) // 2)
    )


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
    """`analyse` over a batch: what a worker process is given at once."""
    return [analyse(path, content) for path, content in files]
