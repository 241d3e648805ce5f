"""What does a filter over a million rows cost, as columns of codes and as SQL?

Rows have up to six keys: one of every row's own (source), few values (percent, lang, year), floats, and lists. Each
filter runs on both in turn, and each run starts without a cache. SQLite has a column and an index per key, keeps its
pages in memory, and returns row numbers, which become a bitmap.

    python -m benchmarks.filters [ROWS]
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sleuth.columns.leg import ColumnsLeg
from sleuth.columns.search import ColumnsSearcher
from sleuth.filters import Filter, field
from sleuth.store import Rows, SegmentData, SegmentView
from sleuth.store.legs.leg import Bitmap, count

ROUNDS = 7
KEYS = ("source", "percent", "lang", "score", "year", "tags")


def row(number: int, rng: random.Random) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "source": f"corpus/part-{number // 1000:04d}/file-{number:07d}.txt",
        "percent": rng.randrange(100),
        "lang": rng.choice(["en", "de", "fr", "es", "it", "pt", "nl", "sv"]),
    }
    luck = rng.random()
    if luck < 0.8:
        fields["score"] = rng.random()
    if luck < 0.6:
        fields["tags"] = [f"tag{tag}" for tag in rng.sample(range(50), 3)]
    if luck < 0.4:
        fields["year"] = 1990 + rng.randrange(35)
    return fields


def view(data: SegmentData, n: int) -> SegmentView:
    return SegmentView("s", np.arange(n, dtype=np.int64), None, None, data.arrays, data.meta)


def size(rows: list[dict[str, Any]], key: str) -> float:
    """Bytes per row that a key takes alone."""
    alone = [{key: one[key]} if key in one else {} for one in rows]
    data = ColumnsLeg().build(Rows(np.arange(len(rows), dtype=np.int64), None, {}, alone))
    return data.arrays["columns"].nbytes / len(rows)


def database(rows: list[dict[str, Any]]) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, source, percent, lang, score, year, tags)")
    base.execute("CREATE TABLE tags (tag TEXT, id INTEGER)")
    base.executemany(
        "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (at, *(one.get(key) for key in KEYS[:-1]), json.dumps(one.get("tags")))
            for at, one in enumerate(rows)
        ),
    )
    base.executemany(
        "INSERT INTO tags VALUES (?, ?)",
        ((tag, at) for at, one in enumerate(rows) for tag in one.get("tags", ())),
    )
    for key in KEYS[:-1]:
        base.execute(f"CREATE INDEX by_{key} ON rows ({key})")
    base.execute("CREATE INDEX by_tag ON tags (tag, id)")
    base.execute("ANALYZE")
    return base


def as_sql(base: sqlite3.Connection, where: str, n: int) -> Bitmap:
    ids = np.fromiter((one for (one,) in base.execute(f"SELECT id FROM {where}")), np.int64)
    mask = np.zeros(-(-n // 64) * 64, np.bool_)
    mask[ids] = True
    return np.packbits(mask, bitorder="little").view(np.uint64)


def timed(call: Callable[[], Bitmap]) -> tuple[float, Bitmap]:
    start = time.perf_counter()
    result = call()
    return 1000 * (time.perf_counter() - start), result


FILTERS: list[tuple[str, Filter, str]] = [
    ("percent:7", field("percent") == 7, "rows WHERE percent = 7"),
    ("percent<10", field("percent") < 10, "rows WHERE percent < 10"),
    ("percent>=10", field("percent") >= 10, "rows WHERE percent >= 10"),
    ("lang:en,de", field("lang").is_in(["en", "de"]), "rows WHERE lang IN ('en', 'de')"),
    ("lang!=en", field("lang") != "en", "rows WHERE lang IS NOT 'en'"),
    ("score<0.0125", field("score") < 0.0125, "rows WHERE score < 0.0125"),
    ("score<0.125", field("score") < 0.125, "rows WHERE score < 0.125"),
    ("score>=0", field("score") >= 0, "rows WHERE score >= 0"),
    (
        "source:corpus/part-001*",
        field("source").starts_with("corpus/part-001"),
        "rows WHERE source >= 'corpus/part-001' AND source < 'corpus/part-002'",
    ),
    (
        "source:*999*",
        field("source").has_substring("999"),
        "rows WHERE instr(source, '999')",
    ),
    ("tags:tag7", field("tags") == "tag7", "tags WHERE tag = 'tag7'"),
    (
        "percent<50 lang:en year>=2000",
        (field("percent") < 50) & (field("lang") == "en") & (field("year") >= 2000),
        "rows WHERE percent < 50 AND lang = 'en' AND year >= 2000",
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    n = parser.parse_args().rows
    rng = random.Random(0)
    rows = [row(number, rng) for number in range(n)]
    start = time.perf_counter()
    data = ColumnsLeg().build(Rows(np.arange(n, dtype=np.int64), None, {}, rows))
    build_seconds = time.perf_counter() - start
    print(f"{n:,} rows: built in {build_seconds:.1f} s, {data.arrays['columns'].nbytes / n:.1f} bytes a row")
    print("bytes a row, key alone: " + ", ".join(f"{key} {size(rows, key):.1f}" for key in KEYS))
    base, segment = database(rows), view(data, n)
    print("\n| filter | rows kept | columns, ms | again, ms | SQLite, ms |\n|---|---|---|---|---|")
    for name, tree, where in FILTERS:
        times: dict[str, list[float]] = {"new": [], "again": [], "sql": []}
        for _ in range(ROUNDS):
            searcher = ColumnsSearcher([segment])
            took, mine = timed(lambda: searcher.bitmap(tree)[0])  # noqa: B023  # called at once
            times["new"].append(took)
            times["again"].append(timed(lambda: searcher.bitmap(tree)[0])[0])  # noqa: B023
            took, theirs = timed(lambda: as_sql(base, where, n))  # noqa: B023
            times["sql"].append(took)
            assert np.array_equal(mine, theirs), name
        new, again, sql = (statistics.median(times[kind]) for kind in ("new", "again", "sql"))
        print(f"| `{name}` | {count(mine) / n:.1%} | {new:.2f} | {again:.4f} | {sql:.1f} |")


if __name__ == "__main__":
    main()
