"""Submodules that are checked out are repositories of their own; one that leads out of its repository is left out."""

import json
import os
from pathlib import Path

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path, search_history
from sleuth.engine import Workspace
from sleuth.surfaces.mcp import Tools
from tests.code.conftest import Git, answer, opened, run, write
from tests.code.projects import SAMPLES
from tests.code.test_hostile_repository import Canaries, canaries
from tests.commands import sleuth

__all__ = ["canaries"]


def add(git: Git, other: Git, name: str) -> Git:
    """Add a repository as a submodule, commit it, and return its worktree."""
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), name)
    git.commit({}, "submodule")
    return at(git.root / name)


def at(root: Path) -> Git:
    """Return an existing worktree."""
    git = object.__new__(Git)
    git.root = root
    return git


@pytest.fixture
def app(tmp_path: Path) -> Git:
    """Return a repository with the submodules vendor/lib, which has one in deep, and gone, which is not checked out."""
    names = ("deep", "lib", "gone")
    deep, lib, missing = (Git(tmp_path / name) for name in names)
    for name, other in zip(names, (deep, lib, missing), strict=True):
        other.commit({f"{name}.py": f"def in_{name}(): ...\n"})
    add(lib, deep, "deep")
    git = Git(tmp_path / "app")
    git.commit({"app.py": "def in_app(): ...\n"})
    add(git, lib, "vendor/lib")
    add(git, missing, "gone")
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
    git("submodule", "--quiet", "deinit", "-f", "gone")
    return git


def paths(storage: CodeStorage, root: Path) -> set[str]:
    """Return the paths of the newest snapshot of a repository."""
    return set(opened(storage, str(root)).by_path)


def test_submodules_are_indexed_as_repositories(app: Git, storage: CodeStorage) -> None:
    """Each submodule that is checked out has snapshots of its own, one inside it too; the others are listed."""
    report = index_path(storage, app.root, workers=1)
    lib = app.root / "vendor/lib"
    assert [each.path for each in report.all()] == [str(app.root), str(lib), str(lib / "deep")]
    assert [repository.path for repository in storage.repositories()] == [each.path for each in report.all()]
    assert paths(storage, app.root) == {".gitmodules", "app.py"}
    assert paths(storage, lib) == {".gitmodules", "lib.py"}
    assert paths(storage, lib / "deep") == {"deep.py"}
    skips = dict(report.skipped)
    assert skips["vendor/lib"] == "a submodule"
    assert "it is not checked out (`git submodule update --init`)" in skips["gone"]


def test_each_repository_has_its_own_history(app: Git, storage: CodeStorage) -> None:
    """A submodule's commits are recorded once, with the submodule, and found only in it."""
    assert index_path(storage, app.root, workers=1, submodules=False).submodules == []
    assert len(storage.repositories()) == 1
    report = index_path(storage, app.root, workers=1)
    lib = report.submodules[0]
    assert report.commits == 0
    assert [each.commits for each in lib.all()] == [2, 1]
    assert [each.commits for each in index_path(storage, app.root, workers=1).all()] == [0, 0, 0]
    for each in (report, lib):
        snapshot = opened(storage, each.path)
        commit_ids = {hit.commit.id for hit in search_history(snapshot, "in_app in_lib submodule", 100)}
        assert commit_ids == set(at(Path(each.path))("rev-list", "HEAD").split())


def test_submodules_of_a_commit(app: Git, storage: CodeStorage) -> None:
    """With a revision, a submodule is indexed at the commit that the revision names."""
    lib = at(app.root / "vendor/lib")
    commit_id = lib("rev-parse", "HEAD")
    newer = lib.commit({"newer.py": "newer = 1\n"})
    report = index_path(storage, app.root, revision="HEAD", workers=1)
    assert report.submodules[0].snapshot == commit_id
    assert index_path(storage, app.root, workers=1).submodules[0].snapshot == newer


def test_a_commit_that_a_submodule_lacks(app: Git, storage: CodeStorage) -> None:
    """A submodule that does not have the commit that a revision names is left out with the command that brings it."""
    app("update-index", "--cacheinfo", f"160000,{'1' * 40},vendor/lib")
    app("commit", "-qm", "ahead")
    report = index_path(storage, app.root, revision="HEAD", workers=1)
    assert report.submodules == []
    assert f"{'1' * 40}; `git submodule update` brings it" in dict(report.skipped)["vendor/lib"]


def test_each_folder_answers_for_itself(app: Git) -> None:
    """`sleuth code index` reports the submodules; a search answers for the repository of the current folder."""

    def found(folder: Path, *arguments: str) -> list[str]:
        return [hit["file_path"] for hit in answer(folder, "search", *arguments)["hits"]]

    process = run(app.root, "index", ".")
    assert process.returncode == 0
    assert len(process.stdout.splitlines()) == 3
    assert "gone: a submodule, not indexed: it is not checked out" in process.stderr
    assert found(app.root, "in_lib", "in_deep")[0] == ".gitmodules"
    lib = app.root / "vendor/lib"
    assert found(lib, "in_lib")[0] == "lib.py"
    write(lib, {"new.py": "def brand_new(): ...\n"})
    assert found(lib, "brand_new")[0] == "new.py"
    assert found(lib / "deep", "in_deep") == ["deep.py"]
    outside = app.root.parent
    assert found(outside, "in_app", "--index", str(app.root / ".sleuth"))[0] == "app.py"


def test_submodules_can_be_left_out(app: Git) -> None:
    """`--no-submodules` leaves them out; `--again` parses them again too."""
    report = answer(app.root, "index", ".", "--no-submodules")
    assert report["submodules"] == []
    report = answer(app.root, "index", ".")
    assert report["submodules"][0]["added"] == 3
    report = answer(app.root, "index", ".")
    assert report["submodules"][0]["added"] == 0
    report = answer(app.root, "index", ".", "--again")
    assert (report["submodules"][0]["added"], report["submodules"][0]["submodules"][0]["added"]) == (3, 1)


def test_agents_of_the_outer_repository_get_no_submodule(app: Git) -> None:
    """The tools of a folder answer for its repository, also where the index holds submodules and nested worktrees."""
    app("worktree", "add", "-q", "trees/feature", "-b", "feature")
    for path in (".", "trees/feature"):
        assert sleuth("code", "index", path, "--no-submodules" if path != "." else "--submodules",
                      cwd=app.root).returncode == 0  # fmt: skip
    with Workspace(app.root / ".sleuth", app.root) as workspace:
        assert [repository.path for repository in workspace.repositories()] == [str(app.root)]


def test_agents_in_a_submodule_get_its_code(app: Git) -> None:
    """In the folder of a submodule, the index of the repository around it answers with the submodule's code alone."""
    assert run(app.root, "index", ".").returncode == 0
    (app.root / "notes.md").write_text("# In lib\n\nNotes about in_lib.\n")
    assert sleuth("index", "notes.md", cwd=app.root).returncode == 0
    lib = app.root / "vendor/lib"
    with Workspace(app.root / ".sleuth", lib) as workspace:
        answer = json.loads(Tools(workspace).call("search", {"query": "in_lib"}))
        paths = [result["id"].rpartition(":")[0] for result in answer["results"]]
        assert paths[0] == "lib.py"
        assert not any(path.startswith(("/", "..")) for path in paths)
        assert answer["indexed_root"] == str(lib)


LEADS: dict[str, str] = SAMPLES["leads"]


@pytest.mark.parametrize("lead", LEADS)
def test_a_submodule_that_leads_elsewhere(app: Git, storage: CodeStorage, tmp_path: Path, lead: str) -> None:
    """Nothing outside the repository is indexed through a submodule, and the repository itself is."""
    private = Git(tmp_path / "private")
    private.commit({"key.py": "PRIVATE_KEY = 1\n"})
    app.script(f"PRIVATE={private.root}; {LEADS[lead]}")
    report = index_path(storage, app.root, workers=1)
    assert report.submodules == []
    assert [repository.path for repository in storage.repositories()] == [str(app.root)]
    assert paths(storage, app.root) == {".gitmodules", "app.py"}


def test_submodules_within_each_other_end(
    app: Git, storage: CodeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submodule whose `.git` is that of the repository around it contains itself; depth and number have limits."""
    folder = app.root
    for _ in range(5):
        folder /= "vendor/lib"
        write(folder, {".git": f"gitdir: {app.root}/.git\n"})
    for name, limit, count in (("DEEPEST", 3, 3), ("MOST_SUBMODULES", 2, 2)):
        monkeypatch.setattr(f"sleuth.code.snapshots.indexing.{name}", limit)
        reports = list(index_path(storage, app.root, workers=1).all())
        assert len(reports) == 1 + count
        assert "one run indexes at most" in dict(reports[-1].skipped)["vendor/lib"]


def test_settings_of_a_submodule_run_nothing(app: Git, storage: CodeStorage, canaries: Canaries) -> None:
    """A submodule whose settings name programs is indexed at its commit and from its worktree; no program runs."""
    lib = at(app.root / "vendor/lib")
    lib.commit({".gitattributes": "* filter=evil diff=evil\n", "lib.py": "def in_lib(): ...\n"})
    app.commit({}, "newer")
    with (app.root / ".git/modules/vendor/lib/config").open("a") as config:
        config.write(canaries.settings())
    canaries.hooks(app.root / ".git/modules/vendor/lib/hooks")
    os.utime(lib.root / "lib.py", (1, 1))
    canaries.forget()
    for revision in (None, "HEAD"):
        report = index_path(storage, app.root, revision=revision, workers=1)
        assert len(list(report.all())) == 3
    hits = CodeRetriever(storage, None).retrieve("in_lib", str(lib.root), strategy="keyword")
    assert hits[0].file_path == "lib.py"
    assert canaries.ran == set()
