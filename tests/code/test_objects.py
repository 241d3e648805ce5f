"""Git objects are read as git itself reads them."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sleuth.code.repository.git import GONE
from sleuth.code.repository.objects import Objects
from sleuth.errors import CodeError, SleuthError
from sleuth.remote.cancellation import Cancellation, context_of
from tests.code.conftest import Git
from tests.code.projects import SHOP
from tests.waiting import wait_until


@pytest.fixture(params=["sha1", "sha256"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Git:
    """Return a repository with SHA-1 or SHA-256 names."""
    git = Git(tmp_path / "repository", request.param)
    assert git("rev-parse", "--show-object-format").strip() == request.param
    return git


def test_names(repository: Git) -> None:
    """A branch, a tag, an expression and an abbreviated id resolve to a commit; an unknown name is reported."""
    first = repository.commit(dict(SHOP))
    repository("tag", "-a", "v1", "-m", "one")
    second = repository.commit({"a.py": "a = 1\n"})
    assert (
        len(second) == int(repository("config", "--default", "0", "extensions.objectformat") != "0") * 24 + 40
    )
    objects = Objects(repository.root)
    names = {"HEAD": second, "HEAD~1": first, "v1": first, first[:9]: first, second: second}
    assert {name: objects.commit(name) for name in names} == names
    for wrong in ("nope", "", "HEAD\nHEAD", "-x", "HEAD:a.py", "a b", "x" * 100_000):
        with pytest.raises(CodeError, match="revision must be a commit, branch or tag"):
            objects.commit(wrong)
        assert objects.commit("HEAD") == second


def test_contents(repository: Git) -> None:
    """Objects are returned in the requested order, and a missing one is reported."""
    texts = [f"text {n}\n".encode() * n for n in range(200)]
    repository.commit({f"{n}.txt": text for n, text in enumerate(texts)})
    names = [repository("rev-parse", f"HEAD:{n}.txt") for n in range(200)]
    objects = Objects(repository.root)
    assert list(objects.read(names)) == texts
    assert next(objects.read(names)) == texts[0]
    assert list(objects.read(names[7:9])) == texts[7:9]
    with pytest.raises(CodeError, match="git fetch --refetch"):
        list(objects.read([names[1], "0" * 40, names[2]]))
    assert list(objects.read(names[:2])) == texts[:2]
    objects.close()
    assert list(objects.read(names[:2])) == texts[:2]


def test_differences(repository: Git) -> None:
    """The differences between two commits equal those of `git diff-tree`."""
    steps: list[tuple[dict[str, str | bytes], list[str]]] = [
        ({**SHOP, "lib/a.py": "a = 1\n", "lib/deep/er/b.py": "b = 1\n"}, []),
        ({"lib": "now a file\n", 'tab\tand "quote".py': "c = 1\n"}, ["lib/a.py", "lib/deep/er/b.py"]),
        ({"lib/deep/er/b.py": "b = 2\n", "é/ü.py": "d = 1\n"}, ["lib", "shop/payment.py"]),
        ({}, []),
    ]
    commits = []
    for files, deletions in steps:
        for name in deletions:
            path = repository.root / name
            path.unlink()
            for folder in path.parents[: name.count("/")]:
                if not any(folder.iterdir()):
                    folder.rmdir()
        commits.append(repository.commit(files))
    objects = Objects(repository.root)
    for before in commits:
        for after in commits:
            raw = repository("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", before, after).split(
                "\0"
            )[:-1]
            expected = {}
            for head, name in zip(raw[::2], raw[1::2], strict=True):
                _, mode, _, id, status = head.split(" ")
                expected[name] = (GONE, "") if status == "D" else (mode, id)
            changes = objects.differences(before, after)
            assert len(changes) == len({entry.path for entry in changes})
            assert {path: (mode, "" if mode == GONE else id) for mode, id, path in changes} == expected


@pytest.mark.parametrize("name", ["HEAD", ":/one"])
@pytest.mark.parametrize("place", ["settings", "shallow"])
def test_a_pipe_ends_the_wait(
    place: str, name: str, repository: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where git waits for a pipe, the first answer is awaited for a while; without the pipe there is one."""
    monkeypatch.setattr("sleuth.code.repository.process.SHORT_SECONDS", 0.2)
    monkeypatch.setattr("sleuth.code.repository.process.LONG_SECONDS", 0.2)
    commit = repository.commit(dict(SHOP), "one")
    repository("config", "include.path", "settings")
    pipe = repository.root / ".git" / place
    os.mkfifo(pipe)
    objects = Objects(repository.root)
    with pytest.raises(CodeError, match="took more than"):
        objects.commit(name)
    monkeypatch.undo()
    pipe.unlink()
    assert objects.commit(name) == commit


def test_a_wait_ends_with_its_caller(repository: Git) -> None:
    """Git that waits for a pipe ends when the request does."""
    repository.commit(dict(SHOP))
    pipe = repository.root / ".git" / "shallow"
    os.mkfifo(pipe)
    objects, cancellation = Objects(repository.root), Cancellation()
    with ThreadPoolExecutor(1) as pool:
        lookup = pool.submit(context_of(cancellation).run, objects.commit, "HEAD")
        wait_until(lambda: objects._process is not None)
        cancellation.cancel()
        with pytest.raises(SleuthError, match="cancelled"):
            lookup.result(60)
    assert objects._process is None


def test_what_runs_ends(repository: Git) -> None:
    """The git process ends with the object that started it."""
    repository.commit(dict(SHOP))
    objects = Objects(repository.root)
    objects.commit("HEAD")
    process = objects._process
    assert process is not None
    assert process.poll() is None
    del objects
    assert process.returncode is not None
