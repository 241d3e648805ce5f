"""What `sleuth cluster index` takes as a source: files, folders, and folders in object storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Engine
from sleuth.cluster import versions
from sleuth.cluster.storage import objects
from sleuth.errors import StorageError
from sleuth.ingest import ReadOptions
from sleuth.plugins.ray import index_on_ray
from sleuth.plugins.ray.builder import BuildReport
from tests.cluster.conftest import BUCKET
from tests.commands import sleuth

SOURCE = f"s3://{BUCKET}/corpus"


def put(s3: Any, name: str, text: str) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"corpus/{name}", Body=text.encode())


def update(tmp_path: Path, *sources: str, **options: Any) -> BuildReport:
    address = f"file://{tmp_path}/published"
    settings = {"embedder": ""}
    return index_on_ray(address, sources or (SOURCE,), shards=3, settings=settings, **options)


def texts(tmp_path: Path) -> dict[str, str]:
    with Engine.open(f"file://{tmp_path}/published") as engine:
        return {
            document.id.removeprefix(f"{SOURCE}/"): engine.get(document.id)[0].text
            for document in engine.documents()
        }


@pytest.fixture(autouse=True)
def nine_objects(s3: Any) -> None:
    """Put nine objects into the bucket."""
    for number in range(8):
        put(s3, f"deep/{number}.md", f"# Tide {number}\n\nThe moon pulls {number} times.\n")
    put(s3, "rows.jsonl", '{"text": "harbour one"}\n{"text": "harbour two"}\n')


def test_objects_are_read_and_fetched_again_when_they_change(
    s3: Any, downloads: list[str], tmp_path: Path
) -> None:
    """The ETag says what changed: equal content that is put again is not fetched; what is gone is pruned."""
    assert (update(tmp_path).added, len(downloads)) == (10, 9)
    assert texts(tmp_path)["deep/3.md"] == "# Tide 3\n\nThe moon pulls 3 times."
    downloads.clear()
    put(s3, "deep/1.md", "# Tide 1\n\nThe moon pulls 1 times.\n")
    report = update(tmp_path)
    assert (report.version, report.unchanged, downloads) == (1, 10, [])
    put(s3, "deep/2.md", "The moon is gone.")
    put(s3, "rows.jsonl", '{"text": "harbour one"}\n')
    s3.delete_object(Bucket=BUCKET, Key="corpus/deep/5.md")
    report = update(tmp_path)
    assert (report.version, report.updated, report.deleted, report.gone) == (2, 1, 1, 1)
    assert sorted(downloads) == ["2.md", "rows.jsonl"]
    report = update(tmp_path, prune=True)
    assert (report.pruned, report.documents) == (1, 8)
    assert "deep/5.md" not in texts(tmp_path)
    assert texts(tmp_path)["deep/2.md"] == "The moon is gone."
    assert update(tmp_path, prune=True).version == 3


def test_options_choose_objects(s3: Any, tmp_path: Path) -> None:
    """Globs, hidden names and sizes hold as for folders; one object is a source, and files come beside it."""
    put(s3, ".hidden/secret.md", "hidden")
    put(s3, "deep/big.md", "big " * 500)
    options = ReadOptions(include=["*.md"], exclude=["deep/3.md"], max_bytes=1000)
    report = update(tmp_path, options=options)
    assert report.documents == 7
    assert [skip.path for skip in report.skipped] == [f"{SOURCE}/deep/big.md"]
    (tmp_path / "local.md").write_text("A local file.")
    report = update(tmp_path, f"{SOURCE}/rows.jsonl", str(tmp_path / "local.md"))
    assert (report.added, report.documents) == (3, 10)


def test_an_object_that_changes_while_it_is_read_waits(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is skipped with its reason, and the next run reads it."""
    download = objects.ObjectFolder.download

    def changing(folder: objects.ObjectFolder, name: str, path: Path, etag: str) -> None:
        if name == "4.md":
            put(s3, "deep/4.md", "Something else.")
        download(folder, name, path, etag)

    with monkeypatch.context() as patch:
        patch.setattr(objects.ObjectFolder, "download", changing)
        report = update(tmp_path)
    assert [(skip.path, skip.kind) for skip in report.skipped] == [(f"{SOURCE}/deep/4.md", "vanished")]
    assert report.documents == 9
    assert update(tmp_path).added == 1
    assert texts(tmp_path)["deep/4.md"] == "Something else."


def test_a_source_that_cannot_be_listed_prunes_nothing(tmp_path: Path) -> None:
    """A missing bucket is an error, not an empty folder; other addresses are refused."""
    update(tmp_path)
    with pytest.raises(StorageError, match="there is no bucket s3://absent"):
        update(tmp_path, SOURCE, "s3://absent/corpus", prune=True)
    assert [manifest.documents for manifest in versions(f"file://{tmp_path}/published")] == [10]
    with pytest.raises(ArgumentError, match=r"got 'https://example.org/a'"):
        update(tmp_path, "https://example.org/a")
    result = sleuth("cluster", "index", f"file://{tmp_path}/published", "s3://absent/corpus", cwd=tmp_path)
    assert result.returncode == 5, result.stderr
