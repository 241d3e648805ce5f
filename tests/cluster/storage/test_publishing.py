"""Indexes are published to S3 and to a folder, and opened from there."""

import hashlib
import json
import multiprocessing
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine, StoreError, open_code, platform
from sleuth.__main__ import main
from sleuth.cluster import Cache, fetch, prune, publish, versions
from sleuth.cluster.storage import objects as storage
from sleuth.cluster.storage import publishing
from sleuth.cluster.storage.publishing import PublishProgress
from sleuth.errors import IndexDamagedError, IndexNotFoundError, StorageError
from tests.cluster.conftest import documents, open_published, twins
from tests.commands import sleuth

SETTINGS = {"embedder": ""}
ADDRESS = "s3://indexes/docs"


def signed(body: bytes) -> bytes:
    """Return the content of a manifest with this body and the right checksum."""
    return hashlib.blake2b(body, digest_size=20).hexdigest().encode() + b"\n" + body


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache of this test."""
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with Engine.open(tmp_path / "index", create=True, settings=SETTINGS) as engine:
        engine.add(documents(40))
    return tmp_path / "index"


def ranking(engine: Engine) -> list[dict[str, Any]]:
    return [item.to_dict() for item in engine.retrieve("tide number 7", 5, filter="n<30", explain=True)]


@pytest.mark.parametrize("address", [ADDRESS, "file://{}/published"])
@pytest.mark.usefixtures("s3")
def test_a_published_index_answers_as_the_index_itself(index: Path, tmp_path: Path, address: str) -> None:
    """Rankings, status and listings are equal; the published index is read-only."""
    address = address.format(tmp_path)
    manifest = publish(index, address)
    assert (manifest.number, manifest.documents, manifest.shards) == (1, 40, 0)
    with Engine.open(index) as original, Engine.open(address) as published:
        assert ranking(published) == ranking(original)
        assert published.count() == original.count()
        assert published.documents() == original.documents()
        assert published.repairs == ()
        assert [finding for finding in published.check(full=True) if finding.level != "ok"] == []
        for change in (lambda: published.add(documents(1)), lambda: published.delete(["d1"])):
            with pytest.raises(StoreError, match="read-only"):
                change()
    with pytest.raises(StoreError, match="read-only"):
        Engine.open(address, create=True)
    with pytest.raises(ArgumentError, match="`sleuth cluster fetch`"):  # in place of a folder of that name
        open_code(Path(address), create=True)


@pytest.mark.usefixtures("s3")
def test_shards_are_published_and_rank_as_one(tmp_path: Path) -> None:
    """A published sharded index opens with all of its shards."""
    with twins(tmp_path, documents(30), settings=SETTINGS) as (one, many):
        assert publish(many.path, ADDRESS).shards == 3
        with Engine.open(ADDRESS) as published:
            assert published.status()["shards"] == 3
            assert ranking(published) == ranking(one)


@pytest.mark.usefixtures("s3")
def test_versions_are_listed_pinned_and_pruned(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each publish adds a version, an address pins one, and pruning keeps the newest with their objects."""
    publish(index, ADDRESS)
    with Engine.open(index) as engine:
        engine.delete(["d0"])
        engine.add([Document("moon", id="m")])
    publish(index, ADDRESS)
    assert [(manifest.number, manifest.documents) for manifest in versions(ADDRESS)] == [(2, 40), (1, 40)]
    with Engine.open(f"{ADDRESS}@1") as first, Engine.open(ADDRESS) as newest:
        assert (len(first.get("d0")), len(newest.get("d0"))) == (1, 0)
        assert (len(first.retrieve("moon")), len(newest.retrieve("moon"))) == (0, 1)
    with pytest.raises(IndexNotFoundError, match=r"has no version 9; versions: 1, 2"):
        Engine.open(f"{ADDRESS}@9")
    assert prune(ADDRESS, keep=1).objects == 0  # they are young
    assert [manifest.number for manifest in versions(ADDRESS)] == [2]
    with Engine.open(index) as engine:
        engine.add([Document("sun", id="s")])
    assert publish(index, ADDRESS).number == 3
    assert prune(ADDRESS, keep=1, grace=timedelta(0)).objects > 0
    lists = [[1, 2], [1, 2, 3]]  # made before that
    monkeypatch.setattr("sleuth.cluster.storage.versions.numbers", lambda _: lists.pop() if lists else [3])
    assert [manifest.number for manifest in versions(ADDRESS)] == [3]
    with Engine.open(ADDRESS) as newest:
        assert len(newest.retrieve("moon")) == 1


def test_only_what_changed_is_uploaded(index: Path, s3: Any) -> None:
    """Publishing again without a change uploads nothing, and makes no version."""
    uploads: list[int] = []
    publish(index, ADDRESS, progress=lambda now: uploads.append(now.uploaded))
    assert uploads[-1] > 0
    before = s3.list_objects_v2(Bucket="indexes")["Contents"]
    publish(index, ADDRESS, progress=lambda now: uploads.append(now.uploaded))
    assert uploads[-1] == 0
    assert s3.list_objects_v2(Bucket="indexes")["Contents"] == before


def test_what_is_pruned_during_publishing_is_uploaded_again(
    index: Path, tmp_path: Path, address: str
) -> None:
    """Objects that somebody deletes after their upload are there again before the version is committed."""
    deleted: list[Path] = []

    def delete_all(now: PublishProgress) -> None:
        files = [path for path in (tmp_path / "published" / "objects").rglob("*") if path.is_file()]
        for file in files if now.done == now.total else ():
            file.unlink()
            deleted.append(file)

    publish(index, address, progress=delete_all)
    assert deleted
    assert all(file.is_file() for file in deleted)
    assert _count(address) == 40


def test_young_objects_are_not_pruned(index: Path, tmp_path: Path) -> None:
    """Objects that no version names yet stay for the grace period: their version is being published."""
    objects = storage.ObjectFolder(f"file://{tmp_path}/published")
    publishing.upload_parts({"": index}, objects)
    assert prune(objects.url, keep=1, grace=timedelta(minutes=10)).objects == 0
    assert prune(objects.url, keep=1, grace=timedelta(0)).objects > 0


@pytest.mark.usefixtures("s3")
def test_racing_publishers_lose_no_version(tmp_path: Path) -> None:
    """Four threads that publish at once get four version numbers, and each version opens."""
    folders = [tmp_path / f"index {number}" for number in range(4)]
    for number, folder in enumerate(folders):
        with Engine.open(folder, create=True, settings=SETTINGS) as engine:
            engine.add(documents(number + 1))
    with ThreadPoolExecutor(4) as pool:
        numbers = pool.map(lambda each: publish(each, ADDRESS).number, folders)
    assert sorted(numbers) == [1, 2, 3, 4]
    assert [manifest.number for manifest in versions(ADDRESS)] == [4, 3, 2, 1]


def test_a_storage_that_ignores_put_if_absent_is_refused(index: Path, forgetful_s3: Any) -> None:
    """Publishing fails if the storage lets a second create of a name succeed."""
    with pytest.raises(StoreError, match="ignores put-if-absent"):
        publish(index, ADDRESS)
    assert "Contents" not in forgetful_s3.list_objects_v2(Bucket="indexes")


def test_missing_and_damaged_objects_are_named(index: Path, s3: Any, cache: Path) -> None:
    """A version with a missing or damaged object does not open; the error names the object."""
    manifest = publish(index, ADDRESS)
    digest = next(file.blocks[0] for part in manifest.parts for file in part.files)
    key = f"docs/objects/{digest[:2]}/{digest}"
    content = s3.get_object(Bucket="indexes", Key=key)["Body"].read()
    s3.put_object(Bucket="indexes", Key=key, Body=content[:-1] + b"?")
    with pytest.raises(IndexDamagedError, match=f"{digest}, a part of record.sqlite, is damaged"):
        Engine.open(ADDRESS)
    s3.delete_object(Bucket="indexes", Key=key)
    with pytest.raises(IndexDamagedError, match=f"{digest}, a part of record.sqlite, is missing"):
        fetch(ADDRESS, cache.parent / "copy")
    assert not (cache.parent / "copy").exists()
    s3.put_object(Bucket="indexes", Key=key, Body=content)
    assert _count(ADDRESS) == 40
    s3.put_object(Bucket="indexes", Key="docs/manifests/0000000001", Body=b"{}")
    with pytest.raises(IndexDamagedError, match="manifests/0000000001 is damaged"):
        Engine.open(ADDRESS)


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (["parts", 0, "files", 0, "path"], "../../outside", "parts.0.files.0.path"),
        (["parts", 0, "files", 0, "path"], "/outside", "parts.0.files.0.path"),
        (["parts", 0, "files", 0, "path"], "segments/../../outside.seg", "parts.0.files.0.path"),
        (["parts", 0, "files", 0, "size"], -1, "parts.0.files.0.size"),
        (["parts", 0, "files", 0, "blocks"], ["../../outside"], "parts.0.files.0.blocks.0"),
        (["parts", 0, "folder"], "../outside", "parts.0.folder"),
        (["parts", 0, "folder"], None, "parts.0.folder"),
        (["parts"], 7, "parts"),
        (["shards"], "many", "shards"),
    ],
)
def test_a_crafted_manifest_is_refused(
    index: Path, tmp_path: Path, place: list[Any], value: object, field: str
) -> None:
    """A manifest with a right checksum that names files outside of an index, or nothing sensible, writes nothing."""
    address = f"file://{tmp_path}/published"
    publish(index, address)
    manifest = tmp_path / "published" / "manifests" / "0000000001"
    values = json.loads(manifest.read_bytes().partition(b"\n")[2])
    target = values
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    manifest.write_bytes(signed(json.dumps(values).encode()))
    before = set(tmp_path.rglob("*"))
    for read in (lambda: fetch(address, tmp_path / "copy"), lambda: Engine.open(address)):
        with pytest.raises(IndexDamagedError, match=f"not as Sleuth writes it: {field}: "):
            read()
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"[" * 100_000])
def test_what_is_no_manifest_is_refused(index: Path, tmp_path: Path, address: str, body: bytes) -> None:
    """Content that is no object of JSON raises a typed error, whatever its checksum says."""
    publish(index, address)
    (tmp_path / "published" / "manifests" / "0000000001").write_bytes(signed(body))
    with pytest.raises(IndexDamagedError, match="is no manifest"):
        Engine.open(address)


def _count(address: str) -> int:
    with Engine.open(address) as engine:
        return engine.count().documents


def test_the_cache_is_shared_and_needs_the_storage_no_more(index: Path, s3: Any, cache: Path) -> None:
    """Two processes that open a version at once fetch it once; later ones read only the manifest."""
    manifest = publish(index, ADDRESS)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        assert pool.map(_count, [ADDRESS, ADDRESS]) == [40, 40]
    assert len(list((cache / "views").glob("*.lock"))) == 1
    for digest in manifest.objects():
        s3.delete_object(Bucket="indexes", Key=f"docs/objects/{digest[:2]}/{digest}")
    assert _count(ADDRESS) == 40


def test_a_version_can_be_open_several_times(index: Path, address: str) -> None:
    """A second opening of a version does not wait for the first to be closed, and both answer."""
    publish(index, address)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(Engine.open, [address] * 2, timeout=60)
    with first, second, Engine.open(address) as third:
        assert ranking(first) == ranking(second) == ranking(third) != []


@pytest.mark.usefixtures("s3")
def test_the_cache_is_bounded(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unused versions are evicted, an open one stays, and a version larger than the cache raises an error."""
    size = publish(index, ADDRESS).size
    with Engine.open(index) as engine:
        engine.add([Document("moon", id="m")])
    second = publish(index, ADDRESS).size
    cache = Cache(tmp_path / "small", limit=second + 1000)
    lock = platform.lock

    def lock_late(fd: int, **options: bool) -> None:
        """Lock a file that another process has just evicted."""
        monkeypatch.setattr(platform, "lock", lock)
        cache._evict(cache.limit, "")
        lock(fd, **options)

    with open_published(f"{ADDRESS}@1", cache), pytest.raises(StoreError, match="that are in use"):
        open_published(ADDRESS, cache)
    with open_published(ADDRESS, cache):
        assert cache.size() <= second + 1000
    monkeypatch.setattr(platform, "lock", lock_late)
    with open_published(ADDRESS, cache):
        assert len(list(cache.folder.glob("views/*.lock"))) == 1
    with pytest.raises(StoreError, match=f"SLEUTH_CACHE_BYTES must be at least {size}"):
        open_published(f"{ADDRESS}@1", Cache(tmp_path / "tiny", limit=10))


def test_what_a_killed_process_fetched_is_removed(index: Path, tmp_path: Path, address: str) -> None:
    """A part of a file that no process fetches any more leaves the cache with the next fetch that needs room."""
    size = publish(index, address).size
    cache = Cache(tmp_path / "small", limit=size + 1000)
    leftover = cache.folder / "files" / ".0123.4567.part"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(bytes(size))
    with open_published(address, cache) as engine:
        assert engine.count().documents == 40
    assert not leftover.exists()


@pytest.mark.usefixtures("s3")
def test_a_fetched_copy_can_be_changed(index: Path, tmp_path: Path) -> None:
    """`fetch` writes any published version into a folder that is a normal index."""
    publish(index, ADDRESS)
    fetch(f"{ADDRESS}@1", tmp_path / "copy")
    with Engine.open(tmp_path / "copy") as copy:
        assert copy.repairs == ()
        copy.add([Document("moon", id="m")])
        assert copy.count().documents == 41
    with pytest.raises(ArgumentError, match="folder must be new or empty"):
        fetch(ADDRESS, tmp_path / "copy")
    with pytest.raises(IndexNotFoundError, match="none: `sleuth cluster publish --index INDEX s3"):
        fetch("s3://indexes/none", tmp_path / "other")


@pytest.mark.parametrize("address", ["s3://", "ftp://a/b", "http://a/b", "s3://user@host/x", "docs"])
def test_addresses_are_checked(address: str) -> None:
    """An invalid address raises an error that lists the valid forms."""
    with pytest.raises(ArgumentError, match=f"path must be an index folder, got {ADDRESS}"):
        publish(Path(ADDRESS), f"{ADDRESS}2")
    with pytest.raises(ArgumentError, match="address must"):
        versions(address)


@pytest.mark.usefixtures("s3")
def test_the_command_line_publishes_searches_and_fetches(index: Path, tmp_path: Path) -> None:
    """`publish`, `versions` and `fetch` work; reading commands accept `--index s3://…`, writing ones refuse it."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return sleuth(*arguments, cwd=tmp_path)

    published = run("cluster", "publish", "--index", str(index), "--json", ADDRESS)
    assert json.loads(published.stdout)["address"] == f"{ADDRESS}@1", published.stderr
    assert json.loads(run("cluster", "versions", "--json", ADDRESS).stdout)[0]["documents"] == 40
    result = run("search", "--index", f"{ADDRESS}@1", "--json", "tide", "number", "7")
    assert len(json.loads(result.stdout)["items"]) == 10, result.stderr
    assert run("cluster", "fetch", ADDRESS, "copy").returncode == 0
    assert _count(str(tmp_path / "copy")) == 40


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    "command",
    [["status"], ["doctor"], ["show", "d7"], ["ask", "tide"], ["index", "delete", "d7"], ["index"],
     ["index", __file__], ["index", "synonyms", "--remove"]],
)  # fmt: skip
def test_every_verb_takes_an_address(
    index: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reading commands answer from a published index; writing ones say that it is read-only."""
    publish(index, ADDRESS)
    monkeypatch.setattr("sys.argv", ["sleuth", *command, "--index", ADDRESS])
    with pytest.raises(SystemExit) as leaving:
        main()
    printed = capsys.readouterr()
    writes = command[0] == "index"
    assert leaving.value.code in ((3,) if writes else (0, None)), printed
    assert (f"{ADDRESS} is read-only: change the index that was published" in printed.err) == writes
    assert command != ["status"] or f"index       {ADDRESS}\n" in printed.out


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("command", ["versions", "fetch", "publish", "search"])
def test_a_missing_bucket_is_said_plainly(index: Path, tmp_path: Path, command: str) -> None:
    """Every command names the bucket, and ends with the code of a service that fails."""
    address = "s3://absent/docs"
    more = {"fetch": ["copy"], "publish": ["--index", str(index)]}
    words = ["--index", address, "tide"] if command == "search" else [address, *more.get(command, [])]
    group = () if command == "search" else ("cluster",)
    result = sleuth(*group, command, *words, cwd=tmp_path)
    assert result.returncode == 5, result.stderr
    assert "there is no bucket s3://absent: create it" in result.stderr
    with pytest.raises(StorageError):
        versions(address)
