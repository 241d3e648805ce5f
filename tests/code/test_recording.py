"""The history of a repository is recorded bit by bit, and a snapshot sees what led to it."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from sleuth.code import CodeStorage, index_path, search_history
from sleuth.code.search.history import CommitHit
from sleuth.code.snapshots import health
from sleuth.code.snapshots.indexing import CodeIndexReport
from sleuth.code.snapshots.recording import History
from sleuth.code.snapshots.refreshing import current_snapshot, refresh_history
from sleuth.engine import open_code
from sleuth.engine.codebase import code_status, repair_code
from sleuth.errors import CodeError, FormatVersionError, IndexDamagedError
from tests.code.conftest import Git, opened, run, snapshot_of, write
from tests.code.golden import make
from tests.code.test_health import change, faults

RECORDING = "sleuth.code.snapshots.recording"


SETTINGS = """
color.ui=always diff.noprefix=true diff.mnemonicPrefix=true diff.renames=copies diff.context=9 diff.orderFile=missing
diff.colorMoved=zebra diff.wsErrorHighlight=all diff.algorithm=patience diff.relative=true diff.submodule=log
diff.ignoreSubmodules=all log.showRoot=false log.diffMerges=separate log.showSignature=true log.decorate=full
log.follow=true i18n.logOutputEncoding=latin1 core.quotePath=true core.abbrev=4 format.pretty=oneline
"""


def hits_of(storage: CodeStorage, report: CodeIndexReport, query: str = "step") -> list[CommitHit]:
    """Return the commits that a query finds in the snapshot that a report is about."""
    return search_history(opened(storage, report.repository, report.snapshot), query, 100)


def messages(storage: CodeStorage, report: CodeIndexReport, query: str = "step") -> list[str]:
    """Return the subjects of the commits that a query finds, in order of their names."""
    return sorted(hit.commit.subject for hit in hits_of(storage, report, query))


def steps(git: Git, first: int, end: int) -> list[str]:
    """Commit some steps; their ids."""
    return [git.commit({f"{n}.py": f"value_{n} = {n}\n"}, f"Step {n}") for n in range(first, end)]


def subjects(first: int, end: int) -> list[str]:
    return [f"Step {n}" for n in range(first, end)]


def test_only_new_commits_are_read(git: Git, storage: CodeStorage) -> None:
    """A run reads the commits since the last one, however they are named; one without new commits reads none."""
    steps(git, 0, 3)
    assert index_path(storage, git.root).commits == 3
    assert index_path(storage, git.root).commits == 0
    steps(git, 3, 5)
    assert index_path(storage, git.root, revision="HEAD~1").commits == 1
    report = index_path(storage, git.root, revision="main")
    assert (report.commits, report.commits_left, report.history_error) == (1, 0, "")
    assert messages(storage, report) == subjects(0, 5)


def test_a_snapshot_that_is_checked_out_again_keeps_its_history(git: Git, storage: CodeStorage) -> None:
    """After a checkout the older snapshot answers with its own commits, and nothing is read again."""
    steps(git, 0, 2)
    older = index_path(storage, git.root)
    steps(git, 2, 4)
    newer = index_path(storage, git.root)
    repository = storage.repository(older.repository)
    for revision, report, end in (("HEAD~2", older, 2), ("main", newer, 4)):
        git("checkout", "-q", revision)
        current = current_snapshot(storage, repository).snapshot
        assert current.id == report.snapshot == storage.snapshot(repository).id
        assert refresh_history(storage, storage.open_snapshot(repository, current)) == ""
        assert messages(storage, report) == subjects(0, end)
        assert index_path(storage, git.root).commits == 0


@pytest.mark.parametrize("few", [0, 1, 200])
def test_branches(git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """A snapshot sees its ancestors and no commit of another branch, with the scores that it has in its own index."""
    monkeypatch.setattr(f"{RECORDING}._FEW", few)
    steps(git, 0, 2)
    git("checkout", "-qb", "side")
    steps(git, 2, 4)
    git("checkout", "-q", "main")
    steps(git, 4, 6)
    reports = {name: index_path(storage, git.root, revision=name) for name in ("main", "side")}
    git("merge", "-q", "--no-ff", "-m", "Step merged", "side")
    reports["merged"] = index_path(storage, git.root)
    assert messages(storage, reports["main"]) == ["Step 0", "Step 1", "Step 4", "Step 5"]
    assert messages(storage, reports["side"]) == subjects(0, 4)
    assert messages(storage, reports["merged"]) == [*subjects(0, 6), "Step merged"]
    for report in reports.values():
        with open_code(storage.path.parent / f"alone-{report.snapshot}", create=True) as alone:
            own = index_path(alone, git.root, revision=report.snapshot)
            expected = hits_of(alone, own, "step 2 value_4")
        assert hits_of(storage, report, "step 2 value_4") == expected


def test_a_run_is_bounded_and_the_next_goes_on(
    git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without time records a batch, the newest commits; later ones record the rest, and each is there once."""
    monkeypatch.setattr(f"{RECORDING}._BATCH", 2)
    steps(git, 0, 7)
    at_once = History(seconds=0)
    report = index_path(storage, git.root, history=at_once)
    assert (report.commits, report.commits_left) == (2, 5)
    assert messages(storage, report) == ["Step 5", "Step 6"]
    report = index_path(storage, git.root, history=at_once)
    assert (report.commits, report.commits_left) == (2, 3)
    steps(git, 7, 8)
    calls: list[tuple[int, int]] = []
    report = index_path(storage, git.root, history=History(progress=lambda *call: calls.append(call)))
    assert calls == [(2, 4), (4, 4)]
    assert (report.commits, report.commits_left) == (4, 0)
    assert messages(storage, report) == subjects(0, 8)
    assert [f.message for f in health.check(storage, full=True) if f.level != "ok"] == []


def test_an_interrupted_run_loses_nothing(
    git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while commits are read leaves the snapshot and the commits that were read."""
    monkeypatch.setattr(f"{RECORDING}._BATCH", 2)
    steps(git, 0, 5)

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_path(storage, git.root, history=History(progress=interrupt))
    (repository,) = storage.repositories()
    assert storage.snapshot(repository).status == "completed"
    report = index_path(storage, git.root)
    assert report.commits == 3
    assert messages(storage, report) == subjects(0, 5)


def test_only_the_newest_are_recorded(
    git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits deeper than the bound are recorded for a snapshot as old as they are; lines are read of fewer."""
    monkeypatch.setattr(f"{RECORDING}.MOST_COMMITS", 3)
    monkeypatch.setattr(f"{RECORDING}.MOST_COMPARED", 1)
    monkeypatch.setattr(f"{RECORDING}._BATCH", 1)
    ids = steps(git, 0, 8)
    newest = index_path(storage, git.root)
    assert messages(storage, newest) == subjects(5, 8)
    assert messages(storage, newest, "value") == ["Step 7"]
    old = index_path(storage, git.root, revision=ids[3])
    assert messages(storage, old) == subjects(1, 4)
    assert messages(storage, newest) == subjects(5, 8)


def test_large_commits_have_no_lines(git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of an import are not read, and of a large change only the first; both are found by message and path."""
    monkeypatch.setattr("sleuth.code.repository.commits.MOST_FILES", 3)
    steps(git, 0, 1)
    files: dict[str, str | bytes] = {f"imported/{n}.py": f"cargo = {n}\n" for n in range(4)}
    git.commit(files, "Import")
    lines = [f"line = '{'x' * 150}'\n" for n in range(100)]
    git.commit({"large.py": "".join([*lines, "last = 1\n"]), "small.py": "tiny = 1\n"}, "Large")
    report = index_path(storage, git.root)
    assert messages(storage, report, "imported") == ["Import"]
    assert messages(storage, report, "cargo") == []
    assert messages(storage, report, "line") == messages(storage, report, "tiny") == ["Large"]
    assert messages(storage, report, "last") == []


def test_answers_are_of_commits_since_the_last_run(git: Git, storage: CodeStorage) -> None:
    """A refresh before an answer records a few new commits; it leaves many, and a history that none began, to a run."""
    steps(git, 0, 2)
    without = index_path(storage, git.root, history=History(is_recent=True))
    assert without.commits == 0
    with pytest.raises(CodeError, match="sleuth code index"):
        messages(storage, without)
    repository = storage.repository(without.repository)
    assert refresh_history(storage, opened(storage, without.repository, without.snapshot)) == ""
    assert messages(storage, without) == subjects(0, 2)
    steps(git, 2, 4)
    current = current_snapshot(storage, repository).snapshot
    hits = search_history(storage.open_snapshot(repository, current), "step")
    assert sorted(hit.commit.subject for hit in hits) == subjects(0, 4)


def test_commands_say_what_is_left(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """`code index` and `code search --history` record a history in pieces, and say how many commits are left."""
    hours = SimpleNamespace(monotonic=iter(range(0, 10**6, 3600)).__next__)
    monkeypatch.setattr(f"{RECORDING}._BATCH", 1)
    steps(git, 0, 4)
    with monkeypatch.context() as slowly:
        slowly.setattr(f"{RECORDING}.time", hours)
        indexed = run(git.root, "index", ".")
        assert "1 commit," in indexed.stdout and "3 older commits left" in indexed.stderr
        printed = run(git.root, "search", "--history", "step", "--no-refresh")
        assert len(printed.stdout.splitlines()) == 1 and "left" not in printed.stderr
        printed = run(git.root, "search", "--history", "step")
        assert len(printed.stdout.splitlines()) == 2 and "2 older commits not recorded" in printed.stderr
    printed = run(git.root, "search", "--history", "step")
    assert len(printed.stdout.splitlines()) == 4 and printed.stderr == ""


def test_a_history_that_cannot_be_recorded_now(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """Where another run writes, or nobody may, a search says that commits are missing, and answers."""
    steps(git, 0, 2)
    report = index_path(storage, git.root, history=History(is_recent=True))
    snapshot = opened(storage, report.repository, report.snapshot)
    with open_code(storage.path) as other, other.writing():
        assert "not all of the history" in refresh_history(storage, snapshot)
    storage.writable = False
    assert "cannot be written" in refresh_history(storage, snapshot)
    storage.writable = True
    write(tmp_path / "plain", {"a.py": "x = 1\n"})
    assert refresh_history(storage, snapshot_of(storage, tmp_path / "plain")) == ""


def test_a_history_that_grows_under_an_open_snapshot(
    git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot that is open sees commits that are recorded meanwhile."""
    monkeypatch.setattr(f"{RECORDING}._BATCH", 1)
    steps(git, 0, 3)
    report = index_path(storage, git.root, history=History(seconds=0))
    snapshot = opened(storage, report.repository, report.snapshot)
    assert len(search_history(snapshot, "step")) == 1
    assert refresh_history(storage, snapshot) == ""
    assert len(search_history(snapshot, "step")) == 3


def test_shallow_clones(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """The oldest commit of a shallow clone did not add everything; a deepened clone has the commits before it."""
    steps(git, 0, 4)
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth", "2", f"file://{git.root}", str(clone))
    report = index_path(storage, clone)
    assert messages(storage, report) == subjects(2, 4)
    oldest = hits_of(storage, report, "2")[-1]
    assert (oldest.commit.subject, oldest.paths) == ("Step 2", ())
    Git(clone)("fetch", "-q", "--unshallow")
    report = index_path(storage, clone)
    assert messages(storage, report) == subjects(0, 4)
    hits = {hit.commit.subject: hit.paths for hit in hits_of(storage, report, "step")}
    assert hits["Step 2"] == ("2.py",)


def test_a_clone_that_is_deepened_while_it_is_read(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """What a run read of a shallow clone that was deepened meanwhile is read again by the next run."""
    steps(git, 0, 4)
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth", "2", f"file://{git.root}", str(clone))

    def deepen(count: int, total: int) -> None:
        Git(clone)("fetch", "-q", "--unshallow")

    assert index_path(storage, clone, history=History(progress=deepen)).commits == 2
    assert messages(storage, index_path(storage, clone)) == subjects(0, 4)


@pytest.mark.parametrize(("left_out", "files"), [("blob:none", ["Step 1"]), ("tree:0", [])])
def test_partial_clones(
    git: Git, storage: CodeStorage, tmp_path: Path, left_out: str, files: list[str]
) -> None:
    """A partial clone without contents has messages and paths; one without folders has messages."""
    steps(git, 0, 3)
    git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", f"--filter={left_out}", f"file://{git.root}", str(clone))
    shutil.rmtree(git.root)  # nothing can be fetched
    report = index_path(storage, clone)
    assert (report.commits, report.history_error) == (3, "")
    assert messages(storage, report) == subjects(0, 3)
    paths = {path for hit in hits_of(storage, report, "step") for path in hit.paths}
    assert ("1.py" in paths) == bool(files)


def test_worktrees_submodules_and_bare_repositories(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """Each worktree has the history of its own commit, a submodule its own, a bare repository that of its HEAD."""
    steps(git, 0, 2)
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Git(tmp_path / "side")
    steps(side, 2, 3)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(git.root), "inner")
    git.commit({}, "Step with a submodule")
    inner = index_path(storage, git.root / "inner")
    bare = tmp_path / "bare"
    git("clone", "-q", "--bare", str(git.root), str(bare))
    assert messages(storage, index_path(storage, git.root)) == ["Step 0", "Step 1", "Step with a submodule"]
    assert messages(storage, index_path(storage, side.root)) == subjects(0, 3)
    assert messages(storage, inner) == subjects(0, 2)
    assert messages(storage, index_path(storage, bare)) == ["Step 0", "Step 1", "Step with a submodule"]


def test_folders_and_empty_repositories(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """A plain folder and a repository without commits have no history, and no error."""
    write(tmp_path / "plain", {"a.py": "x = 1\n"})
    write(git.root, {"a.py": "x = 1\n"})
    for root in (tmp_path / "plain", git.root):
        report = index_path(storage, root)
        assert (report.commits, report.history_error, report.files) == (0, "", 1)


def test_settings_change_no_history(git: Git, storage: CodeStorage) -> None:
    """Git settings for the format of logs and diffs do not change the recorded history."""
    steps(git, 0, 2)
    git("checkout", "-qb", "side")
    steps(git, 2, 3)
    git("checkout", "-q", "main")
    steps(git, 3, 4)
    git("merge", "-q", "-m", "Merge é", "side")
    git("mv", "0.py", "é.py")
    git.commit({"1.py": "value_1 = 'ö'\n"}, "Step ü")
    expected = search_history(snapshot_of(storage, git.root), "value_1 é ü")
    for name, value in (setting.split("=") for setting in SETTINGS.split()):
        git("config", name, value)
    with open_code(storage.path.parent / "other", create=True) as other:
        report = index_path(other, git.root)
        assert report.history_error == ""
        assert hits_of(other, report, "value_1 é ü") == expected
    paths = {hit.commit.subject: hit.paths for hit in expected}
    assert paths["Step ü"] == ("0.py", "1.py", "é.py")
    assert paths["Merge é"] == ()


@pytest.mark.parametrize(
    "when", ["99999999999999999999 +0000", "18446744073709551615 +0000", "-5 +0000", "no time", ""]
)
def test_odd_commits(git: Git, storage: CodeStorage, when: str) -> None:
    """A commit that no git would write is recorded as git reads it."""
    steps(git, 0, 1)
    tree, parent = git("rev-parse", "HEAD^{tree}"), git("rev-parse", "HEAD")
    head = [f"tree {tree}", f"parent {parent}", f"author x {when}", f"committer {when}"]
    (git.root / "odd").write_text("\n".join([*head, "", "Step odd"]))
    odd = git("hash-object", "-t", "commit", "-w", "--literally", "odd")
    report = index_path(storage, git.root, revision=odd)
    assert (report.commits, report.history_error) == (2, "")
    assert messages(storage, report) == ["Step 0", "Step odd"]


def test_a_repository_of_sha_256(storage: CodeStorage, tmp_path: Path) -> None:
    """Ids of 64 digits are recorded as those of 40 are."""
    git = Git(tmp_path / "repository", "sha256")
    steps(git, 0, 2)
    index_path(storage, git.root)
    steps(git, 2, 3)
    assert messages(storage, index_path(storage, git.root)) == subjects(0, 3)


def test_a_history_that_git_cannot_read(git: Git, storage: CodeStorage) -> None:
    """A snapshot is complete where its history cannot be read; the report says why."""
    steps(git, 0, 2)
    first = git("rev-parse", "HEAD~1")
    (git.root / ".git/objects" / first[:2] / first[2:]).unlink()
    report = index_path(storage, git.root)
    assert "git" in report.history_error and report.commits == 0
    assert opened(storage, report.repository, report.snapshot).files
    printed = run(git.root, "index", ".")
    assert printed.returncode == 0 and "history was not read" in printed.stderr


def test_pruning_forgets_commits(git: Git, storage: CodeStorage) -> None:
    """Commits that led to no snapshot are forgotten; they are recorded again with one that they led to."""
    steps(git, 0, 2)
    old = index_path(storage, git.root)
    git("checkout", "-qb", "side", "HEAD~1")
    steps(git, 2, 4)
    side = index_path(storage, git.root)
    assert health.status(storage).commits == 4
    storage.prune(old.repository, [old.snapshot])
    assert health.status(storage).commits == 2
    assert messages(storage, old) == subjects(0, 2)
    assert index_path(storage, git.root).commits == 2
    assert messages(storage, side) == ["Step 0", "Step 2", "Step 3"]
    assert [f.message for f in health.check(storage, full=True) if f.level != "ok"] == []


@pytest.fixture
def recorded(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index of four commits whose segments are files."""
    monkeypatch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
    with open_code(tmp_path / "index", create=True) as storage:
        for n in (2, 4):
            steps(git, n - 2, n)
            index_path(storage, git.root)
    return tmp_path / "index"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def is_read_again(path: Path, git: Git, lost: int) -> None:
    """Check that a repair forgets commits, and that the next run reads as many."""
    assert faults(path)
    assert any("reads them again" in repair.why for repair in repair_code(path))
    assert faults(path) == []
    with open_code(path) as storage:
        report = index_path(storage, git.root)
        assert report.commits == lost
        assert messages(storage, report) == subjects(0, 4)
    assert faults(path) == []


@pytest.mark.parametrize("damage", [Path.unlink, cut, flip])
def test_damaged_segments_are_read_again(recorded: Path, git: Git, damage: Callable[[Path], None]) -> None:
    """Commits whose segment is missing or damaged are found, forgotten by a repair, and read again by the next run."""
    assert faults(recorded) == [] and code_status(recorded).commits == 4
    segment, _ = sorted((recorded / "code").glob("commits-*.seg"))
    damage(segment)
    is_read_again(recorded, git, 2)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("UPDATE commits SET detail = x'00' WHERE key = 1", 1),
        ("UPDATE commits SET parents = x'' WHERE key = 4", 1),
        ("UPDATE commits SET id = 'text' WHERE key = 2", 1),
        ("UPDATE commits SET time = 'text'", 4),
        ("UPDATE histories SET tips = ''", 0),
        ("UPDATE histories SET tips = x'00', cut = 5", 0),
        ("DELETE FROM segments WHERE leg = 'commits'", 4),
    ],
)
def test_damaged_rows_are_read_again(recorded: Path, git: Git, statement: str, lost: int) -> None:
    """Rows of commits that are not as they were written are found; no search shows them as if they were."""
    change(recorded, statement)
    with open_code(recorded) as storage:
        try:
            hits = search_history(opened(storage), "step")
        except (IndexDamagedError, CodeError):
            hits = []
        assert {hit.commit.subject for hit in hits} <= set(subjects(0, 4))
    is_read_again(recorded, git, lost)


def test_a_missing_row_is_read_again(recorded: Path, git: Git) -> None:
    """A commit without its row is recorded again after a repair has dropped the list of complete commits."""
    change(recorded, "DELETE FROM commits WHERE key = 2", "UPDATE histories SET checksum = 0")
    is_read_again(recorded, git, 1)


@pytest.mark.parametrize("folder", sorted(make.HERE.glob("format-*")), ids=lambda folder: folder.name)
def test_golden_index(folder: Path, tmp_path: Path) -> None:
    """An index of each released format is read, checked, searched as of each commit, and indexed further."""
    root, index = tmp_path / "root", tmp_path / "index"
    root.mkdir()
    ids = make.lay_out(root)
    shutil.copytree(folder, index)
    with closing(sqlite3.connect(index / "code.db")) as connection, connection:
        connection.execute("UPDATE repositories SET path = ?", (str(root.resolve()),))
    assert faults(index) == []
    assert code_status(index).commits == 2
    with open_code(index) as storage:
        snapshot = opened(storage, at=ids[0])
        assert [row.path for row in snapshot.files] == ["bucket.py"]
        assert [hit.commit.id for hit in search_history(snapshot, "bucket timeout")] == ids[:1]
        report = index_path(storage, root)
        assert (report.added, report.commits) == (0, 0)
        assert messages(storage, report, "bucket timeout") == [
            "Add a bucket of tokens",
            "Try again after a timeout",
        ]
    assert faults(index) == []


@pytest.mark.parametrize("version", [2, 6, 99])
def test_another_format_is_refused(storage: CodeStorage, version: int) -> None:
    """The error names the format, the supported one, and the command that makes a new index."""
    storage.close()
    change(storage.path, f"PRAGMA user_version = {version}")
    with pytest.raises(
        FormatVersionError, match=f"has format {version}, .* reads format 1: `sleuth code index --rebuild"
    ):
        open_code(storage.path, create=True)


def test_a_snapshot_has_a_few_of_many_names(git: Git, storage: CodeStorage) -> None:
    """Of the branches and tags at a commit 100 are names of its snapshot, each once."""
    steps(git, 0, 1)
    commit = git("rev-parse", "HEAD").strip()
    refs = [f"{commit} refs/{kind}/{number:03}\n" for kind in ("heads", "tags") for number in range(200)]
    (git.root / ".git" / "packed-refs").write_text("".join(sorted(refs, key=lambda ref: ref.split()[1])))
    names = index_path(storage, git.root).names
    assert len(names) == len(set(names)) == 100
