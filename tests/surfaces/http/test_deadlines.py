"""Work for a cancelled request stops."""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sleuth import CodeRetriever, Engine, index_path, open_code
from sleuth.code import Navigator, repository_map
from sleuth.code.repository.commits import commits_of
from sleuth.errors import SleuthError
from sleuth.remote.cancellation import Cancellation, context_of
from tests.waiting import wait_until

CALLS: dict[str, Callable[[Engine], Any]] = {
    "retrieve": lambda engine: engine.retrieve("tokens"),
    "facets": lambda engine: engine.facets(["tenant"], query="tokens"),
    "count": lambda engine: engine.count("year>=2020"),
    "list": lambda engine: engine.list_documents(),
}


def after_its_end(call: Callable[[], Any]) -> None:
    """Call a function for a caller that has gone; it must do nothing.

    Raises:
        SleuthError: as it must.
    """
    cancellation = Cancellation()
    context = context_of(cancellation)
    context.run(call)
    cancellation.cancel()
    context.run(call)


@pytest.mark.parametrize("name", CALLS)
def test_documents_are_not_read_for_nobody(index: Path, name: str) -> None:
    """Searches, facets, counts and lists stop after the request's deadline."""
    with Engine.open(index) as engine, pytest.raises(SleuthError, match="cancelled"):
        after_its_end(lambda: CALLS[name](engine))


def test_code_is_not_read_for_nobody(tmp_path: Path) -> None:
    """Searches for code, uses of names and maps stop after it too."""
    (tmp_path / "shop.py").write_text("def refill():\n    return 1\n\n\nrefill()\n", "utf-8")
    with open_code(tmp_path / ".sleuth", create=True) as storage:
        index_path(storage, tmp_path, workers=1)
        (repository,) = storage.repositories()
        snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
        with pytest.raises(SleuthError, match="cancelled"):
            after_its_end(
                lambda: CodeRetriever(storage, None).retrieve("refill", repository.id, strategy="keyword")
            )
        with pytest.raises(SleuthError, match="cancelled"):
            after_its_end(lambda: Navigator(snapshot).find_references("refill"))
        with pytest.raises(SleuthError, match="cancelled"):
            after_its_end(lambda: repository_map(snapshot))


def test_git_is_ended_with_its_caller(tmp_path: Path) -> None:
    """A git that lists the history of a file ends when the request does, also where it would wait for ever."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    pipe = tmp_path / "settings"
    os.mkfifo(pipe)
    with (tmp_path / ".git" / "config").open("a") as settings:
        settings.write(f"[include]\n\tpath = {pipe}\n")
    cancellation, earlier = Cancellation(), Cancellation()
    earlier.cancel()
    with pytest.raises(SleuthError, match="cancelled"):
        context_of(earlier).run(commits_of, tmp_path, "shop.py")
    context = context_of(cancellation)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(context.run, commits_of, tmp_path, "shop.py")
        writers: list[int] = []

        def is_read() -> bool:
            """Whether git has opened its settings, which never end."""
            with suppress(OSError):
                writers.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return bool(writers)

        wait_until(is_read)
        cancellation.cancel()
        with pytest.raises(SleuthError, match="cancelled"):
            job.result(60)
        os.close(writers[0])
