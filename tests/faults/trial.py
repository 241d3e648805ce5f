"""Damages indexes and prints the outcome: `python -m tests.faults.trial FOLDER FIRST LAST`, a line of JSON each.

FOLDER holds `documents`, `logged` (documents whose last commits are in the log) and `code`, each with an `index`, a
`foreign` one of other contents, and an `earlier` version. The cache of vectors is that of `documents`.
"""

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sleuth import Document, Engine, SleuthError
from sleuth.code import CodeRetriever, CodeStorage
from sleuth.code.snapshots import health
from sleuth.engine import open_code
from sleuth.store.record import mark
from tests.dense.strategies import HashEmbedder

FILES = {
    "documents": (
        "record.sqlite", "segments/passages*", "segments/lexical*", "segments/columns*", "segments/dense*",
        "version",
    ),
    "logged": ("record.sqlite-wal",),
    "code": ("code.db", "code/files*", "code/chunks*"),
    "cache": ("vectors",),
}  # fmt: skip
KINDS = [(index, file) for index, files in FILES.items() for file in files]
MADE = {"cache": "documents"}
"""Where an index is made, if not under its own name."""
QUERIES = ("w0 w7", "w3", "w20 w41 w2", "w88")
OWN = ("year", "kind", "tags")


PAGE = 8192


@dataclass(frozen=True)
class Victim:
    """A file that is about to be damaged.

    Attributes:
        data: what it holds.
        foreign: what the same file of another index holds.
        earlier: what it held at an earlier version.
    """

    data: bytes
    foreign: bytes = b""
    earlier: bytes = b""


def flip(victim: Victim, rng: random.Random) -> bytes:
    """Change a bit."""
    at = rng.randrange(len(victim.data))
    return victim.data[:at] + bytes([victim.data[at] ^ 1 << rng.randrange(8)]) + victim.data[at + 1 :]


def change(victim: Victim, rng: random.Random) -> bytes:
    """Change a byte."""
    at = rng.randrange(len(victim.data))
    return victim.data[:at] + rng.randbytes(1) + victim.data[at + 1 :]


def zero(victim: Victim, rng: random.Random) -> bytes:
    """Zero a page."""
    start = rng.randrange(len(victim.data)) // PAGE * PAGE
    end = min(len(victim.data), start + PAGE)
    return victim.data[:start] + bytes(end - start) + victim.data[end:]


def truncate(victim: Victim, rng: random.Random) -> bytes:
    """Leave the beginning."""
    return victim.data[: rng.randrange(len(victim.data))]


def extend(victim: Victim, rng: random.Random) -> bytes:
    """Add bytes at the end."""
    return victim.data + rng.randbytes(rng.randrange(1, 100))


def garble(victim: Victim, rng: random.Random) -> bytes:
    """Put noise in the place of up to 4 kB."""
    start = rng.randrange(len(victim.data))
    end = min(len(victim.data), start + rng.randrange(1, 4096))
    return victim.data[:start] + rng.randbytes(end - start) + victim.data[end:]


def swap(victim: Victim, rng: random.Random) -> bytes:
    """Put the page of another index in the place of one."""
    start = rng.randrange(len(victim.data)) // PAGE * PAGE
    page = victim.foreign[start : start + PAGE] or victim.foreign[:PAGE]
    return victim.data[:start] + page + victim.data[start + len(page) :]


def replace(victim: Victim, rng: random.Random) -> bytes:
    """Put the file of another index in its place."""
    return victim.foreign


def restore(victim: Victim, rng: random.Random) -> bytes:
    """Put the file of an earlier version back."""
    return victim.earlier


Damage = Callable[[Victim, random.Random], bytes]
SAME_SIZE: tuple[Damage, ...] = (flip, change, zero, garble)
DAMAGES: tuple[Damage, ...] = (
    flip, change, zero, truncate, extend, garble, swap, replace, restore,
)  # fmt: skip


class Answers(NamedTuple):
    """What an index answers.

    Attributes:
        texts: of all hits, by id or place.
        rankings: ids and scores of hits, and counts.
        said: whether it says that something is damaged or was repaired, or that a part failed.
    """

    texts: dict[str, str]
    rankings: list[Any]
    said: bool = False


def documents_of(seed: int) -> list[Document]:
    """Return 150 documents of rare and frequent words, with metadata."""
    rng = random.Random(seed)
    words, law = [f"w{i}" for i in range(90)], [1 / (i + 1) for i in range(90)]
    texts = [" ".join(rng.choices(words, law, k=30)) for _ in range(150)]
    return [
        Document(text, {"year": 1900 + n, "kind": "ab"[n % 2], "tags": ["x", n]}, id=f"d{n}")
        for n, text in enumerate(texts)
    ]


def answers_of_documents(engine: Engine) -> Answers:
    """Return the hits and counts of an open index."""
    rankings = [engine.retrieve(query, 10) for query in QUERIES]
    rankings += [engine.retrieve(query, 200, filter="year<1970") for query in QUERIES]
    texts = {item.id: item.text for ranking in rankings for item in ranking}
    hits: list[Any] = [[(item.id, item.score) for item in ranking] for ranking in rankings]
    counts = [engine.count("kind:a"), engine.facets(["kind", "tags"]), engine.count("year>=1990")]
    failed = any(ranking.failures for ranking in rankings)
    return Answers(texts, [*hits, *counts], bool(engine.repairs or engine.store.status().damage or failed))


def ask_documents(path: Path) -> Answers:
    """Return what an index of documents answers when it was just opened."""
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        return answers_of_documents(engine)


def ask_again(path: Path) -> Answers:
    """Return what an index answers after its documents were deleted and added again, with vectors of the cache."""
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        items = [item for document in engine.documents() for item in engine.get(document.id)]
        own = ({key: item.metadata[key] for key in OWN if key in item.metadata} for item in items)
        documents = [
            Document(item.text, metadata, id=item.document_id)
            for item, metadata in zip(items, own, strict=True)
        ]
        engine.delete([item.document_id for item in items])
        engine.add(documents)
        return answers_of_documents(engine)


def answers_of_code(storage: CodeStorage) -> Answers:
    """Return the hits of open code."""
    retriever = CodeRetriever(storage, None)
    hits = [
        retriever.retrieve(query, repository.id, strategy="keyword")
        for repository in storage.repositories()
        for query in ("refill bucket 7", "class Cart12", "size", "refill_3_1")
    ]
    texts = {f"{hit.file_path}:{hit.start_line}": hit.content for ranking in hits for hit in ranking}
    rankings = [[(hit.file_path, hit.start_line, hit.score) for hit in ranking] for ranking in hits]
    return Answers(texts, rankings, bool(health.status(storage).damage))


def ask_code(path: Path) -> Answers:
    """Return what an index of code answers when it was just opened."""
    with open_code(path) as storage:
        return answers_of_code(storage)


ASK: dict[str, Callable[[Path], Answers]] = {
    "documents": ask_documents, "logged": ask_documents, "code": ask_code, "cache": ask_again,
}  # fmt: skip


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
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        engine.repair()


def matters(file: Path, before: bytes, after: bytes) -> bool:
    """Return whether a damage changes anything that is used: SQLite's free pages and the gaps in pages are not."""
    if file.name == "version":  # one with an earlier number is what a power cut leaves
        version = mark.read(file.parent).version
        return version is None or version >= int(before[:20])
    if file.name.startswith("passages"):  # texts of deleted rows, which are zeros now and nobody reads
        return len(before) != len(after) or any(b not in (0, a) for b, a in zip(before, after, strict=True))
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
        except (sqlite3.Error, UnicodeDecodeError):  # a message of SQLite may quote damaged bytes
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


def damaged(
    before: bytes, damage: Damage, others: dict[str, bytes], rng: random.Random, place: slice
) -> bytes:
    """Return what a file holds after its bytes at a place were damaged."""
    piece = damage(Victim(before[place], **others), rng)
    return before[: place.start] + piece + before[place.stop :]


def place_of_vector(file: Path, rng: random.Random) -> slice:
    """Return where the bytes of a cached vector stand in the file of a record."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        vectors = [vector for (vector,) in connection.execute("SELECT vector FROM embeddings ORDER BY hash")]
    vector = rng.choice(vectors)
    start = file.read_bytes().index(vector)
    return slice(start, start + len(vector))


def trial(home: Path, number: int, whole: dict[str, Answers], earlier: dict[str, Answers]) -> dict[str, Any]:
    """Damage one file of one index; return the outcome."""
    rng = random.Random(number)
    index, pattern = KINDS[number % len(KINDS)]
    damages = SAME_SIZE if index == "cache" else DAMAGES
    damage = damages[number // len(KINDS) % len(damages)]
    outcome: dict[str, Any] = {
        "number": number, "index": index, "file": pattern, "damage": damage.__name__, "typed": [], "untyped": [],
        "wrong": [], "effect": False, "matters": False, "found": False, "silent": False,
    }  # fmt: skip
    path, original = home / "trial", home / MADE.get(index, index)
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(original / "index", path)
    glob = "record.sqlite" if index == "cache" else pattern
    file = rng.choice(sorted(path.glob(glob)))
    before = file.read_bytes()
    others = {name: sorted((original / name).glob(glob))[-1].read_bytes() for name in ("foreign", "earlier")}
    place = place_of_vector(file, rng) if index == "cache" else slice(0, len(before))
    after = damaged(before, damage, others, rng, place)
    if after == before:
        return outcome
    file.write_bytes(after)
    outcome["matters"] = matters(file, before, after)

    fresh = home / "fresh"  # opening mends what it meets

    def renewed() -> Path:
        shutil.rmtree(fresh, ignore_errors=True)
        return Path(shutil.copytree(path, fresh))

    sound = whole[index]
    complaints = attempt(outcome, "doctor", lambda: doctor(index, renewed()))
    outcome["found"] = complaints is None or bool(complaints)
    answers = attempt(outcome, "search", lambda: ASK[index](renewed()))
    outcome["effect"] = answers is None or answers[:2] != sound[:2]
    outcome["silent"] = answers is not None and answers[:2] != sound[:2] and not answers.said
    attempt(outcome, "repair", lambda: repair(index, path))
    repaired = attempt(outcome, "search again", lambda: ASK[index](path))
    for hits in (answers, repaired):
        # A repair removes a snapshot of code that lost a content; the one before it answers then.
        is_older = damage is restore or (index == "code" and hits is repaired)
        old = earlier[index].texts if is_older else {}
        if hits is not None:
            outcome["wrong"] += [
                id for id, text in hits.texts.items() if text not in (sound.texts.get(id, text), old.get(id))
            ]
    return outcome


if __name__ == "__main__":
    home, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    sound, before = (
        {index: ask(index, home / MADE.get(index, index) / version) for index in FILES}
        for version in ("index", "earlier")
    )
    for number in range(first, last):
        print(json.dumps({"begun": number}), flush=True)
        print(json.dumps(trial(home, number, sound, before)), flush=True)
