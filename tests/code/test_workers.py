"""Files that exhaust a parser cost only themselves."""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth.code import index_path
from sleuth.code.parsing import analyse, limits
from sleuth.code.parsing.analyse import Analyser, KeptAnalyser
from sleuth.code.parsing.facts import (
    SourceText,
    facts_of,
    pack_facts,
    pack_sources,
    unpack_facts,
    unpack_sources,
)
from sleuth.code.parsing.limits import IN_PLACE_BYTES, MEMORY, seconds_for
from sleuth.engine import open_code
from sleuth.errors import CodeError
from sleuth.files.processes import Processes
from tests.code.conftest import hits_by_words, write
from tests.code.stored import ENDINGS
from tests.code.test_parse import SOURCES
from tests.commands import python

ROOT = Path(__file__).parents[2]
UNITS = {"/*": 4_096, "a<": 4_096, "%w(": 4_096, "a|": 4_096, "(": 40_000, "{": 40_000, "f(": 40_000}
"""Openings that are repeated, and to how many bytes."""
WORST = {"python": "/*", "rust": "%w(", "go": "%w(", "c": "%w(", "cpp": "%w(", "bash": "a|"}
"""The opening that takes most of each language's parser."""
BOMB = SourceText("bomb.go", b"// detonator\n" + b"%w(\n" * 16_384, "go")
"""Takes 2 GB of memory and 5 s of CPU time where nothing limits it."""
SLOW = SourceText("slow.rb", b"%w(" * 20_000, "ruby")
"""Takes more CPU time than it may have."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Analyser]:
    with Analyser() as pool:
        yield pool


SPARE_SECONDS = 30
"""What starting workers and a busy machine may add to the CPU time of one source; unlimited, it takes minutes."""

QUICK = ("c", "python")
"""Languages whose bombs every run tries; the others are tried by `make campaigns`."""


@pytest.mark.parametrize(
    "language",
    [
        pytest.param(language, marks=() if language in QUICK else pytest.mark.slow, id=language)
        for language in SOURCES
    ],
)
def test_repeated_openings_cost_themselves_alone(language: str, workers: Analyser) -> None:
    """A source that repeats one opening is parsed in its time, or is reported and cut as text."""
    texts = [(unit * size)[:size] for unit, size in UNITS.items()] + [WORST.get(language, "/*") * 4_096]
    bombs = [SourceText(f"bomb.{language}", text.encode(), language) for text in texts]
    good = SourceText("good", SOURCES[language][0].encode(), language)
    began = _children_cpu()
    *exploded, after = workers.parse([*bombs, good]).result()
    assert _children_cpu() - began < sum(seconds_for(len(bomb.text)) + SPARE_SECONDS for bomb in bombs)
    for facts in exploded:
        assert not facts.failure or facts.failure.startswith("not parsed: ")
        assert len(facts.chunks) == 1
    assert not after.failure
    assert after.defines == facts_of(good).defines


def test_queries_are_compiled_outside_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first source of a language has the time of any other, although its queries take longer to compile."""
    monkeypatch.setattr("sleuth.files.processes.PATIENCE", 1_000)
    processes = Processes("sleuth.code.parsing.worker", MEMORY)
    source = SourceText("a.cpp", SOURCES["cpp"][0].encode(), "cpp")
    try:
        (facts,) = unpack_facts(*processes.ask(*pack_sources([source]), seconds=0.05))
    finally:
        processes.close()
    assert facts.defines == facts_of(source).defines


def test_memory_is_limited() -> None:
    """A source that exceeds the memory limit ends the worker and is reported."""
    code = (  # in a process of its own, since the maximum is that of all children that it ever had
        "import resource; from sleuth.code.parsing.analyse import Analyser; from tests.code.test_workers import BOMB\n"
        "with Analyser() as pool: print(pool.parse([BOMB]).result()[0].failure)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    failure, kilobytes = python(code, cwd=ROOT).stdout.splitlines()
    assert failure.startswith("not parsed: it takes more than")
    assert int(kilobytes) * 1024 < 2 * limits.MEMORY


@pytest.mark.parametrize(
    ("ends", "reason"),
    [(signal.SIGPROF, "takes more than 1 s of CPU time"), (signal.SIGUSR1, "ended with status -10")],
)
def test_the_end_of_a_worker_is_reported(ends: signal.Signals, reason: str) -> None:
    """Each signal that ends a worker is reported with its reason."""
    with Analyser() as pool:
        assert not pool.parse([BOMB._replace(text=b"package a")]).result()[0].failure
        (worker,) = pool.processes.running
        os.kill(worker, signal.SIGSTOP)  # so that it cannot answer before it ends
        begun = pool.parse([SLOW])
        os.kill(worker, ends)
        os.kill(worker, signal.SIGCONT)
        assert reason in begun.result()[0].failure


def test_what_others_end_twice_fails_the_run() -> None:
    """A source whose processes others end is never stored as another content: the run fails and says so."""
    with Analyser() as pool:
        pool.parse([BOMB._replace(text=b"package a")]).result()
        begun = pool.parse([SLOW])
        while not begun.done():
            for worker in list(pool.processes.running):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGTERM)
        with pytest.raises(CodeError):
            begun.result()


def test_time_is_limited(workers: Analyser) -> None:
    """A source that takes more CPU time than it may have is named with that time."""
    began = _children_cpu()
    (facts,) = workers.parse([SLOW]).result()
    assert _children_cpu() - began < seconds_for(len(SLOW.text)) + SPARE_SECONDS
    assert facts.failure == "not parsed: it takes more than 1 s of CPU time; searched as plain text"


def test_sources_of_a_batch_are_parsed_alone_after_its_worker_ended() -> None:
    """A worker that ends within a batch costs only the source that ends it when it is parsed alone."""
    good = SourceText("a.py", b"def f(): pass\n", "python")
    with Analyser() as pool:
        before, ended, after = pool.parse([good, SLOW, good]).result()
        assert ended.failure == "not parsed: it takes more than 1 s of CPU time; searched as plain text"
        assert before.defines == after.defines == "f"
        assert not before.failure + after.failure


def test_batches_cross_the_pipe_unchanged() -> None:
    """Sources and facts of a batch come out as they were packed, empty texts and tables included."""
    sources = [
        SourceText(f"a.{ENDINGS[name]}", SOURCES[name][0].encode(), name) for name in ("python", "go", "rust")
    ]
    sources.insert(1, SourceText("empty.md", b"", ""))
    assert unpack_sources(*pack_sources(sources)) == sources
    batch = [facts_of(source) for source in sources]
    received = unpack_facts(*pack_facts(batch))
    assert [facts.chunks.tolist() for facts in received] == [facts.chunks.tolist() for facts in batch]
    empty = batch[1].chunks[:0]
    for one, other in zip(received, batch, strict=True):
        assert str(one._replace(chunks=empty)) == str(other._replace(chunks=empty))


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the worker cannot start, an error is raised and no file is reported."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Analyser() as pool, pytest.raises(CodeError, match="could not be started"):
        pool.parse([BOMB]).result()


def test_only_tiny_sources_are_parsed_in_this_process() -> None:
    """A source that is long enough to cost much is parsed in a process that can be killed, whatever it looks like."""
    text = b"def f(): pass\n" * IN_PLACE_BYTES
    with Analyser() as analyser:
        assert not analyser.analyse("short.py", text[:IN_PLACE_BYTES]).failure
        assert not analyser.processes.running
        assert not analyser.analyse("long.py", text[: IN_PLACE_BYTES + 1]).failure
        assert analyser.processes.running


def test_the_process_of_short_runs_is_kept(tmp_path: Path) -> None:
    """Runs of one storage use one process, which ends with the storage; a forked child starts its own."""
    with open_code(tmp_path / "index", create=True) as storage:

        def index(text: str) -> set[int]:
            write(tmp_path / "repo", {"a.py": text * IN_PLACE_BYTES})
            assert not index_path(storage, tmp_path / "repo").skipped
            assert storage.analyser._analyser is not None
            return set(storage.analyser._analyser.processes.running)

        processes = index("a = 1\n")
        assert len(processes) == 1
        assert index("b = 1\n") == processes
        child = os.fork()
        if not child:
            os._exit(int(index("c = 1\n") == processes))
        assert os.waitpid(child, 0)[1] == 0
        assert index("d = 1\n") == processes
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_run_that_fails_ends_its_process() -> None:
    """After an error or Ctrl-C the next run starts a new process."""
    analyser = KeptAnalyser()
    with pytest.raises(KeyboardInterrupt), analyser.lend() as first:
        assert not first.analyse("a.py", b"a = 1\n" * IN_PLACE_BYTES).failure
        raise KeyboardInterrupt
    assert not first.processes.running
    with analyser.lend() as second:
        assert not second.analyse("a.py", b"a = 1\n" * IN_PLACE_BYTES).failure
    analyser.close()
    assert not second.processes.running


def test_sources_stay_in_order_wherever_they_are_parsed() -> None:
    """A batch of short and long sources, of text and of other files gives its results in its order."""
    names = ["a", "b", "c", "d", "e"]
    files = [
        (f"{name}.py", f"def {name}(): pass\n".encode() + b"# x\n" * (IN_PLACE_BYTES * (at % 2)))
        for at, name in enumerate(names)
    ]
    with Analyser() as analyser:
        results = analyser.begin([files[0], ("a.md", b"# A\n"), *files[1:], ("b.bin", b"\0")])()
    assert [result.texts.get("defines") for result in results] == ["a", "", *names[1:], None]


def test_one_file_is_killable_too() -> None:
    """A file that is parsed alone has the same limits as one of many."""
    assert analyse.analyse(BOMB.path, BOMB.text).failure.startswith("not parsed: it takes more than")


@pytest.mark.parametrize("workers", [1, 2])
def test_in_place_and_in_workers_is_the_same(workers: int) -> None:
    """Parsing in this process and in a worker gives the same result."""
    files = [(f"a/{language}.{ENDINGS[language]}", SOURCES[language][0].encode()) for language in SOURCES]
    with Analyser(workers) as analyser:
        results = analyser.begin([*files, ("a.md", b"# A\n"), ("b.bin", b"\0")])()
    assert [result.detail for result in results[: len(files)]] == [
        analyse.analyse(*file).detail for file in files
    ]
    assert [result.skip for result in results[-2:]] == ["", "binary"]


def test_a_bomb_in_a_repository_is_named_and_searchable(tmp_path: Path) -> None:
    """Indexing continues with the other files, reports the bomb, and finds its text."""
    write(tmp_path / "repo", {BOMB.path: BOMB.text, "good.py": b"def defuse(): pass\n"})
    with open_code(tmp_path / "index", create=True) as storage:
        report = index_path(storage, tmp_path / "repo")
        assert [(path, reason.partition(":")[0]) for path, reason in report.skipped] == [
            ("bomb.go", "not parsed")
        ]
        for query, path in (("detonator", "bomb.go"), ("defuse", "good.py")):
            assert hits_by_words(storage, report.repository, query)[0].file_path == path


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
