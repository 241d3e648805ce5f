"""Answers reflect the current worktree, or say how stale they are; what did not change is not read again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.code.repository import git as git_module
from sleuth.code.repository import process
from sleuth.code.repository.listing import Past, Recall
from sleuth.code.repository.sources import DiskSource, source_at
from sleuth.code.snapshots.indexing import past_of
from sleuth.code.snapshots.record import Repository
from sleuth.code.snapshots.refreshing import Current, current_snapshot, snapshot_at
from sleuth.engine.sources import open_sources
from sleuth.errors import UnknownSnapshotError
from tests.code.conftest import Git, answer, run, write
from tests.code.projects import SHOP


@pytest.fixture
def shop(storage: CodeStorage, git: Git) -> Repository:
    """Return the repository of a worktree whose only commit is indexed."""
    git.commit(dict(SHOP))
    return storage.repository(index_path(storage, git.root, workers=1).repository)


def test_a_change_is_indexed_before_the_answer(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """A new, a changed and a removed file show at once; a second look indexes nothing."""
    write(git.root, {"shop/new.py": "def brand_new(): ...\n", "shop/ledger.py": "def changed(): ...\n"})
    (git.root / "shop/latest.py").unlink()
    current = current_snapshot(storage, shop)
    assert (current.indexed, current.stale) == (2, 0)
    snapshot = storage.open_snapshot(shop, current.snapshot)
    assert {"brand_new", "changed"} <= {
        d.symbol.name for n in ("brand_new", "changed") for d in snapshot.definitions(n)
    }
    assert "shop/latest.py" not in snapshot.by_path
    assert current_snapshot(storage, shop) == Current(current.snapshot)


def test_the_branch_that_is_checked_out_answers(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """After each checkout the snapshot is that of the branch, made once."""
    first = storage.snapshot(shop).id
    git("checkout", "-q", "-b", "other")
    second = git.commit({"other.py": "other = 1\n"})
    assert current_snapshot(storage, shop).snapshot.id == second
    for branch, commit in (("-", first), ("-", second)):
        git("checkout", "-q", branch)
        current = current_snapshot(storage, shop)
        assert (current.snapshot.id, current.indexed, current.stale) == (commit, 0, 0)


def test_what_is_checked_out_again_is_the_newest(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """After a look, all that asks for the newest snapshot gets that of the branch that is checked out."""
    first = storage.snapshot(shop).id
    git("checkout", "-q", "-b", "other")
    git.commit({"other.py": "def only_on_other(): ...\n"})
    current_snapshot(storage, shop)
    git("checkout", "-q", "main")
    current_snapshot(storage, shop, most=0)
    assert storage.snapshot(shop).id != first, "a look alone writes"
    current_snapshot(storage, shop)
    assert storage.snapshot(shop).id == first
    assert storage.snapshot(shop, "other").id != first
    with open_sources(storage.path, ["code"], refresh=True) as sources:
        hits = sources.retrieve("only_on_other")
    assert "other.py" not in {hit.metadata["path"] for hit in hits}


def test_a_stale_answer_is_of_the_branch(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """With too many changes, a snapshot of the commit that is checked out answers, not a newer one of another."""
    first = storage.snapshot(shop).id
    git("checkout", "-q", "-b", "other")
    git.commit({"other.py": "other = 1\n"})
    current_snapshot(storage, shop)
    git("checkout", "-q", "main")
    write(git.root, {f"new{i}.py": f"a = {i}\n" for i in range(4)})
    current = current_snapshot(storage, shop, most=3)
    assert (current.snapshot.id, current.stale) == (first, 4)


def test_many_changes_make_an_answer_stale(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """With more new files than allowed, the newest snapshot answers with the number of differing files."""
    newest = storage.snapshot(shop)
    write(git.root, {f"new{i}.py": f"a = {i}\n" for i in range(4)})
    (git.root / "README.md").unlink()
    current = current_snapshot(storage, shop, most=3)
    assert (current.snapshot, current.stale) == (newest, 5)
    assert "3 new files" in current.reason
    assert current_snapshot(storage, shop, most=0).stale == 5
    assert current_snapshot(storage, shop, most=4).stale == 0


def test_another_run_makes_an_answer_stale(storage: CodeStorage, git: Git, shop: Repository) -> None:
    """While another run indexes, the newest snapshot answers and says that it is stale."""
    write(git.root, {"new.py": "a = 1\n"})
    code = (
        "import sys, time; from sleuth.engine import open_code\n"
        f"with open_code({str(storage.path)!r}) as s, s.writing(): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    try:
        current = current_snapshot(storage, shop)
    finally:
        holder.communicate("")
    assert current.stale == 1
    assert current.reason


def test_any_commit_can_be_named(storage: CodeStorage, git: Git) -> None:
    """A commit that was never indexed answers; an unknown name or too many files raise an error."""
    first = git.commit(dict(SHOP))
    git.commit({"shop/new.py": "new = 1\n", "shop/ledger.py": "def changed(): ...\n"})
    repository = storage.repository(index_path(storage, git.root).repository)
    newest = storage.snapshot(repository)
    assert snapshot_at(storage, repository, first[:10]).id == first
    assert storage.snapshot(repository).id == newest.id, "an answer about a commit makes it the newest"
    assert snapshot_at(storage, repository, "HEAD~1").id == first
    with pytest.raises(UnknownSnapshotError, match="nowhere"):
        snapshot_at(storage, repository, "nowhere")
    third = git.commit({f"{i}.py": f"a = {i}\n" for i in range(5)})
    with pytest.raises(
        UnknownSnapshotError, match=f"5 of its files are new; run `sleuth code index .* --rev {third}`"
    ):
        snapshot_at(storage, repository, third, most=4)


SUBMODULE = (
    "git init -q ../other; cd ../other; echo 1 > inside.py; git add .; git commit -qm x; cd -; "
    "git -c protocol.file.allow=always submodule --quiet add $PWD/../other lib"
)
POINTER = (
    f"printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:{'0' * 64}\\nsize 12\\n' > model.big; "
    "echo '*.big filter=lfs diff=lfs merge=lfs -text' > .gitattributes; git add .; git commit -qm x"
)
CHANGES = {
    "git mv shop/ledger.py shop/book.py": "shop/book.py",
    "git mv shop/ledger.py shop/Ledger.py": "shop/Ledger.py",
    SUBMODULE: "shop/ledger.py",
    POINTER: "model.big",
    "git sparse-checkout set shop; [ ! -e server ]": "shop/ledger.py",
    "echo '*.py text eol=crlf' > .gitattributes; git add .; git commit -qm x; git rm -q --cached -r .; "
    "git reset -q --hard; grep -q $'\\r' shop/ledger.py": "shop/ledger.py",
}
"""What is done in a worktree, and a path that its snapshot has then."""


@pytest.mark.parametrize("change", CHANGES)
def test_what_git_can_do_to_a_worktree(storage: CodeStorage, git: Git, shop: Repository, change: str) -> None:
    """After renames, submodules, LFS pointers, sparse checkouts and changed line ends, one refresh leaves nothing
    stale.
    """
    git.script(change)
    current = current_snapshot(storage, shop)
    assert current.stale == 0
    paths = set(storage.open_snapshot(shop, current.snapshot).by_path)
    assert CHANGES[change] in paths
    here = {path for path in paths if os.path.lexists(git.root / path)}
    assert paths - here <= (set(SHOP) if "sparse" in change else set())
    again = current_snapshot(storage, shop)
    assert (again.snapshot.id, again.indexed) == (current.snapshot.id, 0)


def test_commands_look_first(git: Git) -> None:
    """`search` finds a function written a moment ago; without refreshing, it says how stale it is."""
    git.commit(dict(SHOP))
    assert run(git.root, "index", ".").returncode == 0
    write(git.root, {"shop/new.py": "def brand_new():\n    return 1\n"})
    stale = run(git.root, "search", "ledger", "--max-refresh", "0")
    assert "sleuth: stale: 1 file differs" in stale.stderr
    assert answer(git.root, "search", "ledger", "--max-refresh", "0")["stale"] == 1
    assert "stale:" not in run(git.root, "search", "ledger", "--no-refresh").stderr
    assert answer(git.root, "search", "ledger", "--no-refresh")["stale"] is None
    fresh = answer(git.root, "search", "brand_new")
    assert (fresh["hits"][0]["file_path"], fresh["stale"]) == ("shop/new.py", 0)
    assert answer(git.root, "refs", "brand_new")["definitions"]


def test_worktrees_do_not_answer_for_each_other(git: Git, tmp_path: Path) -> None:
    """In a second worktree of an indexed repository, a command says what to index."""
    git.commit(dict(SHOP))
    assert run(git.root, "index", ".").returncode == 0
    for place in (git.root / "inner", tmp_path / "beside"):
        git("worktree", "add", "-q", str(place), "-b", place.name)
        process = run(place, "search", "ledger", "--index", str(git.root / ".sleuth"))
        assert process.returncode == 2
        assert f"sleuth code index {place}" in " ".join(process.stderr.split())
        assert run(place, "index", ".", "--index", str(git.root / ".sleuth")).returncode == 0
        write(place, {"only.py": f"def only_{place.name}(): ...\n"})
        result = answer(place, "search", f"only_{place.name}", "--index", str(git.root / ".sleuth"))
        assert result["hits"][0]["file_path"] == "only.py"
    assert answer(git.root, "refs", "record")["definitions"]


def test_a_commit_is_listed_from_the_one_before(git: Git) -> None:
    """The difference from the last listed commit gives the files of a full listing, even if that commit is gone."""
    git.commit({**SHOP, "lib/a.py": "a = 1\n"})
    recall = Recall()
    steps: list[tuple[dict[str, str | bytes], list[str]]] = [
        ({"shop/models.py": "a = 1\n"}, []),
        ({"lib": "now a file\n", 'tab\tand "quote".py': "b = 1\n"}, ["lib/a.py"]),
        ({"lib/a.py": "a folder again\n"}, ["lib"]),
        ({}, ["shop/payment.py"]),
    ]
    for files, deletions in steps:
        for name in deletions:
            (git.root / name).unlink()
            if name == "lib/a.py":
                (git.root / "lib").rmdir()
        git.commit(files)
        whole = source_at(git.root, "HEAD").listing()
        assert source_at(git.root, "HEAD").listing(Past(recall)) == whole
        assert recall.commit == whole.version.id
    recall.commit = "0" * 40
    assert source_at(git.root, "HEAD").listing(Past(recall)) == source_at(git.root, "HEAD").listing()


def test_a_file_that_was_written_just_now_is_read_again(storage: CodeStorage, tmp_path: Path) -> None:
    """Two edits within one tick of the clock have one time: only a file that was old by then is not read again."""
    root, hour = tmp_path / "plain", 3600 * 10**9
    times = {"old.py": time.time_ns() - hour, "young.py": time.time_ns() + hour}

    def write_all(content: str) -> None:
        write(root, dict.fromkeys(times, content))
        for name, ns in times.items():
            os.utime(root / name, ns=(ns, ns))

    def hashes() -> dict[str, str]:
        source = source_at(root)
        assert isinstance(source, DiskSource)
        past = past_of(storage, storage.repository(str(root)).id, source)
        return {file.path: file.hash for file in source.listing(past).files}

    write_all("a = 1\n")
    index_path(storage, root)
    before = hashes()
    write_all("a = 2\n")
    after = hashes()
    assert {name for name in times if before[name] != after[name]} == {"young.py"}


def test_git_is_read_again_only_when_it_wrote(
    storage: CodeStorage, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two runs without a commit, git's index is not listed again, and changes are still found."""
    git.commit(dict(SHOP))
    index_path(storage, git.root)
    calls: list[tuple[str, ...]] = []
    start = process.start

    def counted(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        calls.append(arguments)
        return start(folder, *arguments, stdin=stdin)

    monkeypatch.setattr(git_module, "start", counted)
    write(git.root, {"shop/models.py": "a = 1\n"})
    assert index_path(storage, git.root).added == 1
    assert not [a for a in calls if "-s" in a]
    git.commit({"shop/models.py": "a = 2\n"})
    calls.clear()
    assert index_path(storage, git.root).added == 1
    assert [a for a in calls if "-s" in a]
