"""The examples, links and commands of the README are true."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
README = HOME / "README.md"
PICTURE = runpy.run_path(str(HOME / "tools" / "terminal_picture.py"))


def test_the_python_example_prints_its_output(tmp_path: Path) -> None:
    """The Python example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf8"), re.DOTALL)
    assert match
    code, expected = match.groups()
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == expected


def test_the_commands_print_their_outputs() -> None:
    """Every command at the shell prints what the README shows, to the last character."""
    text = README.read_text("utf8")
    assert PICTURE["with_outputs"](text) == text
    assert text.count("$ sleuth ") >= 5


def test_the_readme_is_short() -> None:
    """It has at most 120 lines."""
    assert len(README.read_text("utf8").splitlines()) < 120


TASKS = {
    "search documents": "search-documents",
    "filter by date": "filter-by-date",
    "update and delete": "update-and-delete",
    "chunk size": "chunk-size",
    "choose a model": "choose-a-model",
    "GPU": "gpu-or-hosted-embedder",
    "hosted embedder": "gpu-or-hosted-embedder",
    "rerank": "rerank",
    "ask with a model": "ask-with-a-model",
    "search code": "index-code",
    "agents": "agents",
    "serve with keys": "serve-with-keys",
    "back up": "back-up",
    "move to a cluster": "cluster",
    "LangChain": "frameworks",
    "write a plugin": "write-a-plugin",
    "big corpus": "big-corpus",
    "each tenant": "tenants",
    "hosted knowledge bases": "knowledge-bases",
    "archives, mail": "archives-and-mail",
    "repair an index": "check-and-repair",
    "combine retrievers": "combine-retrievers",
    "clients of OpenAI": "clients-of-others",
    "add a language of code": "add-a-language",
}
"""The page of each task, by words of the task."""


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_found(task: str) -> None:
    """One link whose text names the task leads to its page: a link of the README, or of the list of all pages."""
    steps = [README, HOME / "docs" / "README.md"]
    assert "[All pages](docs/README.md)" in README.read_text("utf8")
    hits = [
        {(page.parent / target).resolve() for text, target in links(page) if task.lower() in text.lower()}
        for page in steps
    ]
    expected = HOME / "docs" / "how-to" / f"{TASKS[task]}.md"
    assert next(pages for pages in hits if pages) == {expected}


def links(page: Path) -> list[tuple[str, str]]:
    """Return texts and targets of the links of a page."""
    return re.findall(r"\[([^\]]+)\]\(([^)#]+)", page.read_text("utf8"))


def test_the_first_screen_names_the_five_systems() -> None:
    """The first 25 lines link the page about the five systems."""
    assert "](docs/five-systems.md)" in "\n".join(README.read_text("utf8").splitlines()[:25])
