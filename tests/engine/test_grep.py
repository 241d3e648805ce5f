"""Every line of a document that matches a pattern is found and counted."""

import json
import re
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth import ArgumentError, Document, Engine
from sleuth.engine.matching_lines import DocumentLines
from tests.code.conftest import write
from tests.commands import sleuth
from tests.examples import examples
from tests.surfaces.project import make_project

LONG = "\n\n".join(
    f"Paragraph {n} says that the bucket is full, and then some more of it." for n in range(200)
)
FILES = {
    "docs/limits.md": "# Limits\n\nTokens are refilled.\n\n\n## Buckets\n\nA bucket is refilled, refilled.\r\n",
    "docs/long.txt": LONG,
    "rows.csv": "name,note\nAnn,a bucket\nBob,a lake\nEve,the bucket\n",
}


@pytest.fixture
def engine(engine: Engine, tmp_path: Path) -> Engine:
    """Return an index of a folder with files of several formats."""
    engine.index([write(tmp_path, FILES)])
    return engine


def places(result: DocumentLines) -> list[tuple[str, int | None]]:
    return [(str(match.metadata["path"]), match.line) for match in result.matches]


def test_lines_are_those_of_the_files(engine: Engine) -> None:
    """Each line that matches is given once, with its number in the file, whatever passages a document is cut into."""
    result = engine.grep("bucket", ignore_case=True, limit=1000)
    expected = [
        (name, number)
        for name, text in FILES.items()
        for number, line in enumerate(text.splitlines(), 1)
        if "bucket" in line.lower()
    ]
    assert places(result) == expected
    assert (result.lines, result.documents) == (len(expected), 4)  # a row is a document
    first, second, *_ = engine.get("docs/long.txt")
    in_second = engine.grep("^Para", filter=f"path:docs/long.txt start_line={second.metadata['start_line']}")
    assert [match.id for match in in_second.matches] == [second.id] * in_second.lines
    assert 0 < in_second.lines < 200 and first.id != second.id


@pytest.mark.parametrize(
    ("pattern", "options", "expected"),
    [
        (r"^Tokens .*\.$", {}, [("docs/limits.md", 3)]),
        ("refilled.", {"fixed": True}, [("docs/limits.md", 3), ("docs/limits.md", 8)]),
        ("bucket", {"filter": "path:rows.csv"}, [("rows.csv", 2), ("rows.csv", 4)]),
        ("says.*says", {}, []),
        (r"full\W+Paragraph", {}, []),
    ],
)
def test_lines_that_match(engine: Engine, pattern: str, options: Any, expected: Any) -> None:
    """Patterns are those of code; a filter chooses passages, and a match never crosses lines."""
    result = engine.grep(pattern, **options)
    assert places(result)[:3] == expected
    assert result.lines == len(expected)


def test_a_scope_hides_lines(engine: Engine) -> None:
    """A view with a scope finds and counts the lines of its passages alone."""
    assert places(engine.scoped("type:csv").grep("bucket")) == [("rows.csv", 2), ("rows.csv", 4)]
    assert engine.scoped("type:csv").grep("refilled").lines == 0
    view = engine.scoped("tenant:a")
    view.add([Document("A secret bucket.", {"tenant": "a"}, id="own")])
    (match,) = view.grep("bucket").matches
    assert (match.id, match.line) == ("own#0", 1)


def test_pages_join_to_the_whole(engine: Engine) -> None:
    """Whatever the limit and the offset are, all lines are counted, and pages join to all lines."""
    whole = engine.grep("bucket", limit=1000)
    pages = [engine.grep("bucket", limit=7, offset=n) for n in range(0, whole.lines, 7)]
    assert [match for page in pages for match in page.matches] == list(whole.matches)
    assert {(page.lines, page.documents) for page in pages} == {(whole.lines, whole.documents)}
    with pytest.raises(ArgumentError, match="limit must be"):
        engine.grep("bucket", limit=-1)


def test_a_text_without_lines_of_a_file_has_none(tmp_path: Path) -> None:
    """A line of a format that is converted has no number; its text is found all the same."""
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr("notes.md", "One.\n\nA bucket.\n")
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        engine.index([tmp_path])
        (match,) = engine.grep("bucket").matches
    assert (match.line, match.text) == (None, "A bucket.")


@given(
    st.lists(st.text("ab .\n", max_size=60), min_size=1, max_size=4),
    st.sampled_from(["a", "b+", r"a\.", r"\bab\b"]),
)
@settings(max_examples=examples(15), deadline=None)
def test_no_line_is_lost(texts: list[str], pattern: str) -> None:
    """All lines that Python's own engine finds are counted, each at its number."""
    with TemporaryDirectory() as folder, Engine.open(folder, create=True, embedder="") as engine:
        engine.add([Document(text, id=str(n)) for n, text in enumerate(texts)])
        result = engine.grep(pattern)
    assert [(match.id.partition("#")[0], match.line) for match in result.matches] == [
        (str(n), number)
        for n, text in enumerate(texts)
        for number, line in enumerate(text.split("\n"), 1)
        if re.search(pattern, line)
    ]


def test_the_command_searches_documents_and_code(tmp_path: Path) -> None:
    """`sleuth grep` prints lines of both, each once; `--in` chooses; options of code are refused for documents."""
    root = make_project(tmp_path / "project")
    (root / "docs" / "new.csv").write_text("name,what\nAnn,token passing\n", "utf-8")
    sleuth("index", "docs", cwd=root)
    both = sleuth("grep", "-i", "token", cwd=root).stdout.splitlines()
    code = sleuth("grep", "-i", "token", "--in", "code", cwd=root).stdout.splitlines()
    documents = sleuth("grep", "-i", "token", "--in", "docs", cwd=root).stdout.splitlines()
    assert len({line.split(":")[0] for line in both}) == len(
        {line.split(":")[0] for line in [*code, *documents]}
    )
    assert len(both) == len(set(both)) >= len(code)
    assert documents
    answer = json.loads(sleuth("grep", "Ann", "docs", "--in", "docs", "--json", cwd=root).stdout)
    assert [(each["file_path"], each["line"]) for each in answer["matches"]] == [("docs/new.csv", 2)]
    assert sleuth("grep", "nothing_like_this", "--in", "docs", cwd=root).returncode == 1
    assert "--in must be docs or code" in sleuth("grep", "a", "--in", "web", cwd=root).stderr
    assert "--at must be left out" in sleuth("grep", "a", "--in", "docs", "--at", "v1", cwd=root).stderr
