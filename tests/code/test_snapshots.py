"""Snapshots: indexing, history and maintenance."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.code.repository.listing import Past
from sleuth.code.repository.sources import source_at
from sleuth.code.search import signals
from sleuth.code.snapshots.diff import compare
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code
from sleuth.errors import ArgumentError, CodeError, IndexLockedError, IndexNotFoundError, UnknownSnapshotError
from tests.code.conftest import Git, opened, text_of, write
from tests.code.projects import SAMPLES, SHOP


def answers(storage: CodeStorage, id: str, query: str, at: str | None = None) -> list[tuple[str, float]]:
    hits = CodeRetriever(storage, None).retrieve(query, id, at, 20, "keyword")
    return [(hit.id, hit.score) for hit in hits]


def test_a_clean_worktree_is_its_commit(storage: CodeStorage, git: Git) -> None:
    """A clean worktree has the id of its commit, a changed one that of its content; branches and tags are names."""
    commit = git.commit({"a.py": "def a(): pass\n"})
    git("tag", "v1")
    report = index_path(storage, git.root)
    assert (report.snapshot, set(report.names)) == (commit, {"main", "v1"})
    write(git.root, {"a.py": "def b(): pass\n", "new.py": "x = 1\n"})
    changed = index_path(storage, git.root)
    assert changed.snapshot.startswith("content-")
    assert set(opened(storage, report.repository).by_path) == {"a.py", "new.py"}
    assert text_of(opened(storage, report.repository, "v1"), "a.py") == "def a(): pass\n"


def test_a_commit_is_read_without_touching_the_worktree(storage: CodeStorage, git: Git) -> None:
    """Branches, tags and abbreviated commits are read from git's objects."""
    first = git.commit({"a.py": "old = 1\n"})
    git.commit({"a.py": "new = 1\n", "b.py": "b = 2\n"})
    write(git.root, {"a.py": "dirty = 1\n"})
    before = git("status", "--porcelain")
    report = index_path(storage, git.root, revision=first[:10])
    assert text_of(opened(storage, report.repository), "a.py") == "old = 1\n"
    main = index_path(storage, git.root, revision="main")
    assert (main.files, main.added) == (2, 2)
    assert git("status", "--porcelain") == before
    with pytest.raises(CodeError, match="git branch"):
        index_path(storage, git.root, revision="no-such-branch")


def test_a_second_commit_costs_its_changed_files(storage: CodeStorage, git: Git) -> None:
    """Unchanged files are not parsed again; a known version costs nothing."""
    first = git.commit({f"m{i}.py": f"def f{i}(): pass\n" for i in range(20)})
    assert index_path(storage, git.root).added == 20
    git.commit({"m3.py": "def changed(): pass\n", "m20.py": "def f20(): pass\n"})
    assert index_path(storage, git.root).added == 2
    assert index_path(storage, git.root, revision=first).added == 0


def test_old_snapshots_answer_as_they_did(storage: CodeStorage, git: Git) -> None:
    """Every older snapshot gives the hits and scores that it gave as the newest."""
    then: dict[str, list[tuple[str, float]]] = {}
    repository = ""
    for step in range(8):
        files = (
            dict(SHOP)
            if not step
            else {f"shop/m{step}.py": f"def charge_order_{step}(order):\n    return {step}\n"}
        )
        commit = git.commit(files)  # type: ignore[arg-type]
        if step == 4:
            git("mv", "shop/ledger.py", "shop/book.py")
            git("rm", "-q", "shop/latest.py")
            commit = git.commit({})
        repository = index_path(storage, git.root).repository
        then[commit] = answers(storage, repository, "charge order ledger")
    storage.merge(whole=True)
    storage._snapshots.clear()
    for commit, expected in then.items():
        assert answers(storage, repository, "charge order ledger", commit) == expected
    assert len({tuple(hits) for hits in then.values()}) > 5


@pytest.mark.parametrize("seed", range(4))
def test_a_grown_index_scores_as_a_fresh_one(
    storage: CodeStorage, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """After many snapshots, hits, scores and order equal those of a fresh index."""
    monkeypatch.setattr(signals, "FILE_POOL", 7)
    monkeypatch.setattr(signals, "CHUNK_POOL", 9)
    monkeypatch.setattr(signals, "READ", 5)
    random = Random(seed)
    words = ["charge", "order", "ledger", "refund", "card"]

    def content() -> str:
        names = random.choices(words, k=random.randint(1, 3))
        return "".join(f"def {name}_{random.choice(words)}(x):\n    return x\n\n\n" for name in names)

    files = {
        f"{folder}/{random.choice(words)}{i}.py": content() for i in range(8) for folder in ("a", "b", "c")
    }
    names = random.sample(sorted(files), len(files))
    for start in range(0, len(names), 6):
        git.commit({name: files[name] for name in names[start : start + 6]})
        git.commit({name: content() for name in names[:start:5]})
        report = index_path(storage, git.root)
    if seed % 2:
        storage.merge(whole=True)
    with open_code(tmp_path / "fresh", create=True) as fresh:
        alone = index_path(fresh, git.root).repository
        for query in (
            "charge order",
            "order_card",
            "ledger",
            "refund the card of an order",
            "def charge_order(x)",
        ):
            assert answers(storage, report.repository, query) == answers(fresh, alone, query)


def test_several_repositories_are_apart(storage: CodeStorage, tmp_path: Path) -> None:
    """A query over one repository finds nothing of another."""
    write(tmp_path / "a", {"x.py": "def apples(): pass\n"})
    write(tmp_path / "b", {"x.py": "def pears(): pass\n"})
    a, b = index_path(storage, tmp_path / "a").repository, index_path(storage, tmp_path / "b").repository
    assert answers(storage, a, "apples")
    assert not answers(storage, b, "apples")
    assert [r.path for r in storage.repositories()] == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_diff_sees_renames(storage: CodeStorage, git: Git) -> None:
    """The difference of two snapshots has added, removed, changed and renamed files."""
    git.commit({"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
    id = index_path(storage, git.root).repository
    old = opened(storage, id)
    git("mv", "a.py", "z.py")
    git("rm", "-q", "b.py")
    git.commit({"c.py": "c = 2\n", "d.py": "d = 1\n"})
    index_path(storage, git.root)
    assert compare(old, opened(storage, id)).to_dict() == {
        "added": ["d.py"], "removed": ["b.py"], "changed": ["c.py"], "renamed": [("a.py", "z.py")],
    }  # fmt: skip


def test_prune_forgets(storage: CodeStorage, git: Git) -> None:
    """Pruning removes snapshots, and what only they have. Who has one open is told, and opens it anew later."""
    git.commit({"b.py": "def kept(): pass\n"})
    first = git.commit({"a.py": "SECRET_OLD = 1\n"})
    id = index_path(storage, git.root).repository
    with open_code(storage.path) as other:
        old = opened(other, id)
        git("reset", "-q", "--hard", "HEAD~1")
        second = git.commit({"a.py": "PUBLIC = 1\n"})
        index_path(storage, git.root)
        expected = answers(storage, id, "kept public")
        assert storage.prune(id, [second]) == 1
        assert answers(storage, id, "kept public") == expected
        with pytest.raises(UnknownSnapshotError):
            opened(storage, id, first)
        leaks = [
            p for p in storage.path.rglob("*") if p.is_file() and b"secret_old" in p.read_bytes().lower()
        ]
        assert leaks == []
        with pytest.raises(CodeError, match="pruned while it was read"):
            _ = old.file_words
        git("checkout", "-qb", "topic", first)
        index_path(storage, git.root)
        assert answers(other, id, "secret") == answers(storage, id, "secret")
        assert (old.info.names, opened(other, id).info.names) == (("main",), ("topic",))


def test_a_failed_run_leaves_the_last_snapshot(
    storage: CodeStorage, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed run is listed with its reason, and the previous snapshot stays current."""
    git.commit({"a.py": "a = 1\n"})
    report = index_path(storage, git.root)
    broken = git.commit({"b.py": "b = 1\n"})
    source = source_at(git.root, broken)

    def failing(files: object) -> object:
        raise OSError("disk gone")

    monkeypatch.setattr(source, "read", failing)
    with pytest.raises(OSError, match="disk gone"):
        index_source(storage, source)
    snapshots = {s.id: s for s in storage.snapshots(report.repository)}
    assert (snapshots[broken].status, snapshots[broken].error) == ("failed", "OSError: disk gone")
    assert opened(storage, report.repository).info.id == report.snapshot
    assert index_path(storage, git.root).snapshot == broken


def test_a_killed_run_leaves_the_last_snapshot(tmp_path: Path, git: Git) -> None:
    """A process that is killed while indexing leaves the previous snapshot current; the next run completes."""
    git.commit({"a.py": "a = 1\n"})
    index = tmp_path / "index"
    with open_code(index, create=True) as storage:
        done = index_path(storage, git.root)
    killed = git.commit({f"m{i}.py": "def f():\n" + "    x = 1\n" * 300 for i in range(400)})
    code = (
        "import sys\nfrom sleuth.code import index_path\nfrom sleuth.code.repository.sources import WorktreeSource\n"
        "from sleuth.engine import open_code\nread = WorktreeSource.read\n"
        "def read_some(source, files):\n"
        "    yield from read(source, files[:100])\n"
        "    print('reading', flush=True)\n"
        "    sys.stdin.read()\n"
        "WorktreeSource.read = read_some\n"
        f"index_path(open_code({str(index)!r}), {str(git.root)!r}, workers=1)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    with process, open_code(index) as storage:
        assert process.stdout is not None and process.stdout.readline() == b"reading\n"
        assert "indexing" in {s.status for s in storage.snapshots(done.repository)}
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert opened(storage, done.repository).info.id == done.snapshot
        report = index_path(storage, git.root, workers=1)
        assert report.snapshot == killed
        assert {s.status for s in storage.snapshots(done.repository)} == {"completed"}


def test_two_runs_take_turns(storage: CodeStorage, git: Git, tmp_path: Path) -> None:
    """A second run waits, then raises an error that names the holder of the lock."""
    git.commit({"a.py": "a = 1\n"})
    with storage.writing(), open_code(tmp_path / "index") as other, pytest.raises(IndexLockedError):
        index_path(other, git.root, timeout=0.05)


def test_a_clock_that_goes_back(storage: CodeStorage, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest snapshot is the one that was completed last, even if the clock went back."""
    git.commit({"a.py": "a = 1\n"})
    first = index_path(storage, git.root)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400)
    git.commit({"a.py": "a = 2\n"})
    second = index_path(storage, git.root)
    assert opened(storage, first.repository).info.id == second.snapshot
    git("checkout", "-q", first.snapshot)
    index_path(storage, git.root)
    assert opened(storage, first.repository).info.id == first.snapshot


def test_an_old_commit_does_not_become_the_newest_snapshot(storage: CodeStorage, git: Git) -> None:
    """Where no snapshot is named, a named commit answers only if the newest snapshot led to it."""
    first = git.commit({"a.py": "def first(): pass\n"})
    git("checkout", "-q", "-b", "side")
    git.commit({"side.py": "def side(): pass\n"})
    git("checkout", "-q", "main")
    second = git.commit({"a.py": "def second(): pass\n"})
    report = index_path(storage, git.root)
    retriever = CodeRetriever(storage, None)

    def answers() -> set[str]:
        hits = retriever.retrieve("def", report.repository, strategy="keyword")
        assert {hit.snapshot for hit in hits} == {opened(storage, report.repository).info.id}
        return {hit.symbol for hit in hits}

    for revision in (first, "side", "HEAD~1", second):
        index_path(storage, git.root, revision=revision)
        assert opened(storage, report.repository).info.id == second
        assert answers() == {"second"}
    assert opened(storage, report.repository, first).info.id == first
    third = git.commit({"a.py": "def third(): pass\n"})
    write(git.root, {"a.py": "def unsaved(): pass\n"})
    index_path(storage, git.root, revision=third)
    assert answers() == {"third"}
    index_path(storage, git.root)
    index_path(storage, git.root, revision=third)
    assert answers() == {"unsaved"}


def test_no_index_says_how_to_make_one(tmp_path: Path) -> None:
    """Opening a missing index raises an error with the command that creates it."""
    with pytest.raises(IndexNotFoundError, match="sleuth code index"):
        open_code(tmp_path / "nothing")


def test_odd_repositories(storage: CodeStorage, git: Git, tmp_path: Path) -> None:
    """Empty and bare repositories, detached heads and shallow clones are indexed, and submodules are reported."""
    write(git.root, {"a.py": "a = 1\n"})
    assert index_path(storage, git.root).snapshot.startswith("content-")
    first = git.commit({})
    second = git.commit({"b.py": "b = 1\n"})
    git("checkout", "-q", "--detach", first)
    assert index_path(storage, git.root).snapshot == first
    git("checkout", "-q", "main")
    git("clone", "-q", "--bare", str(git.root), str(tmp_path / "bare.git"))
    assert index_path(storage, tmp_path / "bare.git").snapshot == second
    git("clone", "-q", "--depth", "1", f"file://{git.root}", str(tmp_path / "shallow"))
    assert index_path(storage, tmp_path / "shallow").files == 2
    git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(tmp_path / "bare.git"), "inner")
    git.commit({})
    assert ("inner", "a submodule") in index_path(storage, git.root).skipped


def test_odd_files(storage: CodeStorage, git: Git) -> None:
    """Links, binaries, huge files, odd encodings and odd paths are skipped with a reason, or stored exactly."""
    (git.root / "huge.txt").touch()
    os.truncate(git.root / "huge.txt", 1 << 30)
    (git.root / "link.py").symlink_to("/etc/passwd")
    latin = "# caf\xe9\nname = 'x'\n".encode("latin-1")
    files = {"b.bin": b"\0\1\2" * 50, "l.py": latin, "dos.py": b"def d():\r\n    pass\r\n", "empty.py": b""}
    write(git.root, {**files, os.fsdecode(b"na\xffme.py"): b"odd_path = 1\n"})
    report = index_path(storage, git.root)
    assert dict(report.skipped) == {
        "huge.txt": "larger than 2000000 bytes", "link.py": "a link", "b.bin": "binary",
    }  # fmt: skip
    snapshot = opened(storage, report.repository)
    assert "odd_path" in text_of(snapshot, "na\\xffme.py")
    assert text_of(snapshot, "l.py").encode("latin-1") == latin
    assert snapshot.lines(snapshot.file("dos.py"), 1, 1) == "def d():\r"
    with pytest.raises(ArgumentError, match="binary"):
        text_of(snapshot, "b.bin")


def test_plain_folders_honour_gitignore(storage: CodeStorage, tmp_path: Path) -> None:
    """Outside git, hidden and ignored files and installed packages are skipped."""
    skipped = dict.fromkeys(("x.log", "build/b.py", "node_modules/c.js", ".hidden"), "x")
    write(tmp_path / "plain", {".gitignore": "*.log\nbuild/\n", "a.py": "a = 1\n", **skipped})
    report = index_path(storage, tmp_path / "plain")
    assert set(opened(storage, report.repository).by_path) == {"a.py"}
    with pytest.raises(ArgumentError, match="not in git"):
        index_path(storage, tmp_path / "plain", revision="main")
    with pytest.raises(ArgumentError, match="must be a folder"):
        index_path(storage, tmp_path / "plain" / "a.py")
    with pytest.raises(ArgumentError, match="workers must be"):
        index_path(storage, tmp_path / "plain", workers=0)


def test_files_that_did_not_change_are_not_read(storage: CodeStorage, tmp_path: Path) -> None:
    """Size and modification time stand for the content, unless the change was too recent."""
    root = tmp_path / "plain"
    write(root, {"old.py": "a = 1\n", "new.py": "b = 1\n"})
    os.utime(root / "old.py", ns=(10**18, 10**18))
    first = index_path(storage, root)
    (root / "old.py").write_text("c = 1\n")
    os.utime(root / "old.py", ns=(10**18, 10**18))
    (root / "new.py").write_text("d = 1\n")
    second = index_path(storage, root)
    snapshot = opened(storage, first.repository)
    assert (text_of(snapshot, "old.py"), text_of(snapshot, "new.py")) == ("a = 1\n", "d = 1\n")
    assert second.added == 1


def test_small_segments_answer_as_files_do(
    storage: CodeStorage, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small segment is stored in the record, a large one in a file; hits and scores are equal."""
    git.commit({**SHOP})
    first = index_path(storage, git.root)
    assert not list((storage.path / "code").glob("*.seg"))
    monkeypatch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
    with open_code(tmp_path / "files", create=True) as other:
        second = index_path(other, git.root)
        assert list((other.path / "code").glob("*.seg"))
        assert answers(other, second.repository, "charge") == answers(storage, first.repository, "charge")


WORKTREE: dict[str, str] = SAMPLES["worktree"]


@pytest.mark.parametrize("change", WORKTREE)
def test_what_git_vouches_for_is_as_on_disk(change: str, git: Git) -> None:
    """A listing from git's index has the same files as one that reads every file."""
    git.commit({"a.py": "a = 1\nb = 2\n", "b/c.py": "def c(): pass\n", "d.txt": "text\n"})
    git.script(WORKTREE[change])
    version, files, _ = source_at(git.root).listing()
    contents = {(file.path, file.hash) for file in files}
    trusting = source_at(git.root).listing(Past(known=contents))
    assert (trusting.version, trusting.files) == (version, files)
    on_disk = {p.relative_to(git.root).as_posix() for p in git.root.rglob("*") if ".git" not in p.parts}
    assert {f.path for f in files} <= on_disk | {"l\\xe4.py"}


def test_readers_never_wait_for_a_writer(storage: CodeStorage, git: Git) -> None:
    """While commits are indexed and merged, every answer comes from one snapshot."""
    git.commit({"a.py": "def apples(): pass\n"})
    first = index_path(storage, git.root)
    expected = answers(storage, first.repository, "apples", first.snapshot)
    results: list[object] = []
    stop = threading.Event()

    def read() -> None:
        with open_code(storage.path) as other:
            while not stop.is_set():
                other._snapshots.clear()
                try:
                    results.append(answers(other, first.repository, "apples", first.snapshot))
                except Exception as error:  # noqa: BLE001 - whatever is raised is what the test is about
                    results.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(30):
            git.commit({f"m{n}.py": f"def pears_{n}(): pass\n"})
            index_path(storage, git.root)
        storage.merge(whole=True)
    finally:
        stop.set()
        reader.join()
    assert len(results) > 3
    assert all(answer == expected for answer in results), [f for f in results if f != expected][:1]
