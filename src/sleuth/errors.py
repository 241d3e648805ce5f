"""The exception tree, and what each failure carries.

SleuthError
├── ArgumentError (also ValueError)     a value that breaks a stated rule
│   └── FilterError                     a filter that cannot be read or translated; says where
├── MissingPackageError (also ImportError)  an optional package; says the install command
├── LoadError                           a file that cannot be read; carries path and reason
├── StoreError                          the index on disk
│   ├── IndexNotFoundError              no index at this path
│   ├── IndexLockedError                another writer holds it; names the holder
│   ├── IndexDamagedError               bytes that fail their checksum
│   ├── IndexUnsafeError                a part that is a link, or an index that somebody else made
│   ├── FormatVersionError              written by another version of the format
│   ├── EmbedderMismatchError           made with one embedder, opened with another; names both
│   └── StorageError (also RemoteError)  object storage that cannot be reached, or has no such bucket
├── RetrievalError                      a hook, leg or backend failed; carries context
├── RemoteError                         a service elsewhere; carries service, url and status
│   ├── GenerationError
│   ├── EmbeddingError
│   ├── WebError
│   └── KnowledgeBaseError
├── CodeError                           repositories and snapshots
│   ├── UnknownRepositoryError
│   └── UnknownSnapshotError
├── PluginError                         a plugin that does not load; carries its name
└── EvaluationError                     a collection or run that cannot be judged

States that are expected (an empty query, nothing found) are data, in `sleuth.results`; what is here is raised.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

_LONG = 1_000
"""Characters of the beginning and of the end of a message that are always in it."""


class SleuthError(Exception):
    """The root: `except SleuthError` catches all that Sleuth raises on purpose. Errors can be pickled and copied."""

    def __reduce__(self) -> tuple[Any, ...]:
        # `__init__` of some classes takes other arguments than the message; one that is an OSError forgets its own.
        return type(self).__new__, (type(self), *self.args), {**vars(self), "args": self.args}


def amount(number: int, noun: str) -> str:
    """Return a number with its noun, as messages have it: "1 document", "1,200 documents"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class ArgumentError(SleuthError, ValueError):
    """A value that breaks a stated rule: `<argument> must be <rule>, got <value!r>`.

    Of a long message, the middle is left out: it repeats the value.
    """

    def __init__(self, message: str = "") -> None:
        is_long = len(message) > 2 * _LONG
        super().__init__(f"{message[:_LONG]} … {message[-_LONG:]}" if is_long else message)


class FilterError(ArgumentError):
    """A filter that cannot be read or translated.

    Attributes:
        where: the place in the filter, as a path (`year.$gte`) or a column of its text form.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{message} (at {where})" if where else message)
        self.where = where


class MissingPackageError(SleuthError, ImportError):
    """An optional package that is not installed.

    Attributes:
        package: the package that is missing.
        extra: the extra of Sleuth that brings it; "" for a part of every installation that was removed.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        wheel = f"'sleuth[{extra}]'" if extra else package
        super().__init__(f"{purpose} needs the package {package!r}: pip install {wheel}")
        self.package = package
        self.extra = extra


@contextmanager
def requires(package: str, extra: str, purpose: str, **variables: str) -> Iterator[None]:
    """Raise MissingPackageError where a block cannot import a package; `variables` are set in its environment."""
    with environment(variables):
        try:
            yield
        except ImportError as error:
            raise MissingPackageError(package, extra, purpose) from error


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a package and the processes that it starts; they are as before after the block."""
    former_values = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update(former_values)


class LoadError(SleuthError):
    """A file that cannot be read into documents.

    Attributes:
        path: the file.
        reason: one clause, fit for a list of skipped files.
        kind: "binary", "empty", "no prose", "limits" (of time, memory or size), "unreadable" where another attempt may
            succeed, or "invalid" for anything else.
    """

    def __init__(
        self,
        path: str,
        reason: str,
        *,
        kind: Literal["binary", "empty", "limits", "unreadable", "invalid", "no prose"] = "invalid",
    ) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.kind = kind


class StoreError(SleuthError):
    """The index on disk cannot do what was asked.

    Attributes:
        path: the index folder.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class IndexNotFoundError(StoreError):
    """No index at this path."""


class IndexLockedError(StoreError):
    """Another writer holds the index.

    Attributes:
        holder: what the holder wrote of itself: pid, host, program and since when.
    """

    def __init__(self, message: str, *, path: str = "", holder: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, path=path)
        self.holder = dict(holder or {})


class IndexDamagedError(StoreError):
    """Bytes that fail their checksum, or a record that does not open."""


class IndexUnsafeError(StoreError):
    """An index that may lead to files outside of it, or that came from somebody else; nothing was opened.

    Attributes:
        part: the name of the part that is refused, "" for the index itself.
    """

    def __init__(self, message: str, *, path: str = "", part: str = "") -> None:
        super().__init__(message, path=path)
        self.part = part


class FormatVersionError(StoreError):
    """An index written by another version of the format."""


class EmbedderMismatchError(StoreError):
    """An index made with one embedder and opened with another; the message names both and how to re-embed."""


class RetrievalError(SleuthError):
    """A hook, a leg or a backend failed: a system error, not an expected state.

    Attributes:
        context: at least `query` and `k`; `hook` and `plugin` where one was running.
    """

    def __init__(self, message: str, *, context: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.context = dict(context or {})


class UnavailableError(RetrievalError):
    """What holds the passages does not answer now, as when all searchers are down; try again later."""


class RemoteError(SleuthError):
    """A service elsewhere failed.

    Attributes:
        service: its name, such as "ollama".
        url: the address asked, without credentials.
        status: the HTTP status, or None where there was no answer.
        after: seconds that the service asked to wait before the next request, or None.
    """

    after: float | None = None

    def __init__(self, message: str, *, service: str = "", url: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.service = service
        self.url = url
        self.status = status


class GenerationError(RemoteError):
    """A language model did not answer."""


class EmbeddingError(RemoteError):
    """An embedder did not answer, or answered with a vector of another length."""


class WebError(RemoteError):
    """A web search or a page did not answer."""


class KnowledgeBaseError(RemoteError):
    """A hosted knowledge base did not answer."""


class StorageError(StoreError, RemoteError):
    """Object storage did not answer, refused, or has no such bucket."""


class CodeError(SleuthError):
    """A repository or a snapshot cannot do what was asked."""


class UnknownRepositoryError(CodeError):
    """No such repository in this index; the message lists those there are."""


class UnknownSnapshotError(CodeError):
    """No such snapshot, or one that is not completed; the message lists those there are."""


class UnknownCommitError(CodeError):
    """The repository does not have the commit; a force push and `git gc` remove those of a snapshot."""


class PluginError(SleuthError):
    """A plugin that does not load.

    Attributes:
        plugin: its name.
    """

    def __init__(self, message: str, *, plugin: str = "") -> None:
        super().__init__(message)
        self.plugin = plugin


class EvaluationError(SleuthError):
    """A collection, a set of judgements or a run that cannot be evaluated."""
