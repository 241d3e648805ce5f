"""What is kept and searched of one source, as it travels between processes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from sleuth.code.parsing.chunks import cut_text
from sleuth.code.parsing.detail import Detail
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.parsing.parse import tables_of
from sleuth.code.parsing.tables import ChunkRow, Table, empty_tables


class SourceText(NamedTuple):
    """A text to analyse.

    Attributes:
        text: UTF-8.
        language: the one it is parsed as, "" for none.
    """

    path: str
    text: bytes
    language: str


class Facts(NamedTuple):
    """What was found in a source.

    Attributes:
        content: the text, compressed.
        packed: read by `Detail.read`.
        names: of definitions without attributes; `defines` has those too, `uses` has names that are used or imported.
        symbols: for each chunk, the qualified name of its own or its enclosing definition, or "".
        chunks: rows of `ChunkRow`, shape (n, 4).
        failure: why it was not parsed though it has a language; "" otherwise.
    """

    content: bytes
    packed: bytes
    names: str
    defines: str
    uses: str
    symbols: list[str]
    chunks: Table
    failure: str = ""


def facts_of(source: SourceText) -> Facts:
    """Return the facts of a source; of one without a language, its chunks."""
    if not source.language:
        return facts_of_text(source)
    tables = tables_of(source.text, source.language)
    detail = Detail(source.text, source.language, source.path, tables)
    names, chunks = detail.names, detail.chunk_table
    owners = chunks[:, ChunkRow._fields.index("symbol")].tolist()
    return Facts(
        zlib.compress(source.text, 1),
        detail.pack(),
        " ".join([name.name for name in names if name.kind != "attribute"]),
        " ".join(dict.fromkeys(name.name for name in names)),
        detail.used_names(),
        [names[at].qualified if at >= 0 else "" for at in owners],
        chunks,
    )


def facts_of_text(source: SourceText, failure: str = "") -> Facts:
    """Return the facts of a source that is not parsed: where its layout cuts it."""
    chunks = cut_text(LineIndex(source.text))
    detail = Detail(source.text, "", source.path, empty_tables()._replace(chunks=chunks))
    content = zlib.compress(source.text, 1)
    return Facts(content, detail.pack(), "", "", "", [""] * len(chunks), chunks, failure)


def pack_sources(sources: Sequence[SourceText]) -> tuple[dict[str, Any], bytes]:
    """Return sources as they cross a pipe: JSON, and bytes; read back by `unpack_sources`."""
    heads = [(source.path, source.language, len(source.text)) for source in sources]
    return {"sources": heads}, b"".join([source.text for source in sources])


def unpack_sources(head: Mapping[str, Any], body: bytes) -> list[SourceText]:
    """Return the sources that `pack_sources` was given."""
    sources = []
    start = 0
    for path, language, size in head["sources"]:
        sources.append(SourceText(path, body[start : start + size], language))
        start += size
    return sources


def pack_facts(batch: Sequence[Facts]) -> tuple[dict[str, Any], bytes]:
    """Return the facts of several sources as they cross a pipe: JSON, and bytes; read back by `unpack_facts`."""
    heads: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for facts in batch:
        table = facts.chunks.astype("<i4", copy=False).tobytes()
        heads.append({
            "names": facts.names, "defines": facts.defines, "uses": facts.uses, "symbols": facts.symbols,
            "failure": facts.failure, "sizes": [len(facts.content), len(facts.packed), len(table)],
        })  # fmt: skip
        parts += [facts.content, facts.packed, table]
    return {"facts": heads}, b"".join(parts)


def unpack_facts(head: Mapping[str, Any], body: bytes) -> list[Facts]:
    """Return the facts that `pack_facts` was given."""
    batch = []
    start = 0
    for item in head["facts"]:
        content, packed, end = list(accumulate(item["sizes"], initial=start))[1:]
        chunks = np.frombuffer(body[packed:end], "<i4").astype(np.int32, copy=False)
        names, defines, uses, symbols = (item[name] for name in ("names", "defines", "uses", "symbols"))
        table = chunks.reshape(-1, len(ChunkRow._fields))
        texts = body[start:content], body[content:packed]
        batch.append(Facts(*texts, names, defines, uses, symbols, table, item["failure"]))
        start = end
    return batch
