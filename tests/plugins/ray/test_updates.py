"""Bringing a published index up to date costs what changed, and gives what indexing on one machine gives."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Engine
from sleuth.cluster import versions
from sleuth.cluster.storage import objects
from sleuth.ingest import IndexReport, ReadOptions, rows_below
from sleuth.plugins.ray import index_on_ray
from sleuth.plugins.ray.builder import BuildReport
from sleuth.store import KnownFile
from tests.commands import python
from tests.plugins.ray.conftest import ranked

pytest.importorskip("obstore", reason="obstore is not installed")

SETTINGS = {"embedder": ""}
WORDS = [f"word{i}" for i in range(500)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Markdown files, and files of rows with ids and without."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    rng = random.Random(5)
    for number in range(300):
        (folder / f"{number}.md").write_text(f"# Tide {number}\n\n{' '.join(rng.choices(WORDS, k=30))}\n")
    write_rows(folder / "rows.jsonl", [{"text": f"harbour {n}", "year": n} for n in range(20)])
    write_rows(folder / "named.jsonl", [{"key": f"k{n}", "text": f"gull {n}"} for n in range(20)])
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(map(json.dumps, rows)))


class Pair:
    """A published index, and one of this machine, over the same files."""

    def __init__(self, tmp_path: Path, corpus: Path) -> None:
        self.store, self.corpus = tmp_path / "published", corpus
        self.address = f"file://{self.store}"
        self.one = tmp_path / "elsewhere" / "one"
        self.options = ReadOptions(id_field="key")
        self.shards = 4

    def update(self, *, prune: bool = False, **options: Any) -> BuildReport:
        """Index the files in both, and compare all that can be seen of them."""
        report = self.published(prune=prune, **options)
        expected = self.compare(prune=prune)
        for name in ("added", "updated", "unchanged", "deleted", "pruned", "documents", "passages", "gone"):
            assert getattr(report, name) == getattr(expected, name), name
        return report

    def compare(self, *, prune: bool = False) -> IndexReport:
        """Index the files on this machine, and compare with what is published."""
        with (
            Engine.open(self.one, create=True, settings=SETTINGS) as one,
            Engine.open(self.address) as engine,
        ):
            report = one.index([self.corpus], prune=prune, options=self.options)
            assert contents(engine) == contents(one)
            for query in ("word7 word11", "harbour 7", "gull 3", "tide 7"):
                assert ranked(engine, query) == ranked(one, query)
        return report

    def published(self, **options: Any) -> BuildReport:
        return index_on_ray(
            self.address, [self.corpus], settings=SETTINGS, options=self.options, shards=self.shards,
            **options,
        )  # fmt: skip

    def objects(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.store.rglob("*") if path.is_file()}


def contents(engine: Engine) -> dict[str, Any]:
    documents = {
        document.id: (document.content_hash, document.chunks, document.metadata)
        for document in engine.documents()
    }
    with engine.store.reader() as snapshot:
        rows = (row._replace(options=None) for row in rows_below(snapshot, "/"))
        return {**documents, "files": sorted(row for row in rows if row != KnownFile(row.name))}


@pytest.fixture
def pair(tmp_path: Path, corpus: Path) -> Pair:
    return Pair(tmp_path, corpus)


def test_one_new_file_costs_that_file(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file is read, one shard is fetched and uploaded, others stay; nothing new makes no version and no upload."""
    first = pair.update()
    assert (first.version, first.added, first.read) == (1, 340, 302)
    before = pair.objects()
    again = pair.update()
    assert (again.version, again.read, again.unchanged) == (1, 0, 340)
    assert pair.objects() == before
    fetched: list[str] = []
    get = objects.ObjectFolder.get

    def counted(folder: objects.ObjectFolder, name: str) -> bytes:
        fetched.append(name)
        return get(folder, name)

    monkeypatch.setattr(objects.ObjectFolder, "get", counted)
    (pair.corpus / "new.md").write_text("# Newcomer\n\nA new file says hello.\n")
    report = pair.published()
    assert (report.version, report.added, report.unchanged, report.read) == (2, 1, 340, 1)
    new, old = versions(pair.address)
    folders = [part.folder for part, other in zip(new.parts, old.parts, strict=True) if part != other]
    assert len(folders) == 1
    files = [file for part in old.parts if part.folder not in folders for file in part.files]
    others = {digest for file in files for digest in file.blocks}
    assert not others.intersection(name.rpartition("/")[2] for name in fetched)
    uploaded = sum(size for name, size in pair.objects().items() if name not in before)
    assert uploaded < sum(before.values()) / 3
    pair.compare()


def test_changes_of_all_kinds_equal_those_of_one_machine(pair: Pair) -> None:
    """Files that change, lose rows, are touched, hold no text any more or are gone, with and without pruning."""
    pair.update()
    (pair.corpus / "0.md").write_text("The moon is gone.")
    os.utime(pair.corpus / "1.md", ns=(1, 1))
    write_rows(pair.corpus / "rows.jsonl", [{"text": f"harbour {n}", "year": n} for n in range(0, 20, 2)])
    rows = [{"key": f"k{n}", "text": f"gull {n}!"} for n in range(5, 15)]
    write_rows(pair.corpus / "named.jsonl", rows)
    (pair.corpus / "2.md").write_bytes(b"")
    (pair.corpus / "3.md").unlink()
    report = pair.update()
    assert (report.version, report.updated, report.deleted, report.gone, report.read) == (2, 20, 21, 1, 5)
    report = pair.update(prune=True)
    assert (report.version, report.pruned) == (3, 1)
    assert pair.update(prune=True).version == 3


def test_a_row_that_moves_to_another_file_stays(pair: Pair) -> None:
    """The id of a row that one file loses and another one gains is in the index once, whichever is read first."""
    pair.update()
    for name, rows in (("a.jsonl", range(5)), ("z.jsonl", range(5, 10))):
        write_rows(pair.corpus / name, [{"key": f"k{n}", "text": f"gull {n}"} for n in rows])
    write_rows(pair.corpus / "named.jsonl", [{"key": f"k{n}", "text": f"gull {n}"} for n in range(10, 20)])
    pair.published()
    with Engine.open(pair.address) as engine:
        assert len(engine.get("k3")) == len(engine.get("k7")) == len(engine.get("k12")) == 1
        assert engine.count().documents == 340


def test_other_options_read_files_again(pair: Pair) -> None:
    """Rows are read again when other fields are their text; files of prose are not."""
    pair.update()
    pair.options = ReadOptions(id_field="key", metadata_fields=["year"])
    report = pair.update()
    assert (report.read, report.version) == (2, 2)
    assert pair.update().read == 0


def test_a_folder_that_is_gone_is_refused_unless_pruned(pair: Pair) -> None:
    """A missing root is an error that names the option; with it, its documents are deleted."""
    pair.update()
    pair.corpus.rename(pair.corpus.with_name("other"))
    with pytest.raises(ArgumentError, match="--prune"):
        pair.published()
    assert pair.published(prune=True).documents == 0


KILL = """
import os, sys
from sleuth.cluster.storage import ObjectFolder
from sleuth.plugins.ray import index_on_ray
from sleuth.ingest import ReadOptions
put, left = ObjectFolder.put, int(sys.argv[3])
def killing(folder, name, data):
    global left
    left -= not name.startswith("probes/")
    if left < 0:
        os.kill(os.getpid(), 9)
    return put(folder, name, data)
ObjectFolder.put = killing
index_on_ray(sys.argv[1], [sys.argv[2]], settings={"embedder": ""}, options=ReadOptions(id_field="key"), shards=4)
"""


@pytest.mark.parametrize("puts", [0, 3, 20])
def test_a_kill_during_publishing_loses_nothing(pair: Pair, puts: int) -> None:
    """After a kill at any upload the old version answers, and the same command again completes the new one."""
    pair.update()
    for number in range(0, 300, 40):
        (pair.corpus / f"{number}.md").write_text(f"The moon {number} is new.")
    (pair.corpus / "rows.jsonl").unlink()
    result = python(KILL, pair.address, pair.corpus, puts)
    assert result.returncode in (-9, 0), result.stderr
    assert versions(pair.address)[0].number == (2 if result.returncode == 0 else 1)
    with Engine.open(pair.address) as engine:
        assert [finding for finding in engine.check(full=True) if finding.level != "ok"] == []
    pair.published()
    pair.compare()
    assert pair.published().version == 2


def test_a_time_alone_is_published(pair: Pair) -> None:
    """A file of rows with another time and the same rows is read once more, and not by the run after that."""
    pair.update()
    os.utime(pair.corpus / "rows.jsonl", ns=(10**18, 10**18))
    assert pair.update().read == 1
    assert pair.update().read == 0
