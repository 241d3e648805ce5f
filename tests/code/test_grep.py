"""Every line that matches a pattern is found and counted, in time that grows with the text."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.code import CodeStorage, index_path
from sleuth.code.search import compile_pattern, grep
from sleuth.code.search.matching_lines import LineMatches, required_literal
from sleuth.engine import open_code
from sleuth.errors import ArgumentError
from sleuth.filters import as_filter
from tests.code.conftest import Git, opened
from tests.code.projects import SAMPLES
from tests.commands import sleuth
from tests.examples import examples

FILES = {
    "src/bucket.py": "class Bucket:\n    def refill(self):\n        return self.rate\n\n\n"
    "limit = 3  # refill, refill\n",
    "src/naïve.py": "größe = 'ÄÖ'\nx = 1",
    "docs/guide.md": "\ufeffRefill the bucket.\r\nRefill it again.\r\n",
    "data.bin": "refill\0\0\0",
    "long.txt": f"{'a ' * 400}refill{' b' * 400}\n" + "short\n" * 3,
    "empty.py": "",
}


@pytest.fixture
def root(git: Git) -> Path:
    """Return a repository with files of several kinds."""
    git.commit(dict(FILES))
    return git.root


@pytest.fixture
def storage(root: Path) -> Iterator[CodeStorage]:
    with open_code(root / ".sleuth", create=True) as code_index:
        index_path(code_index, root, workers=1)
        yield code_index


def places(result: LineMatches) -> list[tuple[str, int]]:
    return [(match.file_path, match.line) for match in result.matches]


@pytest.mark.parametrize(("pattern", "options", "expected"), SAMPLES["patterns"])
def test_lines_that_match(storage: CodeStorage, pattern: str, options: Any, expected: Any) -> None:
    """Each line is given once, by path and number; a match never crosses lines, and binary files are left out."""
    result = grep(opened(storage), compile_pattern(pattern, **options))
    if isinstance(expected, int):
        assert (result.lines, len(result.matches)) == (expected, expected)
    else:
        assert places(result) == [*map(tuple, expected)]
        assert (result.lines, result.files) == (len(expected), len({path for path, _ in expected}))


def test_pages_join_to_the_whole(storage: CodeStorage) -> None:
    """Whatever the limit and the offset are, all lines are counted, and pages join to all lines."""
    snapshot, pattern = opened(storage), compile_pattern("r")
    whole = grep(snapshot, pattern)
    assert whole.lines == len(whole.matches) > 5
    for size in (1, 2, 3):
        pages = [grep(snapshot, pattern, limit=size, offset=n) for n in range(0, whole.lines, size)]
        assert [match for page in pages for match in page.matches] == list(whole.matches)
        assert {page.lines for page in pages} == {whole.lines}


def test_what_a_match_says(storage: CodeStorage) -> None:
    """A match has the definition around it; a long line is cut around the match."""
    matches = grep(opened(storage), compile_pattern("refill")).matches
    assert [match.inside for match in matches] == ["", "Bucket.refill", "limit"]
    assert len(matches[0].text) == 300
    assert "refill" in matches[0].text


def test_files_that_changed_are_read_from_the_disk(storage: CodeStorage, root: Path) -> None:
    """New, changed and removed files count as they are on the disk; without the worktree, as they were indexed."""
    snapshot = opened(storage)
    (root / "new.py").write_text("refill = 1\n", "utf-8")
    (root / "src" / "bucket.py").write_text("# refill\n" * 2, "utf-8")
    (root / "long.txt").unlink()
    (root / "link.py").symlink_to(root / "new.py")
    pattern = compile_pattern("refill")
    now = grep(snapshot, pattern)
    assert places(now) == [("new.py", 1), ("src/bucket.py", 1), ("src/bucket.py", 2)]
    assert now.changed >= 3
    before = grep(snapshot, pattern, worktree=False)
    assert places(before) == [("long.txt", 1), ("src/bucket.py", 2), ("src/bucket.py", 6)]
    assert places(grep(snapshot, pattern, filter=as_filter("path:new.py"))) == [("new.py", 1)]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [("language:python", [2, 6]), ("kind:class", [2]), ("category:docs", []), ("path:src/bucket.py", [2, 6])],
)
def test_filters_are_those_of_a_search(storage: CodeStorage, filter: str, expected: list[int]) -> None:
    """A filter on metadata of files and of definitions holds for lines."""
    result = grep(opened(storage), compile_pattern("refill"), filter=as_filter(filter))
    assert [line for _, line in places(result) if _ == "src/bucket.py"] == expected
    assert result.lines == len(result.matches)


@pytest.mark.parametrize("pattern", ["", 5, "(", "a{2000}{2000}", r"(?=a)", r"(a)\1", "a\nb", "[b-a]"])
def test_patterns_that_are_refused(pattern: Any) -> None:
    """What is not a regular expression of RE2, or would need unbounded time or memory, is refused with a reason."""
    with pytest.raises(ArgumentError, match="pattern must be"):
        compile_pattern(pattern)


def test_time_grows_with_the_text() -> None:
    """A pattern that takes a backtracking engine longer than the universe exists is answered."""
    text = b"a" * 200_000 + b"!\n"
    assert not list(compile_pattern(r"^(a|aa|a*)*b$").starts(text))
    assert list(compile_pattern(r"^(a|aa)+!$").starts(text)) == [0]


PIECES = [  # no backtracking engine may be slow on these, as one is the judge
    "a", "b", "ab", "ba", ".", r"\.", r"\w", "[ab]", "[^a]", "(a)", "(ab|b)", "a?", "b*", "a{2}", "(ba)?",
    "x{0,1}", r"\b",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.text("abx.\n", max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_required_texts_lose_no_line(pieces: list[str], text: str) -> None:
    """Every match has the required text, and lines are those that Python's own engine finds."""
    pattern = "".join(pieces)
    literal = required_literal(pattern)
    for match in re.finditer(pattern, text):
        assert literal in match.group()
    expected = {n for n, line in enumerate(text.split("\n")) if re.search(pattern, line)}
    starts = compile_pattern(pattern).starts(text.encode())
    assert {text.encode().count(b"\n", 0, start) for start in starts} == expected


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"def refill\(", "def refill("), (r"\bTokenBucket\b", "TokenBucket"), ("foo|bar", ""),
        ("(?i)foo", ""), ("(?:foo)?bar", ""), ("colou?r", "colo"), (r"\x41bc", ""), (r"ab[cd]efg", "efg"),
        ("a{3}bc", "bc"),
    ],
)  # fmt: skip
def test_the_required_text_of_a_pattern(pattern: str, literal: str) -> None:
    """The longest plain text outside of groups and classes is required of a file before the pattern is tried."""
    assert required_literal(pattern) == literal


def test_the_command(root: Path) -> None:
    """`sleuth grep` prints path, line and text, counts what it leaves out, and exits with 1 for nothing."""
    sleuth("code", "index", ".", cwd=root)
    lines = ["src/bucket.py:2:    def refill(self):", "src/bucket.py:6:limit = 3  # refill, refill"]
    assert sleuth("grep", "refill", "src", cwd=root).stdout.splitlines() == lines
    assert "2 more lines; 3 in 2 files in all" in sleuth("grep", "refill", "-k", "1", cwd=root).stderr
    assert sleuth("grep", "-c", "-i", "refill", cwd=root).stdout == "5\n"
    answer = json.loads(sleuth("grep", "--json", "-F", "self.rate", cwd=root).stdout)
    assert (answer["lines"], answer["matches"][0]["inside"]) == (1, "Bucket.refill")
    assert sleuth("grep", "nothing_like_this", cwd=root).returncode == 1
    assert sleuth("grep", "(", cwd=root).returncode == 2
    other = Git(root.parent / "other")
    other.commit({"a.py": "refill = 1\n"})
    sleuth("code", "index", str(other.root), cwd=root)
    for paths, expected in ((["repository/src"], lines), (["other"], ["a.py:1:refill = 1"])):
        output = sleuth("grep", "refill", *paths, "--index", f"{root}/.sleuth", cwd=root.parent)
        assert output.stdout.splitlines() == expected
    refused = sleuth("grep", "refill", "src", "../other", cwd=root)
    assert (refused.returncode, "paths must be in one repository" in refused.stderr) == (2, True)
