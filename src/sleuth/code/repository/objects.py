"""Reads git objects, many in one run of git; computes their ids, and undoes what a checkout converted."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import subprocess
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO

from sleuth.code.repository.git import GONE, Entry, text_of
from sleuth.code.repository.process import SlowGitError, await_output, pipes, start
from sleuth.errors import CodeError, UnknownSnapshotError

_AT_ONCE = 64
"""Objects asked for before the first is read: so few that neither pipe fills while the other side waits."""
_ANSWER = re.compile(rb"([0-9a-f]{40,64}) ([a-z]+) ([0-9]+)\n")
_SEARCH = re.compile(r":/|\^\{/")
"""In the names of commits that are found by their messages, which takes long in a long history."""
_PIECE = 1 << 20
_FOLDER = b"40000"
_SHA256_DIGITS = 64
_IDENT = re.compile(rb"\$Id:[^$\n]*\$")


class Objects:
    """The objects of a repository. What it runs ends with `close`, or with this object."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False
        self._end: Callable[[], object] = object

    def close(self) -> None:
        """End the process; the next question starts another one."""
        self._end()
        self._process = None

    def commit(self, revision: str) -> str:
        """Return the commit that a branch, tag, or abbreviated id names.

        Raises:
            UnknownSnapshotError: none does; says how to list them.
            SlowGitError: a file that git reads is a pipe.
        """
        self._pipes()
        name = re.sub(r"[\n\0]", "?", revision)  # no name holds one
        for spelling in (f"{name}^{{commit}}", name):  # `:/text` takes all that follows for the text
            try:
                id, kind, _ = next(self._answers([spelling], 0))
            except SlowGitError:
                raise
            except CodeError:
                continue
            if kind == "commit":
                return id
        raise UnknownSnapshotError(
            f"revision must be a commit, branch or tag of {self.root}, got {revision!r}; "
            "`git branch -a` and `git tag` list them"
        )

    def read(self, names: Iterable[str], most: int | None = None) -> Iterator[bytes]:
        """Yield the contents of objects, in the order asked for.

        Args:
            most: a longer content is cut to one byte more, so that the caller sees that it is too long.

        Raises:
            CodeError: git does not have one, as in a partial clone.
        """
        return (content for _, _, content in self._answers(names, most))

    def differences(self, before: str, after: str) -> list[Entry]:
        """Return the files that differ between two commits, as in the second; mode `GONE` where it lacks one.

        Raises:
            CodeError: git does not have all of their folders.
        """
        differences: dict[bytes, Entry] = {}
        level = {b"": [f"{before}^{{tree}}", f"{after}^{{tree}}"]}
        while level:
            trees = self.read([name for names in level.values() for name in names if name])
            below: dict[bytes, list[str]] = {}
            for folder, names in level.items():
                old_entries, new_entries = (
                    set(_tree_entries(next(trees), len(after) // 2)) if name else set() for name in names
                )
                for side, entries in enumerate((old_entries - new_entries, new_entries - old_entries)):
                    for mode, name, id in entries:
                        path = folder + name
                        if mode == _FOLDER:
                            below.setdefault(path + b"/", ["", ""])[side] = id.hex()
                        else:
                            mode_after = mode.decode() if side else GONE
                            differences[path] = Entry(mode_after, id.hex(), text_of(path))
            level = below
        return list(differences.values())

    def _answers(self, names: Iterable[str], most: int | None = None) -> Iterator[tuple[str, str, bytes]]:
        """Yield the id, kind and content of each object."""
        requests = iter(names)
        while group := list(islice(requests, _AT_ONCE)):
            asking, answers = self._pipes()
            pending = len(group)
            try:
                asking.write(b"".join([os.fsencode(name) + b"\n" for name in group]))
                asking.flush()
                if self._process is not None and not self._has_answered:
                    # Before its first answer git reads settings and the list of a shallow clone.
                    is_long = _SEARCH.search(group[0]) is not None
                    await_output(self._process, self.root, is_long=is_long)
                    self._has_answered = True
                for name in group:
                    head_match = _ANSWER.fullmatch(answers.readline())
                    if head_match is None:
                        raise CodeError(f"git at {self.root} has no {name}; `git fetch --refetch` brings it")
                    id, kind, size = head_match[1].decode(), head_match[2].decode(), int(head_match[3])
                    content = answers.read(size if most is None else min(size, most + 1))
                    unread = size + 1 - len(content)
                    while unread:
                        unread -= len(answers.read(min(unread, _PIECE)))
                    pending -= 1
                    yield id, kind, content
            except OSError as error:
                raise CodeError(f"git at {self.root} broke off: {error}") from error
            finally:
                if pending:  # an answer that was not read would be taken for the next one
                    self.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Into git and out of it; starts it where it does not run."""
        if self._process is None:
            quiet = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self._process, self._has_answered = start(self.root, "cat-file", "--batch", **quiet), False
            self._end = weakref.finalize(self, _end, self._process)
        return pipes(self._process, self.root)


def commit_named(path: str, name: str) -> str | None:
    """Return the commit that git knows by a name such as `HEAD~3`; None where git knows none."""
    try:
        return Objects(Path(path)).commit(name) if Path(path).is_dir() else None
    except CodeError:
        return None


def _tree_entries(tree: bytes, id_size: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield mode, name and id of each entry of a tree; what follows a damaged entry is left out."""
    place = 0
    while (name := tree.find(b" ", place) + 1) and (end := tree.find(b"\0", name)) > 0:
        entry_end = end + 1 + id_size
        yield tree[place : name - 1], tree[name:end], tree[end + 1 : entry_end]
        place = entry_end


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def object_id(content: bytes, like: str = "") -> str:
    """Return git's id of a blob with this content.

    Args:
        like: an id of the same repository: one of 64 digits asks for SHA-256.
    """
    digest = hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def blob_content(content: bytes, id: str) -> bytes | None:
    """Return the content of the blob `id`, given what a checkout made of it; None where it is another content.

    Undoes what git converts itself: line ends, `$Id$` and Unicode encodings. The id proves the outcome, so that no
    setting is read. What a filter program made cannot be undone without running the program.
    """
    for text in _as_utf8(content):
        lines = text.replace(b"\r\n", b"\n")
        forms = (text, lines, _IDENT.sub(b"$Id$", text), _IDENT.sub(b"$Id$", lines))
        for original in dict.fromkeys(forms):
            if object_id(original, id) == id:
                return original
    return None


def _as_utf8(content: bytes) -> Iterator[bytes]:
    """Yield the content, and its text in UTF-8 where it may be in another Unicode encoding."""
    yield content
    if b"\0" not in content:
        return
    encodings = ["utf-16-le", "utf-16-be"]
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encodings = ["utf-32"]
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    for encoding in encodings:
        with suppress(UnicodeError):
            yield content.decode(encoding).encode()
