"""What is kept of one file? Runs in worker threads: parsing and compression work without the interpreter's lock."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sleuth.code.parsing.chunks import KINDS_OF_CHUNKS, cut_text
from sleuth.code.parsing.labels import category_of
from sleuth.code.parsing.languages import LANGUAGES, language_of, language_of_first_line
from sleuth.code.parsing.parse import Detail, Facts, LineIndex, facts_of, no_tables, trees_of
from sleuth.code.parsing.syntax import cut_lines
from sleuth.code.snapshots.record import MAX_BYTES, TOO_LARGE
from sleuth.files.encodings import decode, is_binary

if TYPE_CHECKING:
    from sleuth.code.parsing.syntax import Tree

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


class _Readable(NamedTuple):
    """A file that is not skipped.

    Attributes:
        source: its text as UTF-8.
        grammar: the language that it is parsed as, "" for none.
    """

    path: str
    language: str
    category: str
    encoding: str
    size: int
    text: str
    source: bytes
    grammar: str


def analyse(path: str, content: bytes) -> Analysed:
    """Take a file apart. Never fails over what the file holds: what cannot be used is skipped with a reason."""
    return analyse_many([(path, content)])[0]


def analyse_many(files: Sequence[tuple[str, bytes]]) -> list[Analysed]:
    """`analyse` over a batch, which is parsed at once: what a worker is given."""
    looked = [_look_at(path, content) for path, content in files]
    parsed = [file for file in looked if isinstance(file, _Readable) and file.grammar]
    trees = iter(trees_of([(file.source, file.grammar) for file in parsed]))
    return [
        file if isinstance(file, Analysed) else _take_apart(file, next(trees) if file.grammar else None)
        for file in looked
    ]


def _look_at(path: str, content: bytes) -> Analysed | _Readable:
    language = language_of(path) or language_of_first_line(content)
    name = language.name if language else ""
    category = category_of(path, name or None, content)
    if len(content) > MAX_BYTES:
        return Analysed(path, name, category, "", 0, 0, TOO_LARGE, b"", b"", {}, {})
    text, encoding = (None, "") if is_binary(content) else decode(content)
    if text is None or is_minified(text):
        kept, skip = (category, "binary") if text is None else ("generated", "minified")
        return Analysed(path, name, kept, encoding, 0, len(content), skip, b"", b"", {}, {})
    source = content if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
    grammar = name if name and LANGUAGES[name].package and source.strip() else ""
    if grammar == "c" and path.endswith(".h") and _looks_like_cpp(source):
        grammar = "cpp"
    return _Readable(path, name, category, encoding, len(content), text, source, grammar)


def _take_apart(file: _Readable, tree: Tree | None) -> Analysed:
    source = file.source
    facts = facts_of(tree, source, file.grammar, file.path) if tree is not None else _facts_of_text(file)
    texts = {
        "body": file.text,
        "path": file.path.rpartition(".")[0] or file.path,
        "names": facts.names,
        "defines": facts.defines,
        "uses": facts.uses,
    }
    chunk_texts = {"body": cut_lines(source, facts.spans), "symbol": facts.symbols}
    lines = source.count(b"\n") + (bool(source) and not source.endswith(b"\n"))
    return Analysed(
        file.path, file.language, file.category, file.encoding, lines, file.size, "", zlib.compress(source, 1),
        facts.packed, texts, chunk_texts,
    )  # fmt: skip


def _facts_of_text(file: _Readable) -> Facts:
    """Of a file that is not parsed: its chunks."""
    chunks = cut_text(file.source, LineIndex(file.source))
    spans = [(c.start, c.end, c.symbol, KINDS_OF_CHUNKS.index(c.kind)) for c in chunks]
    a, b, c, _ = no_tables()
    table = np.array(spans, np.int32).reshape(-1, 4)
    detail = Detail(file.source, "", file.path, (a, b, c, table), [])
    return Facts(detail.pack(), "", "", "", [""] * len(spans), table)


def _looks_like_cpp(source: bytes) -> bool:
    return any(word in source for word in (b"class ", b"namespace ", b"template<", b"template <", b"public:"))


def is_minified(text: str) -> bool:
    """Whether lines are longer than people write them."""
    if len(text) < 2_000:
        return False
    if len(text) / (text.count("\n") + 1) > _MINIFIED_MEAN:
        return True
    return len(text) > 20_000 and _has_line_over(text, max(_MINIFIED_LINE, len(text) // 2))


def _has_line_over(text: str, most: int) -> bool:
    at = 0
    while len(text) - at > most:
        at = text.rfind("\n", at, at + most + 1) + 1
        if not at:
            return True
    return False
