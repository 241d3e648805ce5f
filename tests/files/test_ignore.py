"""Ignore files exclude the same files as in git, for documents and for code."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth.code.repository.sources import FolderSource, WorktreeSource
from sleuth.files import Rules
from sleuth.files.ignore import MAX_BYTES, Ignores
from sleuth.files.tree import IgnoredPaths, files_below
from sleuth.ingest import DiskFolders, FileEntry, ReadOptions, Skipped
from tests.code.conftest import need_git
from tests.examples import examples

Tree = dict[str, str]

NAMES = ["a", "b", "ab", "x.log", "y.md", "foo", "bar", "-", "[z", "ä.md"]
# fmt: off
GLOBS = [
    "*", "*.log", "?", "f*", "[ab]", "**", "***", "*o*", "*a*b*", "[!a]", "[^f]*", "[a-f]*", "[[:alpha:]]", "\\a",
    "[]a]", "b\\", "*.??", "[a-]", "[z-a]", "#a", "a ", "a\\ ", "**a", "[[z-a]", "[[[[[z-a]*", "[!z-a]", "[[:a]*",
    "[[:nothing:]]", "[a-c-e]", "[[:alpha:]-x]*", "[\\]a]", "[!]a]", "?.md", "??.md", "[\xc3\xa4]*", "*.*.",
]
# fmt: on
glob = st.one_of(
    st.sampled_from(NAMES), st.sampled_from(GLOBS), st.text("ab*?[]!-\\:.", min_size=1, max_size=6)
)
pattern = st.tuples(
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(glob, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/*", "/**"]),
).map(lambda parts: parts[0] + parts[1] + "/".join(parts[2]) + parts[3])
rules = st.lists(pattern, max_size=5).map(lambda lines: "\n".join([*lines, ""]))
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)


def write(root: Path, tree: Tree) -> None:
    for name, text in tree.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("latin-1") if text.isascii() or "\xc3" in text else text.encode())
        except OSError:  # a file where another has a folder
            continue


def git(root: Path, *arguments: str, stdin: bytes = b"") -> list[str]:
    command = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(root), *arguments]
    run = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout.decode().split("\0")[:-1]


def documents(root: Path) -> set[str]:
    """Return the paths that are read as documents, including hidden ones, without the ignore files."""
    entries = DiskFolders([root], ReadOptions(hidden=True)).list()
    paths = {entry.source.removeprefix(f"{root}/") for entry in entries if isinstance(entry, FileEntry)}
    return {path for path in paths if not path.endswith("ignore")}


def code(source: FolderSource | WorktreeSource) -> set[str]:
    return {file.path for file in source.listing().files if not file.path.endswith("ignore")}


@settings(max_examples=examples(60), deadline=None)
@given(
    files=st.lists(paths, min_size=1, max_size=12),
    top=rules,
    nested=st.dictionaries(st.sampled_from(NAMES), rules, max_size=2),
    excluded=rules,
)
@example(["a/[z"], "[[z-a]\n", {}, "")
@example(["x.log", "a/x.log"], "", {}, "*.log\n")
@example(["ä.md"], "?.md\n", {}, "")
@example([".a", "a"], "[./[[z-a]*\n", {}, "")
@example(["a"], "", {}, "\\/*\n")
def test_left_out_as_git_does(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], top: str, nested: Tree, excluded: str
) -> None:
    """In generated trees with `.gitignore` and `.git/info/exclude`, a path is excluded exactly if git excludes it."""
    need_git()
    root = tmp_path_factory.mktemp("repo")
    write(root, dict.fromkeys(files, "x"))
    folders = {name: text for name, text in nested.items() if (root / name).is_dir()}
    write(root, {".gitignore": top, **{f"{name}/.gitignore": text for name, text in folders.items()}})
    git(root, "init", "-q")
    write(root, {".git/info/exclude": excluded})
    present = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    present = {path for path in present if not path.startswith(".git/")}
    ignored = git(
        root, "check-ignore", "-z", "--stdin", stdin="".join(f"{path}\0" for path in present).encode()
    )
    visible = set(git(root, "ls-files", "-z", "--others", "--exclude-standard"))
    assert {path.decode() for path in files_below(root, lambda _, name: name == ".git")} == visible
    ours = IgnoredPaths(root)
    assert {path for path in present if path.encode() in ours} == present - visible
    assert present - visible == set(ignored)
    assert documents(root) == {path for path in visible if not path.endswith("ignore")}


@settings(max_examples=examples(40), deadline=None)
@given(
    files=st.lists(paths, min_size=1, max_size=12),
    top=rules,
    ours=rules,
    nested=st.dictionaries(st.sampled_from(NAMES), rules, max_size=2),
)
@example(["x.log", "y.md"], "*.log\n", "!x.log\ny.md\n", {})
def test_documents_and_code_agree(
    tmp_path_factory: pytest.TempPathFactory, files: list[str], top: str, ours: str, nested: Tree
) -> None:
    """Documents, a folder of code and a worktree exclude the same files by nested `.gitignore` and `.sleuthignore`."""
    need_git()
    root = tmp_path_factory.mktemp("tree")
    write(root, dict.fromkeys(files, "x"))
    folders = {name: text for name, text in nested.items() if (root / name).is_dir()}
    write(root, {".gitignore": top, ".sleuthignore": ours})
    write(root, {f"{name}/.sleuthignore": text for name, text in folders.items()})
    as_documents = documents(root)
    assert code(FolderSource(root)) == as_documents
    git(root, "init", "-q")
    assert code(WorktreeSource(root)) == as_documents


def test_a_tracked_file_that_sleuthignore_leaves_out(tmp_path: Path) -> None:
    """In a worktree `.sleuthignore` excludes tracked files too, and the snapshot then does not have the
    commit's id.
    """
    need_git()
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "a = 1\n", "made/b.py": "b = 1\n", ".gitignore": "made/\n"})
    git(tmp_path, "add", "-f", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    version, files, _ = WorktreeSource(tmp_path).listing()
    assert [file.path for file in files] == [".gitignore", "a.py", "made/b.py"]
    assert version.id == version.commit
    write(tmp_path, {".sleuthignore": "/a.py\n", ".git/info/exclude": ".sleuthignore\n"})
    version, files, _ = WorktreeSource(tmp_path).listing()
    assert [file.path for file in files] == [".gitignore", "made/b.py"]
    assert version.id != version.commit


def test_hostile_patterns_take_no_time(tmp_path: Path) -> None:
    """Patterns with many stars do not take exponential time, and unclosed brackets raise no error."""
    lines = [
        "*a" * 60 + "b", "**/a/" * 60 + "b", "*" * 1000 + "b", "[[[[[[[z-a]", "[" * 5000,
        "**/" * 300 + "*a" * 90 + "b",
    ]  # fmt: skip
    start = time.process_time()
    hostile = Rules.of(lines)
    assert hostile.verdict("/".join(["a" * 200] * 3), is_folder=False) is None
    assert hostile.verdict("/".join("a" * 1000), is_folder=False) is None
    write(tmp_path, {".gitignore": "\n".join(lines), "a" * 200: "x", "b.py": "x"})
    assert code(FolderSource(tmp_path)) == documents(tmp_path) == {"a" * 200, "b.py"}
    assert time.process_time() - start < 60, "it grows with the product of the stars"


def test_rules_that_keep_git_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If git takes too long to match a pattern, it is killed, and the files are listed without its rules."""
    need_git()
    monkeypatch.setattr("sleuth.code.repository.git._RULES_SECONDS", 1.0)
    deep = "/".join("a" * 40) + "/x.py"
    write(tmp_path, {"tracked.py": "x", deep: "x", ".gitignore": "**/a/" * 12 + "b\n*.log\n", "a.log": "x"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "tracked.py")
    start = time.monotonic()
    source = WorktreeSource(tmp_path)
    assert code(source) == {"tracked.py", deep}
    assert time.monotonic() - start < 60, "git compares for hours"


def test_ignore_files_that_are_no_files(tmp_path: Path) -> None:
    """A pipe, a link or a folder in the place of an ignore file is ignored, as in git."""
    write(tmp_path, {"a/x.md": "x", "b/x.md": "x", "c/x.md": "x", "rules": "*\n"})
    os.mkfifo(tmp_path / "a" / ".gitignore")
    (tmp_path / "b" / ".gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "c" / ".gitignore").mkdir()
    assert documents(tmp_path) == {"a/x.md", "b/x.md", "c/x.md", "rules"}
    assert code(FolderSource(tmp_path)) == documents(tmp_path)


def test_an_ignore_file_of_many_patterns(tmp_path: Path) -> None:
    """Only the start of an ignore file that is too large applies, and the run reports it."""
    write(tmp_path, {".gitignore": "*.log\n" + "#" * MAX_BYTES + "\n*.md\n", "a.log": "x", "b.md": "x"})
    assert documents(tmp_path) == {"b.md"}
    (skip,) = [entry for entry in DiskFolders([tmp_path]).list() if isinstance(entry, Skipped)]
    assert skip == Skipped(
        str(tmp_path), f"ignore files of more than {MAX_BYTES:,} bytes are not read to their end", "limits"
    )


def test_rules_of_a_linked_worktree(tmp_path: Path) -> None:
    """The exclude file of a repository applies in its linked worktrees; a `.git` file that points
    nowhere is harmless.
    """
    (tmp_path / "repo" / ".git" / "worktrees" / "w").mkdir(parents=True)
    write(tmp_path / "repo" / ".git", {"info/exclude": "*.log\n", "worktrees/w/commondir": "../..\n"})
    write(tmp_path / "w", {".git": f"gitdir: {tmp_path}/repo/.git/worktrees/w\n", "a.log": "x", "b.md": "x"})
    assert documents(tmp_path / "w") == {"b.md"}
    for broken in ("", "gitdir: \0", "gitdir: /nowhere", "x" * 10_000):
        write(tmp_path / "w", {".git": broken})
        assert documents(tmp_path / "w") == {"a.log", "b.md"}
    assert Ignores().for_subfolder(str(tmp_path / "w")).rules == ()
