"""A crafted index with valid checksums and manifest raises typed errors at worst."""

import os
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots import health, record
from sleuth.code.snapshots.record import FileRow
from sleuth.engine import Engine, open_code
from sleuth.errors import SleuthError
from sleuth.store import SegmentData
from sleuth.store.catalogue import manifest, segment_files, segments
from sleuth.store.disk.files import CODE, DOCUMENTS
from sleuth.types import Document
from tests.code.conftest import write
from tests.code.projects import SHOP
from tests.dense.strategies import HashEmbedder
from tests.faults.crafting import craft, craft_header, craft_keys
from tests.faults.trial import documents_of

CRAFTED = int(os.environ.get("SLEUTH_CRAFTED", "100")) // 20
"""Indexes crafted of each kind."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of documents with metadata and vectors; each leg has one segment in a file and one in the
    record.
    """
    path = tmp_path_factory.mktemp("documents") / "index"
    rows = documents_of(0)
    with (
        pytest.MonkeyPatch.context() as patch,
        Engine.open(path, create=True, embedder=HashEmbedder()) as engine,
    ):
        patch.setattr(manifest, "INLINE_BYTES", 0)
        engine.add(rows[:100])
        patch.setattr(manifest, "INLINE_BYTES", 1 << 20)
        engine.add(rows[100:])
        engine.delete(["d3", "d120"])
    return path


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a code index of three snapshots whose segments are files."""
    home = tmp_path_factory.mktemp("code")
    with pytest.MonkeyPatch.context() as patch, open_code(home / "index", create=True) as storage:
        patch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
        for n in range(3):
            write(home / "repo", dict(list(SHOP.items())[n::3]))
            index_path(storage, home / "repo")
    return home / "index"


def craft_segment(path: Path, names: Any, rng: random.Random) -> None:
    """Replace a segment by a crafted one with a name of its own that the manifest lists."""
    with closing(sqlite3.connect(path / names.record)) as connection, connection:
        rows = connection.execute(
            "SELECT name, leg, fingerprint, first, last, checksum, inline FROM segments ORDER BY leg, first"
        ).fetchall()
        name, leg, fingerprint, first, last, checksum, inline = rng.choice(rows)
        file = path / names.segments / f"{name}{segment_files.SUFFIX}"
        segment = segments.decode(
            name, file.read_bytes() if inline is None else inline, checksum, most_rows=lambda: 1 << 20
        )
        data, keys = SegmentData(segment.arrays, segment.meta), segment.keys
        kind = rng.random()
        if kind < 0.7:
            data = craft(data, rng)
        elif kind < 0.8:
            keys = craft_keys(keys, rng)
        encoded = segments.encode(leg, fingerprint, first, last, keys, segment.tie_ranks, data)
        if kind >= 0.8:
            encoded = craft_header(encoded, rng)
        content = b"".join(encoded.parts)
        if inline is None:
            file.with_name(f"{encoded.name}{segment_files.SUFFIX}").write_bytes(content)
        connection.execute(
            "UPDATE segments SET name = ?, bytes = ?, checksum = ?, inline = ? WHERE name = ?",
            (encoded.name, len(content), encoded.checksum, None if inline is None else content, name),
        )


def craft_code_row(path: Path, rng: random.Random) -> None:
    """Change the details of a file version, or the file list of a snapshot, with a valid checksum."""
    with closing(sqlite3.connect(path / CODE.record)) as connection, connection:
        if rng.random() < 0.7:
            rows = connection.execute(
                f"SELECT repository, detail, {record.FILE_COLUMNS} FROM files WHERE skip = ''"
            ).fetchall()
            repository, detail, *columns = rng.choice(rows)
            row = FileRow._make(columns)
            detail = change(detail, rng)
            for column in rng.sample(["lines", "chunks", "first_chunk", "size"], rng.choice([0, 0, 1])):
                value = rng.choice([0, 1, -1, 7, 1 << 31, 1 << 62])
                row = row._replace(**{column: value})  # type: ignore[arg-type]
            checksum = record.checksum_of((repository, *row), detail)
            connection.execute(
                "UPDATE files SET detail = ?, lines = ?, chunks = ?, first_chunk = ?, size = ?, checksum = ? "
                "WHERE key = ?",
                (detail, row.lines, row.chunks, row.first_chunk, row.size, checksum, row.key),
            )
        else:
            rows = connection.execute("SELECT repository, id, members FROM snapshots").fetchall()
            repository, id, members = rng.choice(rows)
            members = change(members, rng)
            connection.execute(
                "UPDATE snapshots SET members = ?, checksum = ? WHERE id = ?",
                (members, record.checksum_of((repository, id), members), id),
            )


def change(packed: bytes, rng: random.Random) -> bytes:
    """Change bytes of a value; in compressed ones, change the content."""
    try:
        content = zlib.decompress(packed)
    except zlib.error:
        content = packed
    if len(content) < 8 or rng.random() < 0.1:
        return rng.randbytes(rng.randrange(200))
    values = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(values) - 4)
        flipped = bytes([values[at] ^ 1 << rng.randrange(8)]) + values[at + 1 : at + 4]
        values[at : at + 4] = rng.choice(
            [bytes(4), b"\xff" * 4, b"\xff\xff\xff\x7f", rng.randbytes(4), flipped]
        )
    if rng.random() < 0.1:
        del values[rng.randrange(len(values)) :]
    return bytes(values) if content is packed else zlib.compress(bytes(values), 1)


def use_documents(path: Path) -> None:
    """Search, filter, explain, read, add, merge, check and repair; a failed step does not stop the next."""
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        steps: list[Callable[[], Any]] = [
            lambda: engine.retrieve("w0 w3 w80", 10, explain=True),
            lambda: engine.retrieve("w1", 200, filter="year>1950 kind:a"),
            lambda: engine.retrieve("w2 w5", 5, filter="tags:x", legs=["dense"], explain=True),
            lambda: engine.get("d7"), engine.documents, engine.metadata_keys,
            lambda: engine.facets("tags"), lambda: engine.count("kind:a*"), engine.status,
            lambda: engine.check(full=True),
            lambda: engine.add([Document("w0 w1 new", {"year": 2000}, id="new")]), engine.compact,
            engine.repair, lambda: engine.retrieve("w0 w3 w80", 10, filter="year>1950"),
        ]  # fmt: skip
        for step in steps:
            with suppress(SleuthError):
                step()


def use_code(path: Path) -> None:
    """Search, walk references, check, merge and repair; a failed step does not stop the next."""
    with open_code(path) as storage:
        (repository,) = storage.repositories()
        search = partial(CodeRetriever(storage, None).retrieve, repo_id=repository.id, strategy="keyword")
        relations = ["callers", "callees", "siblings", "implementations", "tests"]
        steps: list[Callable[[], Any]] = [
            lambda: search("where are cards charged", expand=relations),
            lambda: search("charge order", filters={"language": "python"}),
            lambda: health.check(storage, full=True), storage.merge,
            lambda: health.repair(storage), lambda: search("payment"),
        ]  # fmt: skip
        for step in steps:
            with suppress(SleuthError):
                step()


@pytest.mark.parametrize("kind", ["documents", "code", "rows of code"])
def test_crafted_index(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """An index with any contents raises a typed error or is used within its bounds."""
    sound: Path = request.getfixturevalue("documents" if kind == "documents" else "code")
    for i in range(CRAFTED):
        rng = random.Random(f"{kind} {i}")
        path = tmp_path / "index"
        shutil.copytree(sound, path)
        if kind == "rows of code":
            craft_code_row(path, rng)
        else:
            craft_segment(path, DOCUMENTS if kind == "documents" else CODE, rng)
        with suppress(SleuthError):
            (use_documents if kind == "documents" else use_code)(path)
        shutil.rmtree(path)


def test_a_crafted_index_is_read_where_it_is_sound(documents: Path, code: Path, tmp_path: Path) -> None:
    """Without a change, the same steps raise nothing and return hits."""
    shutil.copytree(documents, tmp_path / "documents")
    with Engine.open(tmp_path / "documents", embedder=HashEmbedder()) as engine:
        assert len(engine.retrieve("w0 w3 w80", 10, filter="year>1950")) == 10
        assert [finding for finding in engine.check(full=True) if finding.level == "error"] == []
    shutil.copytree(code, tmp_path / "code")
    with open_code(tmp_path / "code") as storage:
        (repository,) = storage.repositories()
        assert CodeRetriever(storage, None).retrieve("charge order", repository.id, strategy="keyword")
        assert [finding for finding in health.check(storage, full=True) if finding.level == "error"] == []
