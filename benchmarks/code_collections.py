"""The code collections, as sources that `sleuth.code` can index, with their queries and the files that answer them."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sleuth.code.repository.listing import Listed, Listing, Past, Version
from sleuth.code.repository.objects import object_id
from sleuth.code.repository.sources import content_id

DATA = Path(__file__).parents[1] / ".data"
COMMITS = ("django", "rails", "terraform", "homeassistant", "kafka")
_TEST = re.compile(r"(?:test_.*|.*_test|conftest|tests)\.py$")


@dataclass
class Given:
    """Files given in memory, as a source."""

    root: Path
    files: list[tuple[str, str]]
    url: str = ""
    names: dict[str, str] = field(default_factory=dict)

    def listing(self, past: Past | None = None) -> Listing:
        """The files, by the hash of their text, or by the name that was given for it."""
        self._texts = dict(self.files)
        entries = [Listed(path, object_id(text.encode("utf-8", "replace"))) for path, text in self.files]
        entries.sort(key=lambda f: f.path)
        return Listing(Version(content_id(entries)), entries, {})

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        return (self._texts[file.path].encode("utf-8", "replace") for file in files)


@dataclass
class Task:
    """A query, the files that answer it, and the snapshot it is asked at."""

    id: str
    text: str
    gold: set[str]
    snapshot: str | None = None


def beir(name: str, *, suffix: str = "") -> tuple[list[tuple[str, str]], list[Task]]:
    """Files and tasks of a collection in BEIR's layout."""
    folder = DATA / name
    files = [(d["_id"] + suffix, d["text"]) for d in _lines(folder / "corpus.jsonl")]
    relevant: dict[str, set[str]] = defaultdict(set)
    for row in next((folder / "qrels").glob("*.tsv")).read_text("utf-8").splitlines()[1:]:
        query, document, score = row.split("\t")
        if float(score) > 0:
            relevant[query].add(document + suffix)
    tasks = [Task(d["_id"], d["text"], relevant[d["_id"]]) for d in _lines(folder / "queries.jsonl")]
    return files, [task for task in tasks if task.gold]


def is_test(path: str) -> bool:
    """Return whether `swebench_dev` leaves this path out as a test."""
    parts = path.split("/")
    return not {"tests", "test", "testing"}.isdisjoint(parts[:-1]) or _TEST.match(parts[-1]) is not None


def swebench() -> dict[str, list[tuple[Task, list[tuple[str, str]]]]]:
    """Per repository, tasks with the (path, blob) pairs of their trees, tests left out."""
    folder = DATA / "swebench_dev"
    trees = dict(_zstd_lines(folder / "trees.jsonl.zst"))
    tasks: dict[str, list[tuple[Task, list[tuple[str, str]]]]] = defaultdict(list)
    for d in _lines(folder / "instances.jsonl"):
        gold = set(d["gold_files"])
        tree = [(path, blob) for path, blob in trees[d["instance_id"]] if path in gold or not is_test(path)]
        tasks[d["repo"]].append((Task(d["instance_id"], d["problem_statement"], gold), tree))
    return tasks


def swebench_blobs(names: set[str]) -> dict[str, str]:
    """Texts of blobs."""
    return {
        name: text for name, text in _zstd_lines(DATA / "swebench_dev" / "blobs.jsonl.zst") if name in names
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _zstd_lines(path: Path) -> Iterator[Any]:
    import zstandard

    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(file)
        for line in io.TextIOWrapper(reader, "utf-8"):
            yield json.loads(line)
