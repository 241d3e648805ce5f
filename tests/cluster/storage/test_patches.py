"""Of a record that changed in place, only pages that changed are uploaded and fetched."""

import io
import random
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth import Document, Engine
from sleuth.cluster import Cache, fetch, prune, publish, versions
from sleuth.cluster.storage import patches, publishing
from sleuth.errors import IndexDamagedError
from tests.cluster.conftest import open_published
from tests.examples import examples

pytest.importorskip("obstore", reason="obstore is not installed")


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 5), st.integers(0, 5))
def test_a_patch_turns_the_old_file_into_the_new_one(seed: int, old: int, new: int) -> None:
    """Whatever pages change, and whether the file grows or shrinks."""
    rng = random.Random(seed)
    before = rng.randbytes(old * patches.PAGE)
    now = bytearray(
        (before + rng.randbytes(5 * patches.PAGE))[: max(0, new * patches.PAGE - rng.choice([0, 0, 7]))]
    )
    for place in range(0, len(now), patches.PAGE):
        if rng.random() < 0.3:
            now[place] ^= 1
    pages = patches.changed_pages(patches.page_hashes(before), patches.page_hashes(bytes(now))).tolist()
    patch = patches.encode_patch(io.BytesIO(now), len(now), pages)
    file = io.BytesIO(before)
    patches.apply_patch(patch, file)
    assert file.getvalue() == now
    with pytest.raises(ValueError, match="as many pages as it says"):
        patches.apply_patch(patch + b"?", file)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    rng = random.Random(3)
    with Engine.open(tmp_path / "index", create=True, settings={"embedder": ""}) as engine:
        engine.add(Document(" ".join(rng.choices(WORDS, k=60)), id=f"d{i}") for i in range(6000))
    return tmp_path / "index"


WORDS = [f"word{i}" for i in range(3000)]


def add(index: Path, number: int) -> None:
    with Engine.open(index) as engine:
        engine.add([Document(f"newcomer {number}", id=f"new{number}")])


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_one_document_costs_few_pages(index: Path, tmp_path: Path, address: str) -> None:
    """Publishing one more document uploads a fifth of the index at most; every version is right."""
    store = tmp_path / "published"
    first = publish(index, address)
    patched = 0
    for number in range(6):
        before = size_of(store)
        add(index, number)
        manifest = publish(index, address)
        assert size_of(store) - before < first.size / 5
        record = manifest.parts[0].files[0]
        assert len(record.patches) <= 3
        patched += bool(record.patches)
    assert patched
    for version in (1, 4, 7):
        with Engine.open(f"{address}@{version}") as engine:
            assert engine.count().documents == 6000 + version - 1
            assert [item.level for item in engine.check(full=True) if item.level != "ok"] == []
    fetch(address, tmp_path / "copy")
    with Engine.open(tmp_path / "copy") as copy, Engine.open(index) as original:
        assert copy.repairs == ()
        for query in ("newcomer 5", "word7 word12"):
            ours, theirs = copy.retrieve(query, 20), original.retrieve(query, 20)
            assert [(item.id, item.score) for item in ours] == [(item.id, item.score) for item in theirs]
    assert publish(tmp_path / "copy", address).number == 7


def test_large_changes_are_blocks_again(index: Path, address: str) -> None:
    """Where a quarter of the record has changed, it is uploaded as blocks without patches."""
    publish(index, address)
    with Engine.open(index) as engine:
        engine.delete([f"d{i}" for i in range(0, 6000, 2)])
    assert publish(index, address).parts[0].files[0].patches == ()
    with Engine.open(address) as engine:
        assert engine.count().documents == 3000


def test_a_cache_with_the_version_before_fetches_pages_only(
    index: Path, tmp_path: Path, address: str
) -> None:
    """The blocks of the record are not asked for again."""
    manifest = publish(index, address)
    cache = Cache(tmp_path / "cache")
    with open_published(address, cache) as engine:
        assert engine.count().documents == 6000
    add(index, 1)
    assert publish(index, address).number == 2
    for digest in manifest.parts[0].files[0].blocks:
        (tmp_path / "published" / "objects" / digest[:2] / digest).unlink()
    with open_published(address, cache) as engine:
        assert engine.count().documents == 6001
        assert engine.retrieve("newcomer")[0].id == "new1#0"


def test_objects_of_patched_versions_outlive_pruning(index: Path, address: str) -> None:
    """Blocks of a version that is gone stay where a newer version patches them."""
    publish(index, address)
    for number in range(3):
        add(index, number)
        publish(index, address)
    prune(address, keep=1, grace=timedelta(0))
    assert [manifest.number for manifest in versions(address)] == [4]
    with Engine.open(address) as engine:
        assert engine.count().documents == 6003


def test_a_damaged_patch_is_named(index: Path, tmp_path: Path, address: str) -> None:
    """A version whose patch is damaged does not open; the error names the object."""
    publish(index, address)
    add(index, 1)
    (patch,) = publish(index, address).parts[0].files[0].patches
    object_file = tmp_path / "published" / "objects" / patch.digest[:2] / patch.digest
    object_file.write_bytes(object_file.read_bytes()[:-1] + b"?")
    with pytest.raises(IndexDamagedError, match=f"{patch.digest}, a part of record.sqlite, is damaged"):
        Engine.open(address)


def test_files_of_many_blocks_are_whole(index: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of more blocks than are uploaded at once comes back as it was, patched or not."""
    monkeypatch.setattr(publishing, "BLOCK", 2 * patches.PAGE)
    blocks = publish(index, address).parts[0].files[0].blocks
    assert len(blocks) > 20
    add(index, 1)
    assert len(publish(index, address).parts[0].files[0].patches) == 1
    for version, count in ((1, 6000), (2, 6001)):
        with Engine.open(f"{address}@{version}") as engine:
            assert engine.count().documents == count
            assert [item for item in engine.check(full=True) if item.level != "ok"] == []
