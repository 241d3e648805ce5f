"""Makes the golden index of the present format: `python -m tests.store.golden.make`.

It is made once for each version of the format and never again: that later versions still read it is what it is for.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from sleuth.columns.leg import ColumnsLeg
from sleuth.lexical import LexicalLeg
from sleuth.lexical.search import LexicalSearcher
from sleuth.store import IndexSnapshot, LegRequest, text_hash
from sleuth.store.catalogue import manifest
from sleuth.store.legs.leg import Leg
from sleuth.store.record.layout import FORMAT
from sleuth.store.store import Store
from sleuth.types import Chunk
from tests.store.words import put_one, put_passages

HERE = Path(__file__).parent
NEWEST = HERE / f"format-{FORMAT}"
SUBJECTS = ["the river", "an old engine", "a careful reader", "the north wind", "my neighbour", "one segment"]
VERBS = ["carries", "finds", "remembers", "measures", "leaves", "follows"]
OBJECTS = ["small stones", "every page", "the first snow", "a heavy load", "no answer", "the longest road"]
QUERIES = ["river stones", "north wind snow", "naïve Straße", "漢字", "segment 17", "unheard"]


def legs() -> list[Leg]:
    return [LexicalLeg(), ColumnsLeg()]


def sentence(i: int) -> str:
    return f"{SUBJECTS[i % 6]} {VERBS[i // 6 % 6]} {OBJECTS[i // 36 % 6]} {i}"


def facts(snapshot: IndexSnapshot) -> dict[str, Any]:
    """Return all contents of the index: rows, documents, vectors, and the hits of some queries."""
    documents = list(snapshot.documents())
    rows = [row for document in documents for row in snapshot.chunks_of(document.id)]
    searcher = LexicalSearcher(LexicalLeg(), snapshot.segments("lexical"))
    hits_by_query = {query: searcher.pool(query, LegRequest(5)) for query in QUERIES}
    return {
        "version": snapshot.version,
        "files": list(snapshot.files(list(snapshot.file_names(""))).values()),
        "documents": [[d.id, d.source, d.title, d.content_hash, d.metadata] for d in documents],
        "rows": [[row.id, row.text, row.metadata, row.fields, row.start, row.end, row.page] for row in rows],
        "vectors": {key: value.hex() for key, value in snapshot.embeddings("model", ["00", "01", "02"]).items()},
        "hits": {
            query: [[row.id for row in snapshot.rows(hits.keys)], np.round(hits.scores.astype(float), 4).tolist()]
            for query, hits in hits_by_query.items()
        },
    }  # fmt: skip


def make(path: Path) -> None:
    """Make both kinds of segments, tombstones, vectors, and every column."""
    manifest.INLINE_BYTES = 8000
    with Store.open(path, create=True, settings={"golden": FORMAT}) as store:
        store.attach(legs())
        with store.writer() as writer:
            texts = [f"{sentence(i)}. {sentence(i + 7)}" for i in range(300)]
            put_passages(writer, [f"p{i}" for i in range(300)], texts, [text_hash(text) for text in texts])
        store.wait()
        with store.writer() as writer:
            chunks = [
                Chunk(
                    "naïve Straße\n", 0, 13, 1, 2, page=1, fields={"heading": "A > B"}, metadata={"k": [1]}
                ),
                Chunk("漢字 \U0001f600", 13, 17, 2, 2, page=2),
            ]
            more = {"year": 2020, "nested": {"x": None}}
            put_one(writer, "ü#1", "00ff", chunks, metadata=more, source="s/ü", title="T")
            put_one(writer, "empty", "01", [])
            writer.note_file("s/ü", documents=1, own_ids=1, size=20, version="7", reading="r", skips="[]")
            writer.note_file("s", options="{}")
            writer.put_embeddings("model", {"00": b"\0\1", "01": b"\2"})
            writer.delete(["p5", "p17"])
        store.wait()
    for name in ("writer.lock", "writer.queue", ".gitignore"):  # the last one would keep the index out of git
        (path / name).unlink()


if __name__ == "__main__":
    shutil.rmtree(NEWEST, ignore_errors=True)
    make(NEWEST / "index")
    with Store.open(NEWEST / "index") as made:
        made.attach(legs())
        with made.reader() as snapshot:
            text = json.dumps(facts(snapshot), ensure_ascii=False, indent=0, sort_keys=True)
    (NEWEST / "expected.json").write_text(text + "\n", encoding="utf8")
