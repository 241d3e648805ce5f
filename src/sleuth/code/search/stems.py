"""Finds files whose whole name is in a query: `args.go` for "positional argument validators"."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.text.analyzers import get_analyzer

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OF_FOLDER: Final = frozenset({"mod", "index", "init", "main", "lib"})
"""Names of files that stand for their folder."""
_SHORT_FORMS: Final = """
address:addr application:app argument:arg asynchronous:async attribute:attr authentication:auth
buffer:buf character:char command:cmd configuration:config,conf,cfg connection:conn context:ctx database:db
declaration:decl definition:def dependency:dep destination:dest,dst difference:diff directory:dir documentation:doc
environment:env error:err execute:exec expression:expr extension:ext filesystem:fs function:func,fn generate:gen
generator:gen identifier:id,ident implement:impl implementation:impl information:info integer:int
internationalization:i18n iterator:iter length:len library:lib maximum:max memory:mem message:msg
minimum:min navigation:nav network:net number:num object:obj operation:op package:pkg parameter:param pointer:ptr
position:pos previous:prev process:proc property:prop random:rand reference:ref register:reg repository:repo request:req
response:res,resp sequence:seq session:sess socket:sock source:src statement:stmt statistics:stat
string:str synchronization:sync synchronize:sync system:sys temporary:temp,tmp terminal:term,tty transaction:tx,txn
translation:trans utility:util variable:var vector:vec version:ver
"""


class Stems:
    """The files of a snapshot by the words of their names, without extension.

    Attributes:
        by_first: by the first word of a name, its other words with the positions of the files.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Read the names of all files."""
        positions: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for i, file in enumerate(snapshot.files):
            positions[_words(_stem(file.path))].append(i)
        positions.pop((), None)
        self.by_first: dict[str, list[tuple[tuple[str, ...], list[int]]]] = defaultdict(list)
        for words, files in positions.items():
            self.by_first[words[0]].append((words[1:], files))

    def scores(self, title: Iterable[str], files: int) -> NDArray[np.float32]:
        """Score files by how few have their name, if all of its words are in a title; shape (files,), in [0, 1].

        Args:
            title: words as the analyzer gives them.
        """
        words = set(title)
        words |= {short for word in words for short in _short_forms().get(word, ())}
        scores = np.zeros(files, np.float32)
        for first in words:
            for others, positions in self.by_first.get(first, ()):
                if words.issuperset(others):
                    scores[positions] = 1 / math.sqrt(len(positions))
        return scores


def _stem(path: str) -> str:
    """Return the name of a file without its extension; that of its folder if the file stands for it."""
    folder, _, name = path.rpartition("/")
    stem = name.lstrip(".").partition(".")[0]
    return folder.rpartition("/")[2] if folder and stem.strip("_").lower() in _OF_FOLDER else stem


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for part in _PART.findall(name) for word in _analyzed(part.lower()))


@lru_cache(maxsize=20_000)
def _analyzed(part: str) -> tuple[str, ...]:
    return tuple(get_analyzer("code-english").tokens(part))[:1]


@lru_cache(maxsize=1)
def _short_forms() -> Mapping[str, tuple[str, ...]]:
    """Return the short forms of words in names of files, by the word, as the analyzer gives both."""
    pairs = (pair.partition(":") for pair in _SHORT_FORMS.split())
    return {
        form: tuple(short for text in shorts.split(",") for short in _analyzed(text))
        for word, _, shorts in pairs
        for form in _analyzed(word)
    }
