"""A first run indexes a folder in parts, each of which answers."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.code.search.retriever import SnapshotRetriever
from sleuth.code.snapshots import gradual
from sleuth.code.snapshots.gradual import FirstRun, StoppedError, is_partial, why_too_large
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code
from sleuth.engine.codebase import check_code
from sleuth.errors import IndexNotFoundError
from tests.code.conftest import Git, opened
from tests.waiting import wait_until

FILES = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository of many small files that is not indexed."""
    git = Git(tmp_path / "many")
    names = [f"{('src', 'tests')[number % 2]}/module_{number:02}.py" for number in range(FILES)]
    git.commit(
        {name: f"def function_{name[-5:-3]}():\n    return {number}\n" for number, name in enumerate(names)}
    )
    return git.root


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Make the first part small, and return the reports of all parts."""
    reports: list[Any] = []

    def indexed(*args: Any, **options: Any) -> Any:
        reports.append(index_source(*args, **options))
        return reports[-1]

    monkeypatch.setattr(gradual, "index_source", indexed)
    monkeypatch.setattr(gradual, "_FIRST", 5_000)
    return reports


def newest_paths(storage: CodeStorage) -> set[str]:
    return set(opened(storage).by_path)


def test_the_last_part_is_the_index_of_any_run(folder: Path, tmp_path: Path, parts: list[Any]) -> None:
    """Parts grow; afterwards the index has one snapshot, that of `index_path`, and each file was read once."""
    with (
        open_code(tmp_path / "gradual", create=True) as storage,
        open_code(tmp_path / "whole", create=True) as whole,
    ):
        FirstRun(storage, folder).run()
        assert [report.files for report in parts] == sorted({report.files for report in parts})
        assert 0 < parts[0].files < FILES
        assert sum(report.added for report in parts) == parts[-1].files
        report = index_path(whole, folder)
        (repository,) = storage.repositories()
        assert [snapshot.id for snapshot in storage.snapshots(repository.id)] == [report.snapshot]
        assert newest_paths(storage) == newest_paths(whole)
    assert {finding.level for finding in check_code(tmp_path / "gradual", full=True)} == {"ok"}


def test_files_that_a_question_is_about_come_first(folder: Path, tmp_path: Path, parts: list[Any]) -> None:
    """The first part has the file with the question's word, and search finds it there; code comes before tests."""
    with open_code(tmp_path / "index", create=True) as storage:
        run = FirstRun(storage, folder)
        run.words = ("function_59",)
        path_sets: list[set[str]] = []
        check = run.check

        def after_the_first_part(*counts: int) -> None:
            check(*counts)
            if len(parts) == 1 and not counts:
                path_sets.append(newest_paths(storage))
                coverage = run.coverage()
                assert (coverage.files, coverage.percent) == (FILES, 100 * len(path_sets[0]) // FILES)
                assert sum(coverage.missing.values()) == FILES - len(path_sets[0])
                repository = storage.repositories()[0].id
                (hit,) = SnapshotRetriever(storage, repository).retrieve("function_59", 1)
                assert hit.metadata["path"] == "tests/module_59.py"

        run.check = after_the_first_part  # type: ignore[method-assign]
        run.run()
    assert len(path_sets) == 1
    assert {path for path in path_sets[0] if path.startswith("tests/")} == {"tests/module_59.py"}


def test_a_stopped_run_is_continued(folder: Path, tmp_path: Path, parts: list[Any]) -> None:
    """After a stop the newest snapshot is a part; the next run reads only the other files."""
    with open_code(tmp_path / "index", create=True) as storage:
        run = FirstRun(storage, folder)
        check = run.check

        def stop_after_the_first_part(*counts: int) -> None:
            if parts:
                run.stop()
            check(*counts)

        run.check = stop_after_the_first_part  # type: ignore[method-assign]
        with pytest.raises(StoppedError):
            run.run()
        (repository,) = storage.repositories()
        assert is_partial(storage.snapshot(repository))
        covered = parts[0].files
        FirstRun(storage, folder).run()
        assert not is_partial(storage.snapshot(repository))
        assert sum(report.added for report in parts[1:]) <= FILES - covered
        assert len(newest_paths(storage)) == FILES


def test_a_killed_run_is_continued(folder: Path, tmp_path: Path) -> None:
    """A process that is killed after its first part leaves a sound index, which the next run completes."""
    script = (
        "import sys; from pathlib import Path; from sleuth.code.snapshots import gradual\n"
        "from sleuth.engine import open_code\n"
        "gradual._FIRST = 3_000\n"
        "with open_code(sys.argv[1], create=True) as storage: gradual.FirstRun(storage, Path(sys.argv[2])).run()"
    )
    index = tmp_path / "index"
    process = subprocess.Popen([sys.executable, "-c", script, str(index), str(folder)])

    def has_a_part() -> bool:
        try:
            with open_code(index) as storage:
                return any(storage.snapshots(repository.id) for repository in storage.repositories())
        except IndexNotFoundError:
            return False

    wait_until(has_a_part)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with open_code(index) as storage:
        FirstRun(storage, folder).run()
        assert len(newest_paths(storage)) == FILES
    assert {finding.level for finding in check_code(index, full=True)} == {"ok"}


@pytest.mark.parametrize(("name", "most", "reason"), [
    ("MOST_FILES", FILES - 1, f"more than {FILES - 1} files"), ("MOST_BYTES", 100, "more than 0 MB"),
    ("MEASURING", -1.0, "cannot be counted"), ("MOST_FILES", FILES, ""),
])  # fmt: skip
def test_a_large_folder_is_measured_no_further_than_needed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: float, reason: str
) -> None:
    """The number, the size and the time to count files are bounded; at the bound a folder is fine."""
    monkeypatch.setattr(f"sleuth.code.snapshots.gradual.{name}", most)
    assert reason in why_too_large(folder)
    assert bool(reason) == bool(why_too_large(folder))


def test_hostile_folders_are_indexed(tmp_path: Path) -> None:
    """Loops of links, unreadable folders, odd names and pipes neither stop nor fail a first run."""
    root = tmp_path / "hostile"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "loop").symlink_to(root, target_is_directory=True)
    (root / "self").symlink_to(root / "self")
    os.mkfifo(root / "pipe")
    closed = root / "closed"
    closed.mkdir()
    (closed / "secret.py").write_text("x = 1\n", "utf-8")
    (root / "new\nline.py").write_text("def odd_name():\n    pass\n", "utf-8")
    closed.chmod(0)
    try:
        assert not why_too_large(root)
        with open_code(root / ".sleuth", create=True) as storage:
            FirstRun(storage, root).run()
            assert "secret.py" not in newest_paths(storage)
            hits = SnapshotRetriever(storage, storage.repositories()[0].id).retrieve("odd_name", 5)
            assert any("odd_name" in repr(hit.text) for hit in hits)
    finally:
        closed.chmod(0o700)
