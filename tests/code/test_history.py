"""The commits that touched a file, and a search of those that led to a snapshot."""

from pathlib import Path

import pytest

from sleuth.code import CodeStorage, search_history
from sleuth.code.repository.commits import commits_of
from sleuth.errors import ArgumentError
from tests.code.conftest import Git, answer, run, snapshot_of, write

BUCKET = "class Bucket:\n    def take(self):\n        return 1\n\n    def refill(self):\n        return 2\n"


@pytest.fixture
def past(git: Git) -> tuple[Git, list[str]]:
    """Return a repository with four commits, oldest first."""
    return git, [
        git.commit({"bucket.py": BUCKET}, "Add a bucket of tokens"),
        git.commit(
            {"retry.py": "TRIES = 3\n"}, "Try again after a timeout\n\nThe provider drops one call in ten."
        ),
        git.commit(
            {"bucket.py": BUCKET.replace("return 2", "return 3"), "retry.py": "TRIES = 4\n"}, "Refill faster"
        ),
        git.commit({"docs/notes.txt": "timeout\n"}, "Write notes"),
    ]


def test_messages_are_searched(past: tuple[Git, list[str]], storage: CodeStorage) -> None:
    """The commit whose subject or body answers comes first, with the paths that it touched."""
    git, ids = past
    hits = search_history(snapshot_of(storage, git.root), "which calls does the provider drop")
    assert (hits[0].commit.id, hits[0].paths) == (ids[1], ("retry.py",))
    assert hits[0].commit.subject == "Try again after a timeout"
    faster = search_history(snapshot_of(storage, git.root), "refill faster")
    assert (faster[0].commit.id, faster[0].paths) == (ids[2], ("bucket.py", "retry.py"))


def test_changed_lines_are_searched(git: Git, storage: CodeStorage) -> None:
    """A word of a line that a commit added or removed, of a path, or of the function around a change finds it."""
    filler = "    steps = [1, 2]\n" * 9
    first = git.commit({"bucket.py": f"def overflowing():\n{filler}    return 5\n"}, "First")
    second = git.commit({"bucket.py": f"def overflowing():\n{filler}    return 6\n"}, "Second")
    third = git.commit({"billing/invoices.py": "x = 1\n"}, "Third")
    fourth = git.commit({"bucket.py": "-- gone\n"}, "Fourth")
    snapshot = snapshot_of(storage, git.root)

    def commits(query: str) -> set[str]:
        return {hit.commit.id for hit in search_history(snapshot, query)}

    assert commits("overflowing") == {first, second, fourth}
    assert commits("invoices") == {third}
    assert commits("gone") == {fourth}
    assert commits("unheard") == set()


def test_of_equal_commits_the_newer_is_first(git: Git, storage: CodeStorage) -> None:
    """Equal scores are ordered by time, also where the newer commit was recorded later."""
    ids = []
    for n in range(3):
        git("commit", "-q", "--allow-empty", "-m", "Same words", "--date", f"2026-01-0{n + 1}T00:00:00Z")
        ids.append(git("rev-parse", "HEAD"))
        hits = search_history(snapshot_of(storage, git.root), "same words")
        assert {hit.score for hit in hits} == {hits[0].score}
        assert {hit.commit.id for hit in hits} == set(ids)
        assert hits[0].commit.id == ids[-1]


def test_only_ancestors_are_searched(past: tuple[Git, list[str]], storage: CodeStorage) -> None:
    """A snapshot gives the commits and scores that it gave when its commit was the newest one."""
    git, ids = past
    git("checkout", "-q", ids[1])
    before = search_history(snapshot_of(storage, git.root, ids[1]), "timeout notes")
    git("checkout", "-q", "main")
    snapshot_of(storage, git.root)
    assert search_history(snapshot_of(storage, git.root, ids[1]), "timeout notes") == before
    assert [hit.commit.id for hit in before] == [ids[1]]


def test_messages_below_a_path(past: tuple[Git, list[str]], storage: CodeStorage) -> None:
    """With a path, commits that touched nothing there are left out."""
    git, ids = past
    snapshot = snapshot_of(storage, git.root)
    hits = search_history(snapshot, "tokens timeout refill", path="bucket.py")
    assert {hit.commit.id for hit in hits} == {ids[0], ids[2]}
    assert search_history(snapshot, "tokens", path="missing.py") == []
    assert search_history(snapshot, "", 5) == search_history(snapshot, "tokens", 0) == []


def test_odd_messages(git: Git, storage: CodeStorage) -> None:
    """Control characters in a message, empty messages and odd paths neither fail nor shift what belongs to others."""
    odd = git.commit({"a \x01b.py": "x = 1\n", "ü.py": "y = 1\n"}, "Odd \x1f\x1e separators\n\nand \x1e more")
    git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    git.commit({"b.py": "z = 1\n"}, "Plain message")
    fake = f"\x01{odd}"
    last = git.commit(
        {f'{fake}\nx "\\\t.py': f"{fake}\n"}, f"Pretend\n\n{fake}\n:100644 100644 a b M\tpretended"
    )
    hits = search_history(snapshot_of(storage, git.root), "separators plain pretend")
    paths = {hit.commit.id: hit.paths for hit in hits}
    assert len(hits) == 3 and paths[last] == (f'{fake}\nx "\\\t.py',)
    assert paths[odd] == ("a \x01b.py", "ü.py")
    commits = commits_of(git.root, "ü.py")
    assert [(commit.id, commit.body.strip()) for commit in commits] == [(odd, "and \x1e more")]


def test_folders_have_no_history(tmp_path: Path, storage: CodeStorage, git: Git) -> None:
    """A folder outside git is refused by name, and so is a repository without commits."""
    for root, rule in ((tmp_path / "plain", "be of a git repository"), (git.root, "have a commit")):
        write(root, {"a.py": "x = 1\n"})
        with pytest.raises(ArgumentError, match=f"must {rule}"):
            search_history(snapshot_of(storage, root), "x")


def test_commands(past: tuple[Git, list[str]]) -> None:
    """`history` lists commits of a file, of lines, of a definition and of a text; `search --history` ranks commits."""
    git, ids = past
    assert run(git.root, "index", ".").returncode == 0

    def listed(*arguments: str) -> list[str]:
        return [commit["id"] for commit in answer(git.root, "history", *arguments)["commits"]]

    assert listed("bucket.py") == [ids[2], ids[0]]
    assert listed("Bucket.refill", "--no-refresh") == [ids[2], ids[0]]
    assert listed("bucket.py:2-3") == [ids[0]]
    assert listed("bucket.py", "--text", "return 3") == [ids[2]]
    changed_bucket = f"# New.\n\n{BUCKET.replace('return 1', 'return 0')}"
    write(git.root, {"bucket.py": changed_bucket, "new.py": "NEW = 1\n"})
    assert listed("Bucket.refill") == [ids[2], ids[0]]
    assert listed("bucket.py:4-5") == [ids[0]]
    answers = [run(git.root, "history", new_lines) for new_lines in ("bucket.py:1-2", "new.py:1")]
    assert [(answer.returncode, answer.stderr) for answer in answers] == 2 * [(1, "")]
    row = run(git.root, "search", "--history", "again after a timeout", "-k", "1").stdout.rstrip().split("\t")
    assert (row[0], *row[-2:]) == (ids[1][:12], "Try again after a timeout", "retry.py")
    refused = run(git.root, "search", "--history", "timeout", "--lang", "py")
    assert refused.returncode == 2 and "without --lang" in refused.stderr
    assert run(git.root, "history", "missing.py").returncode == 2
    assert run(git.root / "docs", "history", "notes.txt").stdout.startswith(ids[3][:12])
