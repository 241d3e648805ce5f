"""Damages indexes and says what comes of it: `python -m tests.faults.trial FOLDER FIRST LAST`, a line of JSON each.

FOLDER holds `documents`, `logged` (documents whose last commits are in the log) and `code`, each with an `index`, a
`foreign` one of other contents, and an `earlier` version.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine, SleuthError
from sleuth.code import CodeRetriever
from sleuth.code.snapshots import health
from sleuth.engine import open_code
from sleuth.store import Store
from sleuth.store.catalogue import watch
from sleuth.store.record import mark
from tests.dense.strategies import HashEmbedder
from tests.faults.damaging import DAMAGES, Victim, restore

FILES = {
    "documents": ("record.sqlite", "segments/lexical*", "segments/columns*", "segments/dense*", "version"),
    "logged": ("record.sqlite-wal",),
    "code": ("code.db", "code/files*", "code/chunks*"),
}
KINDS = [(index, file) for index, files in FILES.items() for file in files]
QUERIES = ("w0 w7", "w3", "w20 w41 w2", "w88")
Answers = tuple[dict[str, str], list[Any]]


def ask_documents(path: Path) -> Answers:
    """Return the texts of all hits by id, and the rankings."""
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        rankings = [engine.retrieve(query, 10) for query in QUERIES]
        rankings += [engine.retrieve(query, 200, filter="year<1970") for query in QUERIES]
        texts = {item.id: item.text for ranking in rankings for item in ranking}
        return texts, [[(item.id, item.score) for item in ranking] for ranking in rankings]


def ask_code(path: Path) -> Answers:
    """Return the texts of all hits by place, and the rankings."""
    with open_code(path) as storage:
        retriever = CodeRetriever(storage, None)
        hits = [
            retriever.retrieve(query, repository.id, strategy="keyword")
            for repository in storage.repositories()
            for query in ("refill bucket 7", "class Cart12", "size", "refill_3_1")
        ]
        texts = {f"{hit.file_path}:{hit.start_line}": hit.content for ranking in hits for hit in ranking}
        return texts, [[(hit.file_path, hit.start_line, hit.score) for hit in ranking] for ranking in hits]


ASK: dict[str, Callable[[Path], Answers]] = {
    "documents": ask_documents,
    "logged": ask_documents,
    "code": ask_code,
}


def ask(index: str, path: Path) -> Answers:
    """Return the answers of a copy: asking changes files."""
    with tempfile.TemporaryDirectory() as folder:
        return ASK[index](Path(shutil.copytree(path, Path(folder, "copy"))))


def doctor(index: str, path: Path) -> list[str]:
    """Return what a full check complains of."""
    if index == "code":
        with open_code(path) as storage:
            return [finding.message for finding in health.check(storage, full=True) if finding.level != "ok"]
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        return [
            *(repair.why for repair in engine.repairs),
            *(finding.message for finding in engine.check(full=True) if finding.level != "ok"),
        ]


def repair(index: str, path: Path) -> None:
    if index == "code":
        with open_code(path) as storage:
            health.repair(storage)
        return
    Store.recover(path)
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        engine.repair()


def watched(index: str, path: Path) -> bool:
    """Return whether an index that stays open finds damage by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "PATIENCE", 0.0)
        patch.setattr(watch, "RATE", 1 << 40)
        patch.setattr(watch, "SHARE", 1e9)
        if index == "code":
            with open_code(path) as storage:
                for query in ("refill bucket", "class Cart"):  # an index that was just opened proves nothing
                    for repository in storage.repositories():
                        CodeRetriever(storage, None).retrieve(query, repository.id, strategy="keyword")
                    finish(storage.watch)
                if health.status(storage).damage:
                    return True
            return not doctor(index, path)  # a segment that does not open was built again
        with Engine.open(path, embedder=HashEmbedder()) as engine:
            if engine.repairs:
                return True
            engine.retrieve("w0", 3)
            finish(engine.store._watch)
            return bool(engine.store.status().damage)


def finish(looking: watch.Watch) -> None:
    """Wait for the thread that looks."""
    until = time.monotonic() + 60
    while (thread := looking._thread) is not None and time.monotonic() < until:
        thread.join(0.1)


def matters(file: Path, before: bytes, after: bytes) -> bool:
    """Return whether a damage changes anything that is used: SQLite's free pages and the gaps in pages are not."""
    if file.name == "version":  # one with an earlier number is what a power cut leaves
        noted = mark.read(file.parent).version
        return noted is None or noted >= int(before[:20])
    log = file.name.endswith("-wal")
    database = file.with_name(file.name.removesuffix("-wal"))
    if database.suffix not in (".sqlite", ".db"):
        return True
    whole, damaged = (rows(database.read_bytes(), data) if log else rows(data) for data in (before, after))
    return whole != damaged


def rows(data: bytes, log: bytes = b"") -> list[Any] | None:
    """Return the schema and all rows of a database with its log; None if its structure is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "database")
        file.write_bytes(data)
        if log:
            Path(folder, "database-wal").write_bytes(log)
        try:
            with closing(sqlite3.connect(file)) as connection:
                if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                    return None
                schema = connection.execute("SELECT * FROM sqlite_schema ORDER BY name").fetchall()
                tables = [name for kind, name, *_ in schema if kind == "table"]
                contents = [
                    sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in tables
                ]
                return [sorted(map(repr, schema)), contents]
        except sqlite3.Error:
            return None


def attempt(outcome: dict[str, Any], name: str, step: Callable[[], Any]) -> Any:
    """Return what a step gives; None where it raises, which is noted unless the error is one of Sleuth's."""
    try:
        return step()
    except SleuthError as error:
        outcome["typed"].append(f"{name}: {error}")
    except Exception as error:  # noqa: BLE001 - what is looked for
        outcome["untyped"].append(f"{name}: {type(error).__name__}: {error}")
    return None


def trial(home: Path, number: int, whole: dict[str, Answers], earlier: dict[str, Answers]) -> dict[str, Any]:
    """Damage one file of one index; return what comes of it."""
    rng = random.Random(number)
    index, pattern = KINDS[number % len(KINDS)]
    damage = DAMAGES[number // len(KINDS) % len(DAMAGES)]
    outcome: dict[str, Any] = {
        "number": number, "index": index, "file": pattern, "damage": damage.__name__, "typed": [], "untyped": [],
        "wrong": [], "effect": False, "matters": False, "found": False, "watched": False,
    }  # fmt: skip
    path = home / "trial"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(home / index / "index", path)
    file = rng.choice(sorted(path.glob(pattern)))
    other = {
        name: sorted((home / index / name).glob(pattern))[-1].read_bytes() for name in ("foreign", "earlier")
    }
    before = file.read_bytes()
    after = damage(Victim(before, **other), rng)
    if after == before:
        return outcome
    file.write_bytes(after)
    outcome["matters"] = matters(file, before, after)

    fresh = home / "fresh"  # opening mends what it meets

    def renewed() -> Path:
        shutil.rmtree(fresh, ignore_errors=True)
        return Path(shutil.copytree(path, fresh))

    complaints = attempt(outcome, "doctor", lambda: doctor(index, renewed()))
    outcome["found"] = complaints is None or bool(complaints)
    outcome["watched"] = attempt(outcome, "watch", lambda: watched(index, renewed())) is not False
    texts, rankings = whole[index]
    answers = attempt(outcome, "search", lambda: ASK[index](renewed()))
    outcome["effect"] = answers is None or answers != (texts, rankings)
    attempt(outcome, "repair", lambda: repair(index, path))
    repaired = attempt(outcome, "search again", lambda: ASK[index](path))
    old = earlier[index][0] if damage is restore else {}
    for hits in (answers, repaired):
        if hits is not None:
            outcome["wrong"] += [
                id for id, text in hits[0].items() if text not in (texts.get(id, text), old.get(id))
            ]
    return outcome


if __name__ == "__main__":
    home, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    sound, before = (
        {index: ask(index, home / index / version) for index in FILES} for version in ("index", "earlier")
    )
    for number in range(first, last):
        sys.stdout.write(json.dumps({"begun": number}) + "\n")
        sys.stdout.flush()
        sys.stdout.write(json.dumps(trial(home, number, sound, before)) + "\n")
        sys.stdout.flush()
