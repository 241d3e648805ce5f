"""A sharded index has the interface of `Engine`."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from sleuth import ArgumentError, Document, Engine, StoreError
from sleuth.cluster import ShardedEngine, shard_of
from sleuth.cluster.shards import GatheredSnapshot, ShardAnswers
from sleuth.cluster.shards.shard import LocalShards
from sleuth.errors import (
    FormatVersionError,
    IndexDamagedError,
    IndexNotFoundError,
    IndexUnsafeError,
    RetrievalError,
    UnavailableError,
)
from sleuth.filters import Filter
from sleuth.ingest import ReadOptions
from sleuth.remote import Deadline
from sleuth.store import Writer
from sleuth.types import PartReport
from tests.cluster.conftest import documents, twins
from tests.commands import sleuth
from tests.dense.strategies import HashEmbedder

SETTINGS = {"embedder": ""}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return ShardedEngine.open(tmp_path / "index", create=True, settings=SETTINGS, shards=3)


def test_each_document_lies_in_the_shard_of_its_id(engine: Engine) -> None:
    """Each shard opens alone and holds exactly the documents whose ids hash to it."""
    engine.add(documents(20))
    engine.close()
    ids = []
    for number in range(3):
        with Engine.open(engine.path / f"shard-{number:05d}") as shard:
            members = [document.id for document in shard.documents()]
            assert {shard_of(name, 3) for name in members} == {number}
            ids += members
    assert sorted(ids) == sorted(f"d{i}" for i in range(20))


def test_the_hash_of_ids_never_changes() -> None:
    """An id belongs to the same shard on every machine and in every version."""
    assert [shard_of(name, 16) for name in ("a", "docs/limits.md", "日本", "\ud800")] == [0, 5, 8, 2]


def test_replacing_and_deleting_go_by_id(engine: Engine) -> None:
    """A document with an existing id replaces it; deleting returns the existing ids in order."""
    with engine:
        engine.add(documents(5))
        report = engine.add([Document("moon", id="d3"), *documents(2)])
        assert (report.added, report.updated, report.unchanged) == (0, 1, 2)
        assert [item.text for item in engine.get("d3")] == ["moon"]
        assert engine.get("d3#0")[0].id == "d3#0"
        assert engine.delete(["d4", "none", "d0"]) == ["d4", "d0"]
        assert engine.status()["documents"] == 3
        assert engine.status()["shards"] == 3


def test_files_and_rows_are_indexed(engine: Engine, tmp_path: Path) -> None:
    """Unchanged files are not read again, rows of a file lie in several shards, and removed rows and files are
    deleted.
    """
    folder = tmp_path / "files"
    folder.mkdir()
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(8)))
    (folder / "a.md").write_text("The tide comes in twice a day.")
    with engine:
        assert engine.index([folder]).added == 9
        again = engine.index([folder])
        assert (again.unchanged, again.read) == (9, 0)
        rows.write_text(json.dumps({"text": "one row"}) + "\n")
        assert engine.index([folder]).deleted == 7
        (folder / "a.md").unlink()
        assert engine.index([folder], prune=True).pruned == 1
        assert engine.status()["documents"] == 1


@pytest.mark.parametrize("commits", range(6))
def test_a_crash_between_two_shards(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """Whichever shards committed, the next run completes files of rows, and deletes all rows of those that are gone."""
    files = [tmp_path / f"{number}.jsonl" for number in range(4)]
    for file in files:
        file.write_text("".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(12)))
    commit, left = Writer.commit, iter(range(commits))

    def failing(writer: Writer) -> int:
        if next(left, None) is None:
            raise StoreError("the disk is full", path="")
        return commit(writer)

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="disk is full"):
        patch.setattr(Writer, "commit", failing)
        engine.index(files)
    for file in files[2:]:
        file.unlink()
    with engine:
        assert engine.index([tmp_path], prune=True).documents == 24
        assert engine.index([tmp_path], prune=True).unchanged == 24


def test_vectors_are_kept_and_looked_up_over_shards(tmp_path: Path) -> None:
    """Imported vectors are found by content hash, whichever shard keeps them."""
    settings = {"embedder": "ollama:none"}
    with ShardedEngine.open(tmp_path / "index", create=True, settings=settings, shards=3) as engine:
        cache = engine.backend.vector_cache
        assert cache is not None
        cache.put("model", {"0a" * 16: b"abcd"})
        assert cache.get("model", ["0a" * 16, "0b" * 16]) == {"0a" * 16: b"abcd"}


def test_excluded_words_that_nothing_was_ranked_by(engine: Engine) -> None:
    """A word that is left out, or a phrase, need not be among the words of a query before."""
    with engine:
        engine.add([*documents(6), Document("tide of gulls", id="g")])
        assert [item.id for item in engine.retrieve("tide -number", syntax=True)] == ["g#0"]
        assert [item.id for item in engine.retrieve('tide "of gulls"', syntax=True)] == ["g#0"]


def test_async_twins_and_answers(engine: Engine) -> None:
    """`aretrieve` and `search` work as over one index."""
    with engine:
        engine.add(
            [Document("The tide is highest at noon.", id="a"), Document("Ropes are made of hemp.", id="b")]
        )
        ranking = asyncio.run(engine.aretrieve("tide", 1))
        assert [item.id for item in ranking] == ["a#0"]
        assert "noon" in engine.search("when is the tide highest").response


def test_a_folder_of_shards_opens_as_any_index(engine: Engine) -> None:
    """`Engine.open` opens all shards with their settings and their number."""
    engine.add(documents(4))
    engine.close()
    with Engine.open(engine.path) as again:
        assert again.status()["shards"] == 3
        assert len(again.retrieve("tide", 10)) == 4
    with pytest.raises(ArgumentError, match="shards must be 3 as in the index"):
        ShardedEngine.open(engine.path, shards=4)
    with pytest.raises(ArgumentError, match="analyzer must be 'english'"):
        ShardedEngine.open(engine.path, settings={"analyzer": "plain"})


def test_what_is_not_an_index_of_shards_is_refused(tmp_path: Path) -> None:
    """A missing folder, an index without shards, a missing shard and another format raise named errors."""
    with pytest.raises(IndexNotFoundError, match="no index of shards"):
        ShardedEngine.open(tmp_path / "none")
    with pytest.raises(ArgumentError, match="shards must be an int from 1 to 4,096"):
        ShardedEngine.open(tmp_path / "many", create=True, shards=5000)
    Engine.open(tmp_path / "one", create=True, settings=SETTINGS).close()
    with pytest.raises(ArgumentError, match="without an index of one shard"):
        ShardedEngine.open(tmp_path / "one", create=True)
    ShardedEngine.open(tmp_path / "two", create=True, settings=SETTINGS, shards=2).close()
    (tmp_path / "two" / "shard-00001").rename(tmp_path / "elsewhere")
    with pytest.raises(IndexDamagedError, match="lacks shard-00001"):
        ShardedEngine.open(tmp_path / "two")
    layout = tmp_path / "two" / "cluster.json"
    layout.write_text('{"format": 2, "shards": 2}')
    with pytest.raises(FormatVersionError, match="format 2"):
        ShardedEngine.open(tmp_path / "two")
    layout.write_text("{}")
    with pytest.raises(IndexDamagedError, match="does not describe shards"):
        ShardedEngine.open(tmp_path / "two")


@pytest.mark.parametrize("name", ["cluster.json", "shard-00001"])
def test_no_link_is_followed(engine: Engine, tmp_path: Path, name: str) -> None:
    """An index of shards of which a part is a link is refused, and what the link leads to stays as it is."""
    engine.close()
    outside = (engine.path / name).rename(tmp_path / "outside")
    (engine.path / name).symlink_to(outside)
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    with pytest.raises(IndexUnsafeError, match=f"{name} is a link"):
        Engine.open(engine.path)
    with pytest.raises(IndexUnsafeError, match=f"{name} is a link"):
        ShardedEngine.open(engine.path, create=True)
    assert before == sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))


def test_an_index_of_shards_is_for_its_owner(engine: Engine) -> None:
    """Nobody else may read the folder and its files, and git leaves it out."""
    assert stat.S_IMODE(engine.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((engine.path / "cluster.json").stat().st_mode) == 0o600
    assert (engine.path / ".gitignore").read_text() == "*\n"


def test_check_names_a_document_in_the_wrong_shard(engine: Engine) -> None:
    """A healthy index has only "ok" findings; a document in the wrong shard is an error."""
    engine.add(documents(6))
    assert {finding.level for finding in engine.check()} == {"ok"}
    engine.close()
    stray = next(name for name in map(str, range(99)) if shard_of(name, 3) != 0)
    with Engine.open(engine.path / "shard-00000") as shard:
        shard.add([Document("tide", id=stray)])
    with Engine.open(engine.path) as again:
        worst = again.check()[0]
        assert (worst.level, worst.subject) == ("error", "shard-00000")
        assert stray in worst.message


def test_hidden_options_of_reading_hold(engine: Engine, tmp_path: Path) -> None:
    """Reading options reach every shard: a file read with other fields is read again."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"a": "tide", "b": "moon"}) + "\n")
    with engine:
        engine.index([rows], options=ReadOptions(text_fields=("a",)))
        assert engine.index([rows], options=ReadOptions(text_fields=("b",))).read == 1
        assert [item.text for item in engine.retrieve("moon")] == ["moon"]


def test_the_command_line_makes_and_searches_an_index_of_shards(tmp_path: Path) -> None:
    """`sleuth index --shards` creates a sharded index; search, status and delete work on it."""
    (tmp_path / "a.md").write_text("The tide comes in twice a day.")
    (tmp_path / "b.md").write_text("Ropes are made of hemp.")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return sleuth(*arguments, "--index", str(tmp_path / "index"), cwd=tmp_path)

    assert run("index", "--shards", "2", "--embedder", "", "a.md", "b.md").returncode == 0
    assert "twice a day" in run("search", "tide").stdout
    assert json.loads(run("status", "--json").stdout)["shards"] == 2
    assert run("index", "delete", "a.md").returncode == 0
    assert run("search", "tide").returncode == 1


class LastFirst:
    """Shards of this process whose answers come in reverse order, as those of other processes may."""

    def __init__(self, shards: LocalShards) -> None:
        self._shards = shards
        self.names, self.versions, self.generation = shards.names, shards.versions, shards.generation
        self.scope = shards.scope

    def scoped(self, scope: Filter) -> LastFirst:
        return LastFirst(self._shards.scoped(scope))

    def ask(
        self, method: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        answers = self._shards.ask(method, arguments, deadline)
        return ShardAnswers(dict(reversed(answers.values.items())), answers.failures)


class Lost(LastFirst):
    """Shards of this process, of which some do not answer, as those of a searcher that died."""

    def __init__(self, shards: LocalShards, numbers: frozenset[int]) -> None:
        super().__init__(shards)
        self._numbers = numbers

    def ask(
        self, method: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        reached = {number: some for number, some in arguments.items() if number not in self._numbers}
        answers = self._shards.ask(method, reached, deadline)
        lost = [PartReport(self.names[n], "failed", error="is lost") for n in arguments if n in self._numbers]
        return ShardAnswers(answers.values, [*answers.failures, *lost])


def exchange(
    engine: Engine, shards: Callable[[LocalShards], LastFirst], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let others answer in the place of the shards of an index."""
    reader = engine.store.reader

    @contextmanager
    def other_reader() -> Iterator[GatheredSnapshot]:
        with reader() as snapshot:
            gathered: Any = snapshot
            yield replace(gathered, shards=shards(gathered.shards))

    monkeypatch.setattr(engine.store, "reader", other_reader)


def lose(engine: Engine, numbers: frozenset[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let some shards of an index answer no more."""
    exchange(engine, partial(Lost, numbers=numbers), monkeypatch)


@pytest.mark.parametrize("is_used", [False, True], ids=["from the start", "after a search"])
def test_without_any_shard_a_search_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, is_used: bool
) -> None:
    """A ranking without some shards names them; without any there is no ranking, also of words that are counted."""
    with engine:
        engine.add(documents(20))
        if is_used:
            assert len(engine.retrieve("tide", 20)) == 20
        with monkeypatch.context() as some:
            lose(engine, frozenset({0, 2}), some)
            ranking = engine.retrieve("tide", 20)
            assert ranking
            assert {part.name for part in ranking.failures} == {"shard-00000", "shard-00002"}
            detail = engine.search("tide", 20).detail
            assert detail is not None
            assert detail.code == "degraded"
            assert engine.spell is not None
            assert engine.spell("tied number", None) == ("tied number", ())
        with monkeypatch.context() as every:
            lose(engine, frozenset(range(3)), every)
            for query in ("tide", "moon"):
                with pytest.raises(UnavailableError, match="shard-00001 failed: is lost"):
                    engine.retrieve(query)
            with pytest.raises(RetrievalError):
                engine.search("tide")
        assert len(engine.retrieve("tide", 20)) == 20


@pytest.mark.parametrize("earlier", ["", "moon", "tide number 7"])
def test_numbers_that_lack_a_shard_are_not_kept(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, earlier: str
) -> None:
    """When a shard answers again, scores and known metadata keys are those of all shards."""
    own = next(name for name in map(str, range(99)) if shard_of(name, 3) == 0)
    engine.add([*documents(20), Document("tide and moon", {"rare": 1}, id=own)])

    def answers(searched: Engine) -> list[Any]:
        rankings = [searched.retrieve("tide number 7", 30), searched.retrieve("tide", filter="rare:1")]
        return [([item.to_dict() for item in ranking], ranking.notes) for ranking in rankings]

    with engine:
        with Engine.open(engine.path) as other:
            expected = answers(other)
        if earlier:
            assert len(engine.retrieve(earlier)) > 0
        with monkeypatch.context() as some:
            lose(engine, frozenset({0}), some)
            assert answers(engine) != expected
        assert answers(engine) == expected


def test_the_order_in_which_shards_answer_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rankings, listings and counts are the same whichever shard answers first."""
    with ShardedEngine.open(tmp_path, create=True, shards=4, settings=SETTINGS) as engine:
        engine.add(documents(60))

        def contents() -> list[Any]:
            ranking = engine.retrieve("tide number 7", 60, explain=True)
            page = engine.list_documents(filter="n<30", limit=40)
            return [
                [item.to_dict() for item in ranking], page, engine.facets("n", limit=60), engine.count("n<9"),
            ]  # fmt: skip

        expected = contents()
        exchange(engine, LastFirst, monkeypatch)
        assert contents() == expected


def test_texts_are_matched_where_no_tokens_are_stored(tmp_path: Path) -> None:
    """With an embedder without tokens, passages of all shards are matched by their texts, as those of one index."""
    fusion = "minmax(lexical=1,dense=1,tokens=0.5)"
    with twins(tmp_path, documents(30), embedder=HashEmbedder()) as (one, many):
        for query in ("tide number 7", "harbour"):
            expected = one.retrieve(query, 9, fusion=fusion, exact=True)
            ranking = many.retrieve(query, 9, fusion=fusion, exact=True)
            assert [(hit.id, hit.score) for hit in ranking] == [(hit.id, hit.score) for hit in expected]


def test_a_shard_answers_its_own_questions_only(tmp_path: Path) -> None:
    """Any other name than that of a question is refused: questions may come from another process."""
    with ShardedEngine.open(tmp_path, create=True, shards=2, settings=SETTINGS) as engine:
        engine.add(documents(5))
        with engine.store.reader() as snapshot:
            shards: Any = cast("Any", snapshot).shards
            for question in ("_search", "segments", "__class__", "within", ""):
                with pytest.raises(ValueError, match=f"question must be one of a shard, got {question!r}"):
                    shards.ask(question, {0: ()})
