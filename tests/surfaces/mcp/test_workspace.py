"""Answers come from the requested worktree and its current files."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from sleuth import index_path, open_code
from sleuth.errors import SleuthError
from sleuth.surfaces.mcp import Tools
from tests.surfaces.project import git

from .conftest import call, refusal


def test_changed_files_are_indexed_in_the_background(project: Path, open_workspace: Any) -> None:
    """A definition and a sentence written after indexing are found by the next call."""
    workspace = open_workspace(project / ".sleuth", project)
    assert call(workspace, "status").get("stale", {"files": 0})["files"] in (0, None)
    workspace.refresher.finish()
    (project / "src" / "new.py").write_text("def brand_new():\n    return 1\n", "utf-8")
    (project / "docs" / "limits.md").write_text("Quotas are per month.", "utf-8")
    workspace.refresher.rest = 0.0
    assert workspace.refresher.check(20.0).files == 0
    assert call(workspace, "definitions", name="brand_new")["results"]
    docs = call(workspace, "search", query="quotas", sources=["docs"])["results"]
    assert docs[0]["text"] == "Quotas are per month."


@pytest.mark.parametrize("change", ["a file", "a checkout"])
def test_files_that_were_not_compared_are_not_called_unchanged(
    project: Path, open_workspace: Any, change: str
) -> None:
    """While the comparison rests, the number of changed files is unknown; the next comparison gives it."""
    workspace = open_workspace(project / ".sleuth", project, refresh=False)
    assert workspace.refresher.check(20.0).files == 0
    workspace.refresher.rest = 1e9
    if change == "a file":
        (project / "src" / "bucket.py").write_text("def brand_new():\n    return 1\n", "utf-8")
    else:
        git(project, "checkout", "-q", "v1")
    for tool, arguments in (
        ("search", {"query": "tokens"}),
        ("definitions", {"name": "refill"}),
        ("status", {}),
    ):
        assert call(workspace, tool, **arguments)["stale"] == {"files": None}
    workspace.refresher.rest = 0.0
    assert workspace.refresher.check(20.0).files


def test_without_refresh_changes_are_counted(project: Path, open_workspace: Any) -> None:
    """Without refreshing the index is unchanged, and answers name the changed files as ids do."""
    workspace = open_workspace(project / ".sleuth", project, refresh=False)
    (project / "docs" / "limits.md").write_text("Quotas are per month.", "utf-8")
    (project / "src" / "bucket.py").unlink()
    workspace.refresher.check(20.0)
    stale = call(workspace, "definitions", name="TokenBucket")["stale"]
    assert stale["files"] == 2
    assert set(stale["paths"]) == {"docs/limits.md", "src/bucket.py"}


def test_too_many_changes_are_left_to_the_command(
    project: Path, open_workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit nothing is indexed, and the answer says how many files are stale."""
    monkeypatch.setattr("sleuth.engine.freshness.MAX_CHANGED", 3)
    for n in range(5):
        (project / "src" / f"n{n}.py").write_text(f"n = {n}\n", "utf-8")
    workspace = open_workspace(project / ".sleuth", project)
    workspace.refresher.check(20.0)
    assert call(workspace, "status")["stale"]["files"] == 5


def test_a_linked_worktree_is_not_answered_from_another_one(project: Path, open_workspace: Any) -> None:
    """An index of the main worktree is refused in a linked one below it."""
    linked = project / "trees" / "old one"
    git(project, "worktree", "add", "-q", str(linked), "v1")
    message = refusal(open_workspace(project / ".sleuth", linked), "search", query="tokens")
    assert str(project) in message
    assert f"`sleuth code index '{linked}' --index '{linked / '.sleuth'}'`" in message
    with open_code(linked / ".sleuth", create=True) as storage:
        index_path(storage, linked, workers=1)
    answer = call(open_workspace(linked / ".sleuth", linked), "definitions", name="replenish")
    assert answer["indexed_root"] == str(linked)
    assert answer["results"][0]["id"].startswith("src/bucket.py:")


def test_an_index_of_several_worktrees_answers_for_the_one_asked(
    project: Path, tmp_path: Path, open_workspace: Any
) -> None:
    """With two checkouts in one index, only that of the root answers."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(project), str(other))
    shared = tmp_path / "shared"
    with open_code(shared, create=True) as storage:
        for folder in (project, other):
            index_path(storage, folder, workers=1)
    for folder in (project, other):
        answer = call(open_workspace(shared, folder), "definitions", name="TokenBucket")
        assert answer["indexed_root"] == str(folder)
        assert [result["id"] for result in answer["results"]] == ["src/bucket.py:4-9"]
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert f"`sleuth code index '{elsewhere}'`" in refusal(
        open_workspace(shared, elsewhere), "definitions", name="TokenBucket"
    )


def test_an_index_that_is_made_later_is_found(project: Path, open_workspace: Any) -> None:
    """Without an index the answer names the commands, and none is made; an index that is created later is used."""
    index = project / "later"
    workspace = open_workspace(index, project)
    message = refusal(workspace, "search", query="tokens")
    assert "sleuth index" in message
    assert "sleuth code index" in message
    assert not index.exists()
    shutil.copytree(project / ".sleuth", index)
    assert call(workspace, "search", query="tokens")["results"]


def test_ids_of_text_that_changed_say_so(project: Path, open_workspace: Any) -> None:
    """An id from before an edit returns the current lines, marked as changed."""
    workspace = open_workspace(project / ".sleuth", project)
    (result,) = call(workspace, "search", query="token bucket", kind="class")["results"]
    text = (project / "src/bucket.py").read_text("utf-8")
    (project / "src/bucket.py").write_text(text.replace("often", "seldom"), "utf-8")
    (project / "src/@types.py").write_text("x = 1\n")
    workspace.refresher.finish()
    workspace.refresher.rest = 0.0
    workspace.refresher.check(20.0)
    answer = call(workspace, "fetch", id=result["id"])
    assert answer["changed"] is True
    assert "seldom" in answer["text"]
    assert "changed" not in call(workspace, "fetch", id="src/@types.py:1")


def test_a_failing_refresh_does_not_fail_the_answer(project: Path, open_workspace: Any) -> None:
    """If files cannot be compared, the answer says why it may be stale."""
    workspace = open_workspace(project / ".sleuth", project)
    Tools(workspace).call("status", {})
    workspace.refresher.finish()
    (project / ".git" / "HEAD").write_text("broken", "utf-8")
    workspace.refresher.rest = 0.0
    try:
        workspace.refresher.check(20.0)
        assert call(workspace, "search", query="tokens")["stale"]["error"]
    except SleuthError:
        pytest.fail("a refresh that failed was raised")
