"""What is kept of one file: its language and encoding, its text, and what parsing finds in it.

Sources are parsed in processes, each under limits of time and memory. One that exceeds the limits, or makes the parser
abort, ends its process. The sources of its batch are then parsed one by one in new processes. The source itself is cut
as plain text, and the reason is kept. Where others end the processes, it is not judged: it is tried again, and then the
run fails.

A notebook is JSON with a line of the file for each line of a cell. Its code is a text with as many lines: lines of code
cells stand where they stand in the file, texts are comments, and outputs are blank. A comment before each cell has its
number. Where a program wrote the cells otherwise, they stand one after another.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sleuth.code.parsing.facts import Facts, SourceText, facts_of, facts_of_text, pack_sources, unpack_facts
from sleuth.code.parsing.grammars import has_grammar
from sleuth.code.parsing.labels import category_of
from sleuth.code.parsing.language import Language
from sleuth.code.parsing.languages import LANGUAGES, language_named, language_of
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
from sleuth.errors import CodeError
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.files.notebooks import Notebook, read_notebook, source_of
from sleuth.files.processes import ProcessEndedError, Processes, ProcessStartError
from sleuth.protocols import Closing

_MINIFIED_LINE = 5_000
_MINIFIED_MEAN = 400
_DATA: Final = re.compile(r"[A-Za-z0-9+/]{500,}")
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
    """Takes files apart: sources in processes that can be killed, few short ones in this process.

    Attributes:
        processes: that parse; they are started when they are needed.
    """

    def __init__(self, workers: int = 1) -> None:
        """Make ready.

        Args:
            workers: processes that parse at once; where it is one, sources that are too short to take much time or
                memory are parsed here.
        """
        self._in_place = IN_PLACE_BYTES if workers < 2 else 0
        self.processes = Processes("sleuth.code.parsing.worker", MEMORY)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="sleuth-parse")

    def close(self) -> None:
        """End the processes, whatever they are doing. Closing twice is fine."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.processes.close()
        self._threads.shutdown(wait=True)

    def analyse(self, path: str, content: bytes) -> Analysed:
        """Take a file apart. Never fails over what the file holds: what cannot be used is skipped with a reason."""
        return self.begin([(path, content)])()[0]

    def begin(self, files: Sequence[tuple[str, bytes]]) -> Callable[[], list[Analysed]]:
        """Begin a batch, given as paths and contents; what is returned waits for its files, in order."""
        outcomes = [_look_at(path, content) for path, content in files]
        sources = [file.source for file in outcomes if isinstance(file, _Readable) and file.source.language]
        long_sources = [source for source in sources if len(source.text) > self._in_place]
        future = self.parse(long_sources) if long_sources else None

        def finish() -> list[Analysed]:
            facts_from_workers = iter(() if future is None else future.result())
            analysed = []
            for file in outcomes:
                if isinstance(file, Analysed):  # it is skipped
                    analysed.append(file)
                    continue
                if not file.source.language:
                    facts = facts_of_text(file.source, file.failure)
                elif len(file.source.text) > self._in_place:
                    facts = next(facts_from_workers)
                else:
                    facts = facts_of(file.source)
                analysed.append(_analysed(file, facts))
            return analysed

        return finish

    def parse(self, sources: Sequence[SourceText]) -> Future[list[Facts]]:
        """Hand a batch to the processes; the result has the facts of each source, in order.

        The result raises CodeError where a grammar does not fit, no process can be started, or others end them.
        """
        return self._threads.submit(self._parse, sources)

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
    is_unchanged = encoding == "utf-8" and notebook is None
    source = content if is_unchanged else text.encode("utf-8", "surrogatepass")
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
    # A "\r" alone ends no line of a source.
    lines = file.source.text.decode("utf-8", "surrogatepass").replace("\r\n", "\n").split("\n")
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
    """Return whether lines are longer than people write, without data in them such as that of a picture."""
    text = _DATA.sub("", text) if max(map(len, text.split("\n"))) >= 500 else text  # the size of such data
    if len(text) < 2_000:
        return False
    if len(text) / (text.count("\n") + 1) > _MINIFIED_MEAN:
        return True
    return len(text) > 20_000 and max(map(len, text.split("\n"))) > max(_MINIFIED_LINE, len(text) // 2)


_HEAD: Final = re.compile(r"(?:#|//|--) %% notebook in (\w+)\n")
_SOURCE: Final = re.compile(r'\s*"(?:source|input)":\s*\[\s*')
_MAGIC: Final = re.compile(r"\s*[%!?]")
_PYTHON_CELL: Final = re.compile(r"%%(?:time|timeit|capture|prun)\b")


class NotebookCode(NamedTuple):
    """The code of a notebook as a text in its language."""

    text: str
    language: Language


def code_of_notebook(text: str) -> NotebookCode | None:
    """Return the code of a notebook, also of one that this function has read; None if the text is not a notebook.

    The text decides, and not the name of its file: equal files are kept once.
    """
    if head_match := _HEAD.match(text):
        language = language_named(head_match[1])
        return NotebookCode(text, language) if language else None
    if not text.startswith("{") or '"cells"' not in text or '"nbformat"' not in text:
        return None
    try:
        notebook = read_notebook(text)
        language = language_named(notebook.language)
        return NotebookCode(_code_at_file_lines(text, notebook, language), language) if language else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _code_at_file_lines(text: str, notebook: Notebook, language: Language) -> str:
    """Return the code with each line at its line number in the notebook's JSON.

    Where the lines of a cell cannot be found there, all cells stand one after another.
    """
    raw = text.split("\n")
    comment = language.comment or "#"
    head = f"{comment} %% notebook in {language.name}"
    cells = [(number, cell) for number, cell in enumerate(notebook.cells, 1) if source_of(cell)]
    lines = [""] * len(raw)
    search_start = 1
    for number, cell in cells:
        opening = _opening(raw, search_start, cell)
        if opening < 0:
            break
        lines[opening] = f"{comment} %% cell {number}"
        code = list(_written(cell, language))
        search_start = opening + 1 + len(code)
        lines[opening + 1 : search_start] = code
    else:
        return "\n".join([head, *lines[1:]])
    lines = [head]
    for number, cell in cells:
        lines += ["", f"{comment} %% cell {number}", *_written(cell, language)]
    return "\n".join(lines + [""] * (len(raw) - len(lines)))


def _opening(raw: list[str], after: int, cell: Mapping[str, Any]) -> int:
    """Return the line before the first line of a cell, from 0; -1 where a line of it is no line of the file.

    Args:
        raw: lines of the file.
        after: no line before this one belongs to the cell.
    """
    source = cell.get("source", cell.get("input"))
    if not isinstance(source, list):
        return -1
    for at in range(after, len(raw) - len(source)):
        if _SOURCE.fullmatch(raw[at]) and all(
            _decoded(line) == text for line, text in zip(raw[at + 1 :], source, strict=False)
        ):
            return at
    return -1


def _decoded(line: str) -> object:
    try:
        return json.loads(line.strip().rstrip(","))
    except ValueError:
        return None


def _written(cell: Mapping[str, Any], language: Language) -> Iterator[str]:
    """Yield the lines of a cell: of one without code as comments, and so are commands to the kernel."""
    comment = language.comment or "#"
    source = source_of(cell).removesuffix("\n").split("\n")
    foreign = source[0].startswith("%%") and not _PYTHON_CELL.match(source[0])
    is_text = cell.get("cell_type") != "code" or foreign
    for line in source:
        is_comment = is_text or (language.name == "python" and _MAGIC.match(line))
        yield f"{comment} {line}".rstrip() if is_comment else line
