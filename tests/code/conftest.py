"""Fixtures: a small shop in several languages, as a folder, as a git repository, and indexed."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import CodeRetriever, CodeStorage, RetrievedContext, Snapshot, index_path
from sleuth.code.parsing.detail import Detail
from sleuth.code.parsing.parse import tables_of
from sleuth.engine import open_code
from tests.code.projects import PROJECT, SHOP
from tests.commands import sleuth


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, and return it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def parse_source(source: bytes, language: str, path: str = "") -> Detail:
    """Return what a source holds, parsed here and now."""
    return Detail(source, language, path, tables_of(source, language))


def text_of(snapshot: Snapshot, path: str) -> str:
    """Return the text of a file at a snapshot."""
    return snapshot.source(snapshot.file(path)).decode("utf-8", "surrogatepass")


def opened(storage: CodeStorage, repository: str = "", at: str | None = None) -> Snapshot:
    """Return a snapshot, by default the newest, of a repository, by default the first one."""
    known = storage.repository(repository or storage.repositories()[0].id)
    return storage.open_snapshot(known, storage.snapshot(known, at))


def snapshot_of(storage: CodeStorage, root: Path, revision: str | None = None) -> Snapshot:
    """Index a version of a repository and return its snapshot."""
    report = index_path(storage, root, revision=revision, workers=1)
    return opened(storage, report.repository, report.snapshot)


def open_project(storage: CodeStorage, root: Path, files: Mapping[str, str | bytes]) -> Snapshot:
    """Index a few files and return their snapshot."""
    write(root, files)
    return snapshot_of(storage, root)


def hits_by_words(
    storage: CodeStorage, repository: str, query: str, **options: Any
) -> list[RetrievedContext]:
    """Return what a search by words alone finds in a repository."""
    return CodeRetriever(storage, None).retrieve(query, repository, strategy="keyword", **options)


def run(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `sleuth code` in a folder."""
    return sleuth("code", *arguments, cwd=folder, stdin=stdin)


def answer(folder: Path, *arguments: str, stdin: str = "") -> Any:
    """Return the JSON that `sleuth code` prints."""
    process = run(folder, *arguments, "--json", stdin=stdin)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def need_git() -> None:
    """Skip a test where git cannot run."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


class Git:
    """A repository that tests commit to, whose ids are of SHA-1 or SHA-256."""

    def __init__(self, root: Path, ids: str = "sha1") -> None:
        need_git()
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", f"--object-format={ids}")

    def __call__(self, *arguments: str) -> str:
        return self._run("git", *arguments)

    def script(self, text: str) -> None:
        """Run lines of a shell in the folder, of which each has to succeed."""
        self._run("bash", "-ec", text)

    def _run(self, *command: str) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
        }  # fmt: skip
        result = subprocess.run(command, cwd=self.root, capture_output=True, check=True, env=env)
        return result.stdout.decode().strip()

    def commit(self, files: dict[str, str | bytes], message: str = "change") -> str:
        """Write files, commit everything, and return the commit."""
        write(self.root, files)
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[CodeStorage]:
    """Return an empty code index."""
    with open_code(tmp_path / "index", create=True) as code_index:
        yield code_index


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Return an empty repository."""
    return Git(tmp_path / "repository")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CodeStorage, str]]:
    """Index the shop and return the id of its repository."""
    root = tmp_path_factory.mktemp("shop")
    write(root, dict(SHOP))
    with open_code(tmp_path_factory.mktemp("index"), create=True) as code_index:
        yield code_index, index_path(code_index, root, workers=1).repository


@pytest.fixture(scope="session")
def snapshot(shop: tuple[CodeStorage, str]) -> Snapshot:
    """Return the snapshot of the shop."""
    return opened(*shop)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Index the project and return its snapshot."""
    with open_code(tmp_path_factory.mktemp("index"), create=True) as code_index:
        yield open_project(code_index, tmp_path_factory.mktemp("project"), PROJECT)


@pytest.fixture(scope="session")
def ask(shop: tuple[CodeStorage, str]) -> Callable[..., list[str]]:
    """Return the paths that answer a query over the shop, best first, one per hit."""

    def answer(query: str, **options: Any) -> list[str]:
        return [hit.file_path for hit in hits_by_words(*shop, query, **options)]

    return answer
