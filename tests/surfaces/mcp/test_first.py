"""The first call in a folder that is not indexed starts indexing and answers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sleuth import default_embedder, index_path, open_code
from sleuth.code.snapshots import gradual
from sleuth.engine import Workspace
from sleuth.engine import first_index as first
from tests.surfaces.project import git
from tests.waiting import wait_until

from .conftest import call, path_of


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a call wait until the first part is there, however busy the machine; the project is not in a home folder."""
    monkeypatch.setattr(first, "WORK", 60.0)
    monkeypatch.setattr(first, "LONGEST", 60.0)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def bare(project: Path) -> Path:
    """Return a project that is not indexed."""
    shutil.rmtree(project / ".sleuth")
    return project


@pytest.fixture
def workspace(bare: Path, open_workspace: Any) -> Workspace:
    """Return a workspace over the project without an index."""
    opened: Workspace = open_workspace(bare / ".sleuth", bare, index_first=True)
    return opened


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "how are tokens refilled"}),
        ("definitions", {"name": "TokenBucket.refill"}),
        ("references", {"name": "TokenBucket"}),
        ("history", {"name": "src/bucket.py"}),
        ("fetch", {"id": "src/bucket.py"}),
    ],
)
def test_the_first_call_answers(workspace: Workspace, tool: str, arguments: dict[str, Any]) -> None:
    """Each tool that asks about code answers at the first call, and git sees no new file."""
    answer = call(workspace, tool, **arguments)
    assert answer["results"] if tool != "fetch" else "class TokenBucket" in answer["text"]
    assert not git(workspace.index.parent, "status", "--porcelain")


def test_answers_grow_until_the_index_is_complete(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer says how much is covered and what is not; a later one has everything and says nothing."""
    monkeypatch.setattr(gradual, "_FIRST", 1_500)
    run_is_held = [True]
    check = gradual.FirstRun.check

    def held(run: gradual.FirstRun, *counts: int) -> None:
        check(run, *counts)
        if run.coverage().percent and not counts:
            wait_until(lambda: not run_is_held[0])

    monkeypatch.setattr(gradual.FirstRun, "check", held)
    answer = call(workspace, "search", query="TokenBucket refill seconds rate")
    run_is_held[0] = False
    assert {path_of(result) for result in answer["results"]} == {"src/bucket.py"}
    assert "%, not yet covered:" in answer["indexing"]
    assert "docs/ (1)" in answer["indexing"]
    assert answer["stale"] == {"files": None}
    wait_until(lambda: not workspace.indexing)
    answer = call(workspace, "search", query="a burst takes what there is")
    assert path_of(answer["results"][0]) == "docs/limits.md"
    assert "indexing" not in answer


def test_no_call_waits_for_vectors(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """While vectors are made, words answer and a note says so; then every file has its vectors."""
    is_held = [True]
    embedded = first.FirstIndex._embedded

    def held(run: first.FirstIndex, done: int, files: int) -> None:
        embedded(run, done, files)
        wait_until(lambda: not is_held[0])

    monkeypatch.setattr(first.FirstIndex, "_embedded", held)
    call(workspace, "search", query="how are tokens refilled")
    wait_until(lambda: "vectors" in workspace.indexing)
    answer = call(workspace, "search", query="how are tokens refilled")
    assert path_of(answer["results"][0]) == "src/bucket.py"
    assert answer["indexing"].startswith("100 %, words alone answer until all files have vectors: ")
    is_held[0] = False
    wait_until(lambda: not workspace.indexing)
    (snapshot,) = workspace.snapshots()
    keys = [file.key for file in snapshot.files if file.chunks]
    assert set(snapshot.storage.vectors(default_embedder().fingerprint, keys)) == set(keys)
    # A search has nothing to embed.
    monkeypatch.setattr("sleuth.dense.wordllama.WordLlamaEmbedder.embed_documents", None)
    assert "failures" not in call(workspace, "search", query="how are tokens refilled")


@pytest.mark.parametrize("reason", ["home", "parent of home", "temporary", "large"])
def test_a_folder_that_is_no_project_is_not_indexed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """The answer is empty, is no error, and names the command; nothing is written, and each call looks again."""
    root = workspace.index.parent
    measured = []
    why_unfit = first.why_unfit

    def measure(folder: Path) -> str:
        measured.append(folder)
        return why_unfit(folder)

    monkeypatch.setattr(first, "why_unfit", measure)
    if reason == "large":
        monkeypatch.setattr(
            "sleuth.code.snapshots.gradual.why_too_large", lambda root: "it has more than 50,000 files"
        )
    elif reason == "temporary":
        monkeypatch.setattr("tempfile.tempdir", str(root))
    else:
        monkeypatch.setenv("HOME", str(root if reason == "home" else root / "ada"))
    for _ in range(3):
        answer = call(workspace, "search", query="tokens")
        assert answer["results"] == []
        assert f"`sleuth code index {root}`" in answer["indexing"]
    assert len(measured) == 3
    assert not (root / ".sleuth").exists()
    with open_code(root / ".sleuth", create=True) as storage:
        index_path(storage, root, workers=1)
    answer = call(workspace, "search", query="tokens")
    assert answer["results"]
    assert "indexing" not in answer


def test_an_index_that_cannot_be_made_is_no_error(bare: Path, open_workspace: Any) -> None:
    """Where the index folder cannot be made, the answer says why and names an option."""
    (bare / "file").write_text("not a folder", "utf-8")
    workspace = open_workspace(bare / "file" / ".sleuth", bare, index_first=True)
    answer = call(workspace, "search", query="tokens")
    assert answer["results"] == []
    assert "--index FOLDER" in answer["indexing"]


def test_a_linked_worktree_gets_an_index_of_its_own(project: Path, open_workspace: Any) -> None:
    """In a linked worktree below an indexed one, the first call indexes that worktree beside the other index."""
    linked = project / "trees" / "old"
    git(project, "worktree", "add", "-q", str(linked), "v1")
    workspace = open_workspace(project / ".sleuth", linked, index_first=True)
    answer = call(workspace, "definitions", name="replenish")
    assert answer["indexed_root"] == str(linked)
    assert path_of(answer["results"][0]) == "src/bucket.py"


def test_a_closed_server_stops_indexing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing during the first run ends it; the next server completes the index."""
    monkeypatch.setattr(gradual, "_FIRST", 100)
    begun: list[gradual.FirstRun] = []
    check = gradual.FirstRun.check

    def slow(run: gradual.FirstRun, *counts: int) -> None:
        begun.append(run)
        wait_until(lambda: run._is_stopped or len(begun) < 2)
        check(run, *counts)

    with monkeypatch.context() as patch:
        patch.setattr(gradual.FirstRun, "check", slow)
        patch.setattr(first, "WORK", 0.01)
        call(workspace, "search", query="tokens")
        wait_until(lambda: len(begun) > 1)
        workspace.close()
    with Workspace(workspace.index, workspace.root, index_first=True) as again:
        assert call(again, "search", query="how are tokens refilled")["results"]
        wait_until(lambda: not again.indexing)
        assert "indexing" not in call(again, "status")


SCRIPT = """
import json, sys, time
from pathlib import Path
from sleuth.code.snapshots import gradual
from sleuth.engine import Workspace
from sleuth.engine import first_index as first
from sleuth.surfaces.mcp import Tools
gradual._FIRST, first.WORK = 1_000, 60.0
root = Path(sys.argv[1])
workspace = Workspace(root / ".sleuth", root, index_first=True)
tools = Tools(workspace)
first_answer = json.loads(tools.call("search", {"query": "how are tokens refilled"}))
while "indexing" in json.loads(tools.call("status", {})):
    time.sleep(0.05)
last = json.loads(tools.call("search", {"query": "a burst takes what there is"}))
workspace.close()
print(json.dumps([len(first_answer["results"]), last["results"][0]["id"]]))
"""


def test_two_servers_on_one_folder(bare: Path) -> None:
    """Two servers whose first calls come at the same time both answer, and leave one complete index."""
    servers = [
        subprocess.Popen([sys.executable, "-c", SCRIPT, str(bare)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for server in servers:
        output, _ = server.communicate(timeout=300)
        assert server.returncode == 0
        results, path = json.loads(output)
        assert results > 0
        assert path.startswith("docs/limits.md:")
    with open_code(bare / ".sleuth") as storage:
        (repository,) = storage.repositories()
        assert len(storage.snapshots(repository.id)) == 1
