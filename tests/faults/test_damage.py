"""R7: damage to any file of an index is found by a full check; no answer is silently wrong, and nothing crashes."""

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth.engine import Engine, open_code
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import building
from sleuth.store.store import Store
from sleuth.types import Chunk, Document
from tests.faults.damaging import PAGE, Damage, Victim, extend, flip, garble, truncate, zero
from tests.faults.trial import rows
from tests.store.passages import put_passages
from tests.store.words import SumsLeg, contents, faults, put

ROUNDS = 6


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index with files and inline segments, tombstones, metadata and vectors."""
    path = tmp_path_factory.mktemp("sound") / "index"
    with Store.open(path, create=True, settings={"analyzer": "plain"}) as store:
        store.attach([SumsLeg("sums"), SumsLeg("other")])
        building_bytes, building.INLINE_BYTES = building.INLINE_BYTES, 2000
        try:
            with store.writer() as writer:
                names = [f"p{i}" for i in range(400)]
                put_passages(
                    writer,
                    names,
                    [f"passage {i} " * 30 for i in range(400)],
                    [f"{i:08x}" for i in range(400)],
                )
            with store.writer() as writer:
                chunk = Chunk("text", 0, 4, 1, 1, fields={"heading": "H"}, metadata={"k": 1})
                writer.put("x", "00", [chunk], title="T", metadata={"y": [1]})
                writer.put_embeddings("model", {f"{i:04x}": bytes(64) for i in range(40)})
                put(writer, "y", "one", "two")
                writer.delete(["p7", "p8"])
            store.wait()
        finally:
            building.INLINE_BYTES = building_bytes
        assert faults(store) == []
        assert len(list((path / "segments").iterdir())) == 3
        assert store.status().legs[0].segments == 2
        assert store.status().tombstones == 2
    return path


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


@pytest.mark.parametrize("damage", [flip, truncate, zero, extend])
@pytest.mark.parametrize("kind", ["segments/*", "record.sqlite", "version"])
def test_damage(sound: Path, tmp_path: Path, damage: Damage, kind: str) -> None:
    """A full check finds any damage, unless it changed no meaning; then the answers are equal."""
    rng = random.Random(f"{damage.__name__} {kind}")
    whole, _, none = outcome(sound)
    assert whole and not none
    missed = 0
    for _ in range(ROUNDS):
        path = tmp_path / "index"
        shutil.copytree(sound, path)
        file = rng.choice(sorted(path.glob(kind)))
        before = file.read_bytes()
        after = damage(Victim(before), rng)
        file.write_bytes(after)
        if after != before:
            texts, _, findings = outcome(path)
            if not findings:
                missed += 1
                assert kind == "record.sqlite" or file.name.startswith("passages"), f"{file.name}: not found"
                assert texts == whole, "a wrong answer, in silence"
            elif kind == "segments/*" and not file.name.startswith("passages"):
                assert texts == whole, "segments are rebuilt from passages"
            else:
                assert texts is None or texts.items() <= whole.items(), "a wrong answer after a repair"
        shutil.rmtree(path)
    assert missed < ROUNDS  # most of a small record is empty


@pytest.mark.parametrize("kind", ["segments/*", "segments", "record.sqlite"])
def test_removal(sound: Path, tmp_path: Path, kind: str) -> None:
    """A missing file or folder is found; a leg is rebuilt, passages and a record are not created again."""
    path = tmp_path / "index"
    shutil.copytree(sound, path)
    victim = sorted(path.glob(kind))[0]
    shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
    texts, repairs, findings = outcome(path)
    assert findings
    if kind != "record.sqlite":
        assert texts is not None
        assert len(texts) == (3 if victim.name == "segments" else 401)
        assert repairs
        assert outcome(path)[1:] == ([], [])


def test_swapped_segments(sound: Path, tmp_path: Path) -> None:
    """Two swapped segment files are found at opening, and rebuilt."""
    path = tmp_path / "index"
    shutil.copytree(sound, path)
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
def test_files_that_hold_nothing(sound: Path, tmp_path: Path, file: str) -> None:
    """Missing locks and shared memory of SQLite are created again."""
    path = tmp_path / "index"
    shutil.copytree(sound, path)
    (path / file).unlink(missing_ok=True)
    with Store.open(path) as store:
        assert store.attach([SumsLeg("sums"), SumsLeg("other")]) == []
        with store.writer() as writer:
            put(writer, "new", "one")
        assert faults(store) == []


def test_a_damaged_array_is_mended_by_repair(sound: Path, tmp_path: Path) -> None:
    """Damage inside an array, which opening does not read, is found by a full check and fixed by `repair`."""
    path = tmp_path / "index"
    shutil.copytree(sound, path)
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


def test_damaged_rows_are_removed_and_named(sound: Path, tmp_path: Path) -> None:
    """A document with a changed byte is found, named and removed by `repair`; adding it again restores it."""
    path = tmp_path / "index"
    shutil.copytree(sound, path)
    (file,) = (path / "segments").glob("passages-*")
    data = file.read_bytes()
    at = data.index(b"passage 300 passage 300")
    file.write_bytes(data[:at] + b"massage" + data[at + 7 :])
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


def test_damaged_cached_vectors(tmp_path: Path) -> None:
    """Damage among cached vectors never serves another vector; a check finds all that changes a row."""
    models, names = ("one", "two"), [f"{i:04x}" for i in range(150)]
    with Store.open(tmp_path / "sound", create=True, settings={}) as store:
        with store.writer() as writer:
            for model in models:
                writer.put_embeddings(model, {name: f"{model} {name}".encode() * 8 for name in names})
        store.compact()
    whole = (tmp_path / "sound" / "record.sqlite").read_bytes()
    places = [whole.index(f"{model} {name}".encode()) for model in models for name in names[::30]]
    changes = 0
    for seed in range(40):
        rng = random.Random(seed)
        start = rng.choice(places) // PAGE * PAGE
        path = Path(shutil.copytree(tmp_path / "sound", tmp_path / str(seed)))
        damaged = (
            whole[:start]
            + (flip, zero, garble)[seed % 3](Victim(whole[start : start + PAGE]), rng)
            + whole[start + PAGE :]
        )
        (path / "record.sqlite").write_bytes(damaged)
        with Store.open(path) as store:
            is_changed = rows(whole) != rows(damaged)
            changes += is_changed
            assert bool(faults(store)) == is_changed, seed
            with suppress(IndexDamagedError), store.reader() as snapshot:
                for model in models:
                    for name, vector in snapshot.embeddings(model, names).items():
                        assert vector == f"{model} {name}".encode() * 8
    assert changes
