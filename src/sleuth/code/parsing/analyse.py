"""What is kept of one file: its language and encoding, its text, and what parsing finds in it.

Sources are parsed in processes, each under limits of time and memory. One that exceeds the limits, or makes the parser
abort, ends its process. The sources of its batch are then parsed one by one in new processes. The source itself is cut
as plain text, and the reason is kept. Where others end the processes, it is not judged: it is tried again, and then the
run fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from sleuth.code.parsing.facts import Facts, SourceText, facts_of, facts_of_text, pack_sources, unpack_facts
from sleuth.code.parsing.grammars import has_grammar
from sleuth.code.parsing.labels import category_of
from sleuth.code.parsing.languages import LANGUAGES, language_of
from sleuth.code.parsing.limits import (
    IN_PLACE_BYTES,
    MAX_BYTES,
    MEMORY,
    NO_GRAMMAR,
    OUT_OF_MEMORY,
    TOO_LARGE,
    UNPARSED,
    seconds_for,
)
from sleuth.code.parsing.notebooks import code_of_notebook
from sleuth.errors import CodeError
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.files.processes import ProcessEndedError, Processes, ProcessStartError
from sleuth.protocols import Closing


class Workers(Closing):
    """Parses batches of sources in processes, which are started when they are needed.

    Attributes:
        processes: that parse.
    """

    def __init__(self, count: int) -> None:
        """Use up to `count` processes at once."""
        self.count = count
        self.processes = Processes("sleuth.code.parsing.worker", MEMORY)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="sleuth-parse")

    def submit(self, sources: Sequence[SourceText]) -> Future[list[Facts]]:
        """Hand over a batch; its result has the facts of each source, in order.

        The result raises CodeError where a grammar does not fit, no process can be started, or others end them.
        """
        return self._threads.submit(self._parse, sources)

    def close(self) -> None:
        """End the processes, whatever they are doing. Closing twice is fine."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.processes.close()
        self._threads.shutdown(wait=True)

    def _parse(self, sources: Sequence[SourceText]) -> list[Facts]:
        size = sum(len(source.text) for source in sources)
        try:
            head, body = self.processes.ask(*pack_sources(sources), seconds_for(size))
        except ProcessStartError as error:
            raise CodeError(str(error)) from error
        except ProcessEndedError as error:
            if error.limit == "outside" and len(sources) == 1:
                raise CodeError(
                    f"{sources[0].path} could not be parsed: two processes slept or were ended by others "
                    f"({error.ending}); nothing of this run is kept, so run it again when the machine has room"
                ) from error
            limit = f"it takes more than {seconds_for(size):.0f} s of CPU time"
            if error.limit != "time":
                limit = f"the process that parsed it ended with status {error.status}"
            # Where memory is refused, tree-sitter ends the process.
            failure = (
                OUT_OF_MEMORY if error.limit == "memory" else f"{UNPARSED}{limit}; searched as plain text"
            )
        else:
            if "error" in head:
                raise CodeError(head["error"])
            if "spent" not in head:
                return unpack_facts(head, body)
            failure = OUT_OF_MEMORY
        if len(sources) == 1:
            return [facts_of_text(sources[0], failure)]
        return [facts for source in sources for facts in self._parse([source])]


_MINIFIED_LINE = 5_000
_MINIFIED_MEAN = 400
_WORDS_OF_CPP = (b"class ", b"namespace ", b"template<", b"template <", b"public:")


@dataclass(slots=True)
class Analysed:
    """A file as the storage keeps it.

    Attributes:
        skip: why it has no chunks; "" where it has.
        content: its text as UTF-8, compressed; empty where skipped.
        detail: symbols, references, imports and chunks; read by `Detail.read`. Empty where skipped.
        texts: what is searched of the whole file, by field.
        chunk_texts: what is searched of each chunk, by field.
        chunks: how many there are, once their texts are counted and gone.
        failure: why it was not parsed though its language has a grammar, "" otherwise; it is searched as plain text.
    """

    path: str
    language: str
    category: str
    encoding: str
    lines: int
    size: int
    skip: str
    content: bytes
    detail: bytes
    texts: dict[str, str]
    chunk_texts: dict[str, list[str]]
    chunks: int = 0
    failure: str = ""


class _Readable(NamedTuple):
    """A file that is not skipped.

    Attributes:
        source: its text, with the language that it is parsed as.
        failure: why it is not parsed though its language has a grammar.
    """

    language: str
    category: str
    encoding: str
    size: int
    text: str
    source: SourceText
    failure: str = ""


class Analyser(Closing):
    """Takes files apart: sources in processes that can be killed, few short ones in this process."""

    def __init__(self, workers: int = 1) -> None:
        """Make ready; nothing is started before it is needed.

        Args:
            workers: processes that parse at once; where it is one, sources that are too short to take much time or
                memory are parsed here.
        """
        self._in_place = IN_PLACE_BYTES if workers < 2 else 0
        self._workers = Workers(workers)

    def close(self) -> None:
        """End the processes. Closing twice is fine."""
        self._workers.close()

    def analyse(self, path: str, content: bytes) -> Analysed:
        """Take a file apart. Never fails over what the file holds: what cannot be used is skipped with a reason."""
        return self.begin([(path, content)])()[0]

    def begin(self, files: Sequence[tuple[str, bytes]]) -> Callable[[], list[Analysed]]:
        """Begin a batch, given as paths and contents; what is returned waits for its files, in order."""
        outcomes = [_look_at(path, content) for path, content in files]
        sources = [file.source for file in outcomes if isinstance(file, _Readable) and file.source.language]
        longer = [source for source in sources if len(source.text) > self._in_place]
        begun = self._workers.submit(longer) if longer else None

        def finish() -> list[Analysed]:
            facts = iter(begun.result() if begun is not None else ())
            files = []
            for file in outcomes:
                if isinstance(file, Analysed):
                    files.append(file)
                elif not file.source.language:
                    files.append(_analysed(file, facts_of_text(file.source, file.failure)))
                else:
                    is_long = len(file.source.text) > self._in_place
                    files.append(_analysed(file, next(facts) if is_long else facts_of(file.source)))
            return files

        return finish


class KeptAnalyser:
    """Keeps the analyser of short runs: to start its process takes longer than to parse ten files."""

    def __init__(self) -> None:
        self._analyser: Analyser | None = None
        self._owner = 0

    @contextmanager
    def lend(self) -> Iterator[Analyser]:
        """Yield the analyser, for one caller at a time; a new one after an error, and in a forked child."""
        if self._analyser is None or self._owner != os.getpid():
            self._analyser, self._owner = Analyser(), os.getpid()
        try:
            yield self._analyser
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End its process. Closing twice is fine; it is started again when it is needed."""
        if self._analyser is not None and self._owner == os.getpid():
            self._analyser.close()
        self._analyser = None


def analyse(path: str, content: bytes) -> Analysed:
    """Take one file apart, as `Analyser.analyse` does."""
    with Analyser() as analyser:
        return analyser.analyse(path, content)


def _look_at(path: str, content: bytes) -> Analysed | _Readable:
    language = language_of(path, content)
    name = language.name if language else ""
    category = category_of(path, name, content)
    if len(content) > MAX_BYTES:
        return skipped(path, TOO_LARGE, language=name, category=category)
    if is_binary(content):
        return skipped(path, "binary", language=name, category=category, size=len(content))
    text, encoding = decode(content)
    notebook = code_of_notebook(text)
    if notebook is not None:
        text, name = notebook.text, notebook.language.name
        category = category_of(path, name)
    if is_minified(text):
        return skipped(
            path, "minified", language=name, category="generated", encoding=encoding, size=len(content)
        )
    unchanged = encoding == "utf-8" and notebook is None
    source = content if unchanged else text.encode("utf-8", "surrogatepass")
    grammar = name if name and LANGUAGES[name].package and source.strip() else ""
    if grammar == "c" and path.endswith(".h") and any(word in source for word in _WORDS_OF_CPP):
        grammar = "cpp"
    if grammar == "html" and b"</" not in source:  # a template of something else
        grammar = ""
    failure = NO_GRAMMAR if grammar and not has_grammar(grammar) else ""
    parsed_as = SourceText(path, source, "" if failure else grammar)
    return _Readable(name, category, encoding, len(content), text, parsed_as, failure)


def skipped(
    path: str, reason: str, *, language: str, category: str, encoding: str = "", size: int = 0
) -> Analysed:
    """Return a file that has no chunks, and why."""
    return Analysed(path, language, category, encoding, 0, size, reason, b"", b"", {}, {})


def _analysed(file: _Readable, facts: Facts) -> Analysed:
    path = file.source.path
    lines = file.text.split("\n")
    texts = {
        "body": file.text,
        "path": path.rpartition(".")[0] or path,
        "names": facts.names,
        "defines": facts.defines,
        "uses": facts.uses,
    }
    bodies = ["\n".join(lines[first - 1 : last_line]) for first, last_line, *_ in facts.chunks.tolist()]
    count = len(lines) - (not lines[-1])
    return Analysed(
        path, file.language, file.category, file.encoding, count, file.size, "", facts.content, facts.packed,
        texts, {"body": bodies, "symbol": facts.symbols}, failure=facts.failure,
    )  # fmt: skip


def is_minified(text: str) -> bool:
    """Return whether lines are longer than people write."""
    if len(text) < 2_000:
        return False
    if len(text) / (text.count("\n") + 1) > _MINIFIED_MEAN:
        return True
    return len(text) > 20_000 and max(map(len, text.split("\n"))) > max(_MINIFIED_LINE, len(text) // 2)
