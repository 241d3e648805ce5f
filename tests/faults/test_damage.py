"""R7: damage to any file of an index is found by a full check; no answer is silently wrong, and nothing crashes."""

import shutil
from pathlib import Path

import pytest

from sleuth.engine import Engine, open_code
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import manifest
from sleuth.store.passages.records import coded
from sleuth.store.store import Store
from sleuth.types import Chunk, Document
from tests.store.words import SumsLeg, add, contents, faults, put, put_one, put_passages


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index with files and inline segments, tombstones, metadata and vectors."""
    path = tmp_path_factory.mktemp("sound") / "index"
    with Store.open(path, create=True, settings={"analyzer": "plain"}) as store:
        store.attach([SumsLeg("sums"), SumsLeg("other")])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(manifest, "INLINE_BYTES", 2000)
            with store.writer() as writer:
                texts, hashes = zip(*((f"passage {i} " * 30, f"{i:08x}") for i in range(400)), strict=True)
                put_passages(writer, [f"p{i}" for i in range(400)], texts, hashes)
            with store.writer() as writer:
                chunk = Chunk("text", 0, 4, 1, 1, fields={"heading": "H"}, metadata={"k": 1})
                put_one(writer, "x", "00", [chunk], title="T", metadata={"y": [1]})
                writer.put_embeddings("model", {f"{i:04x}": bytes(64) for i in range(40)})
                put(writer, "y", "one", "two")
                writer.delete(["p7", "p8"])
            store.wait()
        assert faults(store) == []
        assert len(list((path / "segments").iterdir())) == 3
        assert store.status().legs[0].segments == 2
        assert store.status().tombstones == 2
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(sound, tmp_path / "index"))


def outcome(path: Path) -> tuple[dict[str, str] | None, list[str], list[str]]:
    """Return the answers of the index (None for a typed error), the repairs at opening, and the findings of a full
    check.
    """
    try:
        store = Store.open(path)
    except StoreError as error:
        return None, [], [str(error)]
    with store:
        findings = faults(store)
        try:
            repairs = [repair.why for repair in store.attach([SumsLeg("sums"), SumsLeg("other")])]
            repairs += [repair.why for repair in store.repair()] if findings else []
            with store.reader() as snapshot:
                texts = contents(snapshot)
                assert contents(snapshot, "other") == texts
        except (StoreError, AssertionError) as error:
            return None, [], [*findings, *([str(error)] if isinstance(error, StoreError) else [])]
    return texts, repairs, findings


@pytest.mark.parametrize("kind", ["segments/*", "segments", "record.sqlite"])
def test_removal(path: Path, kind: str) -> None:
    """A missing file or folder is found; a leg is rebuilt, passages and a record are not created again."""
    victim = sorted(path.glob(kind))[0]
    shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
    texts, repairs, findings = outcome(path)
    assert findings
    if kind != "record.sqlite":
        assert texts is not None
        assert len(texts) == (3 if victim.name == "segments" else 401)
        assert repairs
        assert outcome(path)[1:] == ([], [])


def test_swapped_segments(path: Path) -> None:
    """Two swapped segment files are found at opening, and rebuilt."""
    one, two = (next((path / "segments").glob(f"{leg}-*")) for leg in ("other", "sums"))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    texts, repairs, findings = outcome(path)
    assert len(findings) >= 2
    assert len(repairs) == 2
    assert texts is not None
    assert outcome(path)[1:] == ([], [])


@pytest.mark.parametrize("file", ["writer.lock", "writer.queue", "record.sqlite-shm"])
def test_files_that_hold_nothing(path: Path, file: str) -> None:
    """Missing locks and shared memory of SQLite are created again."""
    (path / file).unlink(missing_ok=True)
    with Store.open(path) as store:
        assert store.attach([SumsLeg("sums"), SumsLeg("other")]) == []
        add(store, "new", "one")
        assert faults(store) == []


def test_a_damaged_array_is_mended_by_repair(path: Path) -> None:
    """Damage inside an array, which opening does not read, is found by a full check and fixed by `repair`."""
    file = sorted((path / "segments").glob("sums*"))[0]
    data = bytearray(file.read_bytes())
    data[-5] ^= 4
    file.write_bytes(data)
    with Store.open(path) as store:
        assert store.attach([SumsLeg("sums"), SumsLeg("other")]) == []
        assert any("sums not as written" in fault for fault in faults(store))
        assert "sums not as written" in " ".join(repair.why for repair in store.repair())
        assert faults(store) == []
        with store.reader() as snapshot:
            assert contents(snapshot) == contents(snapshot, "other")


def test_damaged_rows_are_removed_and_named(path: Path) -> None:
    """A document with a changed byte is found, named and removed by `repair`; adding it again restores it."""
    (file,) = (path / "segments").glob("passages-*")
    data = file.read_bytes()
    at = data.index(coded(b"passage 300 " * 30))
    file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    with Store.open(path) as store:
        store.attach([SumsLeg("sums"), SumsLeg("other")])
        assert any("1 documents are not as they were written: 'p300'" in fault for fault in faults(store))
        assert "p300" in [repair.what for repair in store.repair()]
        assert faults(store) == []
        with store.writer() as writer:
            assert put_passages(writer, ["p300"], ["passage"], ["00"]) == 1
        with store.reader() as snapshot:
            assert len(contents(snapshot)) == 401
        assert faults(store) == []


def test_a_schema_that_is_not_text(tmp_path: Path) -> None:
    """A damaged schema that SQLite quotes in its message is a typed error, though the message is not UTF-8."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add([Document("text", id="a")])
    with open_code(tmp_path / "index", create=True):
        pass
    for name, opening in (("record.sqlite", Engine.open), ("code.db", open_code)):
        file = tmp_path / "index" / name
        whole = file.read_bytes()
        assert b"CREATE TABLE" in whole
        file.write_bytes(whole.replace(b"CREATE TABLE", b"CREATE T\xe2BLE"))
        with pytest.raises(IndexDamagedError):
            opening(tmp_path / "index")
        file.write_bytes(whole)
