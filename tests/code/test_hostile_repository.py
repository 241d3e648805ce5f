"""Indexing runs no program that a repository's settings name, and stores none of its secrets."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path, search_history
from sleuth.engine import open_code
from sleuth.errors import CodeError, UnknownRepositoryError
from tests.code.conftest import Git, opened, write
from tests.code.projects import SAMPLES, SHOP
from tests.commands import sleuth

PROGRAMS = (Path(__file__).parent / "programs.txt").read_text("utf8").split()
"""Every setting of git that names a program."""

ALIASES = ["status", "ls-files", "config", "cat-file", "rev-parse", "for-each-ref", "ls-tree", "check-ignore"]
HOOKS = ["post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"]


class Canaries:
    """A program that writes a file named by its first argument, and settings that name the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.program = folder / "program"
        self.program.write_text(f'#!/bin/sh\ntouch "{folder}/ran-$1"\n')
        self.program.chmod(0o755)

    @property
    def ran(self) -> set[str]:
        """Return the names of the settings whose program was run."""
        return {path.name.removeprefix("ran-") for path in self.folder.glob("ran-*")}

    def forget(self) -> None:
        for path in self.folder.glob("ran-*"):
            path.unlink()

    def settings(self) -> str:
        """Return a settings file in which every setting names the program."""
        lines = []
        for number, key in enumerate(PROGRAMS):
            head, _, name = key.rpartition(".")
            section, _, sub = head.partition(".")
            lines.append(f'[{section} "{sub}"]' if sub else f"[{section}]")
            lines.append(f'\t{name} = "{self.program} {number}-{name}"')
        lines.append("[alias]")
        lines += [f'\t{name} = "!{self.program} alias-{name}"' for name in ALIASES]
        lines += ["[log]", "\tshowSignature = true", "[status]", "\tsubmoduleSummary = true"]
        lines += ['[filter "evil"]', "\trequired = true", "[core]", f"\thooksPath = {self.folder}/hooks"]
        return "\n".join(lines) + "\n"

    def hooks(self, folder: Path) -> None:
        """Write hooks into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            hook = folder / name
            hook.write_text(f"#!/bin/sh\nexec {self.program} hook-{name}\n")
            hook.chmod(0o755)


def unguarded(*arguments: str | Path) -> None:
    """Run git without protection, to check that the canaries work."""
    subprocess.run(
        ["git", "-C", *arguments], check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=300
    )


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    programs = Canaries(tmp_path / "canaries")
    programs.hooks(programs.folder / "hooks")
    return programs


def directly(git: Git, canaries: Canaries) -> None:
    """Put the settings into `.git/config`."""
    with (git.root / ".git/config").open("a") as config:
        config.write(canaries.settings())


def included(git: Git, canaries: Canaries) -> None:
    """Put the settings into a file of the worktree that `.git/config` includes."""
    write(git.root, {"settings.inc": canaries.settings()})
    git("config", "include.path", "../settings.inc")


def by_a_git_file(git: Git, canaries: Canaries) -> None:
    """Put the settings into another folder, to which `.git` points."""
    directly(git, canaries)
    (git.root / ".git").rename(git.root / "elsewhere")
    (git.root / ".git").write_text("gitdir: elsewhere\n")


def of_the_worktree(git: Git, canaries: Canaries) -> None:
    """Put the settings into `config.worktree`."""
    git("config", "extensions.worktreeConfig", "true")
    (git.root / ".git/config.worktree").write_text(canaries.settings())


def of_a_submodule(git: Git, canaries: Canaries) -> None:
    """Put the settings into a submodule whose files are changed."""
    inner = Git(git.root / "inner")
    inner.commit({".gitattributes": "* filter=evil diff=evil\n", "a.py": "a = 1\n"})
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./inner", "inner")
    git("commit", "-qm", "submodule")
    write(inner.root, {"a.py": "a = 2\n"})
    directly(inner, canaries)


PLACES = (directly, included, by_a_git_file, of_the_worktree, of_a_submodule)


def laid(git: Git, canaries: Canaries, place: Callable[[Git, Canaries], None]) -> None:
    """Return a repository with settings in a place; one file differs from git's index in its time, another in its
    content.
    """
    git.commit({**SHOP, ".gitattributes": "* filter=evil diff=evil merge=evil\n*.ts filter=a.b\n"})
    place(git, canaries)
    write(git.root, {"shop/models.py": SHOP["shop/models.py"].replace("Order", "Orden")})
    os.utime(git.root / "shop/ledger.py", (1, 1))
    os.utime(git.root / "src/api/client.ts", (1, 1))
    canaries.forget()


@pytest.mark.parametrize("place", PLACES)
def test_no_program_is_run(
    git: Git, canaries: Canaries, storage: CodeStorage, place: Callable[[Git, Canaries], None]
) -> None:
    """Indexing a worktree and a commit runs no program, in whichever place settings name one."""
    laid(git, canaries, place)
    for revision in (None, "HEAD"):
        report = index_path(storage, git.root, revision=revision)
        assert report.files >= len(SHOP)
        assert report.history_error == ""
    write(git.root, {"shop/ledger.py": "def record(order):\n    return order\n"})
    index_path(storage, git.root)
    hits = CodeRetriever(storage, None).retrieve("record an order", report.repository, strategy="keyword")
    assert hits[0].file_path == "shop/ledger.py"
    assert canaries.ran == set()
    unguarded(git.root, "--no-optional-locks", "-c", "alias.status=", "status")
    assert canaries.ran, "git runs none of them by itself: the repository is laid wrongly"


def test_no_command_runs_a_program(git: Git, canaries: Canaries) -> None:
    """No command of `sleuth code` runs a program of the repository's settings."""
    laid(git, canaries, directly)
    canaries.hooks(git.root / ".git/hooks")
    included(git, canaries)
    commands: list[list[str]] = [
        ["index", ".", "--rev", "HEAD"], ["index", "."], ["search", "record", "an", "order"],
        ["search", "--strategy", "hybrid", "ledger"], ["refs", "record", "--at", "HEAD"], ["impact", "record"],
        ["map"], ["snapshots", "--diff", "HEAD", "main~0"],
        ["snapshots"], ["history", "shop/ledger.py"], ["history", "record"], ["search", "--history", "change"],
    ]  # fmt: skip
    for arguments in commands:
        process = sleuth("code", *arguments, cwd=git.root)
        assert process.returncode == 0, (arguments, process.stderr)
        assert canaries.ran == set(), arguments


def test_histories_run_nothing(git: Git, canaries: Canaries, storage: CodeStorage) -> None:
    """Changed lines are read without external diffs and text converters, of one commit and of many."""
    git.commit({**SHOP, ".gitattributes": "* diff=evil\n"}, "first")
    git.commit({"shop/models.py": "class Orden: pass\n"}, "second")
    git.commit({"shop/ledger.py": "class Pedido: pass\n"}, "third")
    directly(git, canaries)
    for revision, commits in (("HEAD~1", 2), ("HEAD", 1)):
        report = index_path(storage, git.root, revision=revision)
        assert (report.commits, report.history_error) == (commits, "")
    snapshot = opened(storage, report.repository, report.snapshot)
    assert [hit.commit.subject for hit in search_history(snapshot, "orden pedido")] == ["third", "second"]
    assert canaries.ran == set()
    unguarded(git.root, "log", "-p", "--ext-diff", "--textconv")
    assert canaries.ran, "git runs none of them by itself: the repository is laid wrongly"


def test_objects_of_another_repository_run_nothing(
    git: Git, canaries: Canaries, storage: CodeStorage, tmp_path: Path
) -> None:
    """Objects that a repository borrows from another one are read, and the settings of that one count for nothing."""
    laid(git, canaries, directly)
    clone = tmp_path / "borrower"
    git("-c", "core.fsmonitor=", "clone", "-q", "--shared", "--no-checkout", str(git.root), str(clone))
    assert (clone / ".git/objects/info/alternates").read_text().strip()
    canaries.forget()
    assert index_path(storage, clone, revision="HEAD").files >= len(SHOP)
    assert canaries.ran == set()


def test_missing_objects_are_not_fetched(
    git: Git, canaries: Canaries, storage: CodeStorage, tmp_path: Path
) -> None:
    """Indexing a partial clone does not contact its remote, which may be a program."""
    git.commit(dict(SHOP))
    git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{git.root}", str(clone))
    partial = Git(clone)
    partial("config", "remote.origin.url", f"ext::{canaries.program} fetch")
    partial("config", "protocol.ext.allow", "always")
    with pytest.raises(CodeError, match="git fetch --refetch"):
        index_path(storage, clone, revision="HEAD")
    assert canaries.ran == set()
    unguarded(clone, "cat-file", "-p", "HEAD:README.md")
    assert canaries.ran == {"fetch"}


def test_a_filter_that_cannot_be_turned_off_is_refused(
    git: Git, canaries: Canaries, storage: CodeStorage
) -> None:
    """A filter with an equals sign in its name is refused for a worktree; its commits can still be read."""
    git.commit({**SHOP, ".gitattributes": "* filter=a=b\n"})
    git("config", "filter.a=b.clean", f"{canaries.program} clean")
    os.utime(git.root / "shop/ledger.py", (1, 1))
    with pytest.raises(CodeError, match=r"'filter\.a=b'.*must hold no '='"):
        index_path(storage, git.root)
    assert index_path(storage, git.root, revision="HEAD").files == len(SHOP) + 1
    assert canaries.ran == set()


def test_a_worktree_elsewhere_is_refused(git: Git, storage: CodeStorage, tmp_path: Path) -> None:
    """Settings cannot make Sleuth index another folder than the named one."""
    git.commit(dict(SHOP))
    write(tmp_path / "private", {"key.py": "KEY = 1\n"})
    for folder in (tmp_path / "private", tmp_path):
        git("config", "core.worktree", str(folder))
        with pytest.raises(CodeError, match=r"core\.worktree"):
            index_path(storage, git.root / "shop")


def test_an_owner_that_is_not_trusted_is_refused(
    git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's repository is an error by git's `safe.directory`, and is not read as a plain folder."""
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    git.commit(dict(SHOP))
    monkeypatch.setenv("HOME", str(git.root.parent))
    for path in (git.root, git.root / ".git"):
        os.chown(path, 12345, 12345)
    for folder in (git.root, git.root / "shop"):
        with pytest.raises(CodeError, match=r"safe\.directory"):
            index_path(storage, folder)
    (git.root.parent / ".gitconfig").write_text(f"[safe]\n\tdirectory = {git.root}\n")
    assert index_path(storage, git.root).files == len(SHOP)


@pytest.mark.parametrize(("url", "public"), SAMPLES["remotes"])
def test_remotes_are_kept_without_credentials(git: Git, tmp_path: Path, url: str, public: str) -> None:
    """No form of a remote's URL brings a secret into the index or an error; the full URL still finds the repository."""
    git.commit(dict(SHOP))
    git("config", "remote.origin.url", url)
    with open_code(tmp_path / "index", create=True) as storage:
        id = index_path(storage, git.root).repository
        if public:
            assert [repository.url for repository in storage.repositories()] == [public]
            assert storage.repository(url).id == storage.repository(public).id == id
        with pytest.raises(UnknownRepositoryError) as unknown:
            storage.repository("https://me:s3cret@elsewhere.example/y?token=s3cret")
        assert "cret" not in str(unknown.value)
    content = b"".join(path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert b"cret" not in content


@pytest.mark.parametrize("revision", [None, "HEAD"])
@pytest.mark.parametrize("place", [".git/config", ".git/shallow", ".gitattributes", ".gitignore"])
def test_a_pipe_blocks_nothing(
    place: str, revision: str | None, git: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe among the files that git reads raises an error or is skipped; indexing does not wait for it."""
    monkeypatch.setattr("sleuth.code.repository.process.SHORT_SECONDS", 1.0)
    monkeypatch.setattr("sleuth.code.repository.process.LONG_SECONDS", 1.0)
    monkeypatch.setattr("sleuth.code.repository.git._RULES_SECONDS", 1.0)
    git.commit({"a.py": "x = 1\n"})
    pipe = git.root / ("pipe" if place == ".git/config" else place)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    if place == ".git/config":
        with (git.root / place).open("a") as config:
            config.write(f"[include]\n\tpath = {pipe}\n")
    start = time.monotonic()
    try:
        index_path(storage, git.root, revision=revision)
    except CodeError as error:
        assert "took more than" in str(error)
    assert time.monotonic() - start < 120, "it waits for the pipe"
