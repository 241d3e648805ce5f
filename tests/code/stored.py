"""Digests of everything that a code index stores: `python -m tests.code.stored` writes the expected ones."""

import hashlib
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sleuth.code import CodeRetriever, CodeStorage, Snapshot, index_path
from sleuth.code.parsing.languages import LANGUAGES
from sleuth.code.snapshots.shelf import Shelf
from sleuth.engine import open_code
from sleuth.lexical import FieldPostings
from sleuth.lexical.leg import field_arrays
from tests.code.conftest import write
from tests.code.projects import SHOP
from tests.code.test_parse import SOURCES

PLACE = Path(__file__).parent / "stored.json"
QUERIES = (
    "how is a card charged", "PaymentProcessor", "newest order", "Refund.add", "see shop/models.py", "f", "A.f",
    "def newest_order(orders):", "server listens on a port", "README payment docs", "class extends B",
)  # fmt: skip
ENDINGS = {
    "python": "py", "javascript": "js", "typescript": "ts", "tsx": "tsx", "go": "go", "rust": "rs", "c": "c",
    "cpp": "cpp", "ruby": "rb", "bash": "sh", "css": "css", "html": "html", "vue": "vue", "svelte": "svelte",
}  # fmt: skip


def grammars() -> dict[str, str]:
    """Return the versions of the grammars that the expected digests were made with."""
    names = {
        language.package.replace("_", "-") for language in LANGUAGES.values() if language.name in SOURCES
    }
    return {name: version(name) for name in sorted(names)}


def fixture(root: Path) -> None:
    """Return the shop, and sources of every language: complete, long, truncated, and with unusual names."""
    write(root, dict(SHOP))
    for language, (source, *_) in SOURCES.items():
        variants = (
            source, source * 60, source[: len(source) // 2], source.replace("f", "é"),
            source.replace("A", "self"),
        )  # fmt: skip
        write(root, {f"all/v{n}/{language}.{ENDINGS[language]}": text for n, text in enumerate(variants)})
    files = {
        "odd/latin.py": b"x = '\xe4'\n",
        "odd/empty.py": b"",
        "odd/binary.py": b"\0",
        "odd/mini.js": b"var a=1;" * 2000,
    }
    write(root, files)


def contents(storage: CodeStorage, snapshot: Snapshot) -> dict[str, Any]:
    """Return the plain value of each part of a stored snapshot."""
    out: dict[str, Any] = {"files": [list(row) for row in (*snapshot.files, *snapshot.skipped)]}
    details = [(row.path, snapshot.detail(row)) for row in snapshot.files]
    out["details"] = [storage.detail(row.key).hex() for row in snapshot.files]
    out["texts"] = [snapshot.source(row).hex() for row in snapshot.files]
    out["symbols"] = [
        (path, s.kind, s.qualified, s.start, s.line, s.end, s.parent, s.signature, s.doc, s.labels)
        for path, detail in details
        for s in detail.symbols
    ]
    out["references"] = [(path, *r) for path, detail in details for r in detail.references]
    out["imports"] = [(path, *i) for path, detail in details for i in detail.imports]
    out["chunks"] = [(path, *c) for path, detail in details for c in detail.chunks]
    out["postings"] = _postings(storage, storage.shelf)
    retriever = CodeRetriever(storage, None)
    out["ranking"] = [
        (query, hit.file_path, hit.render(), f"{hit.score:.5f}")
        for query in QUERIES
        for hit in retriever.retrieve(query, snapshot.repository.id, strategy="keyword")
    ]
    return out


def _postings(storage: CodeStorage, shelf: Shelf) -> list[Any]:
    rows = []
    with storage.reading() as connection:
        for leg in (storage.words.files, storage.words.chunks):
            for view in shelf.views(connection, leg, storage.live(connection, leg)):
                for field in sorted(set(view.meta) - {"n"}):
                    postings = FieldPostings(field_arrays(view.arrays, field))
                    terms = {
                        postings.term(i): [array.tolist() for array in postings.postings(i)]
                        for i in range(len(postings))
                    }
                    rows.append((leg.name, field, view.keys.tolist(), sorted(terms.items())))
    return rows


def digests() -> dict[str, str]:
    """Return the digests of a fresh index of the fixture."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        fixture(root)
        with open_code(Path(folder) / "index", create=True) as storage:
            repository = storage.repository(index_path(storage, root, workers=2).repository)
            parts = contents(storage, storage.open_snapshot(repository, storage.snapshot(repository)))
    return {
        part: hashlib.sha256(
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        ).hexdigest()
        for part, value in parts.items()
    }


if __name__ == "__main__":
    PLACE.write_text(json.dumps({"grammars": grammars(), "digests": digests()}, indent=1) + "\n")
