"""A server under load on loopback: mixed reads and writes by many clients, beside the bare engine.

python -m benchmarks.serve_load [--clients 100] [--seconds 60] [--passages 100000] [--writes 0.02] [--burst 400]

Every answer is checked: a search must hold a document that was acknowledged before it was asked for, where the search
is for that document; every acknowledged document must be in the index at the end. Client and server share the machine,
so the clients' own work takes part of its cores. After that, more clients search than the queue has room for: each must
get its hits or 503 with Retry-After, and nobody may wait.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.passages import passages, queries
from sleuth import Document, Engine

BURST = 5.0
"""Seconds that the clients of the second part search."""


@dataclass
class Tally:
    """What the clients saw.

    Attributes:
        seconds: of each answered search, then of each answered add.
        mute: refusals that do not say when to ask again.
        lost: acknowledged documents that a later search for them did not find, or that are not in the index.
        wrong: searches whose hits are not those of the bare engine.
    """

    searches: list[float] = field(default_factory=list)
    adds: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    mute: int = 0
    acknowledged: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    wrong: int = 0
    checked: int = 0


class Connection:
    """One client's connection, kept open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.retries = False

    async def post(self, path: str, value: object) -> tuple[int, bytes]:
        """Status and body of an answer; `retries` becomes whether it says when to ask again."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        body = json.dumps(value).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", answer)[1])  # type: ignore[index]
        self.retries = b"\r\nretry-after: " in answer
        return int(answer.split(b" ", 2)[1]), await reader.readexactly(length)


async def client(
    number: int,
    connection: Connection,
    *,
    ends: float,
    expected: dict[str, list[str]],
    share: float,
    tally: Tally,
) -> None:
    """Search and add until the end; check every response."""
    rng = random.Random(number)
    serial, texts = 0, list(expected)
    while time.perf_counter() < ends:
        started = time.perf_counter()
        if rng.random() < share:
            serial += 1
            n = number * 1_000_000 + serial
            text = f"unmistakable{n} was written by a client under load"
            body = {"documents": [{"text": text, "id": f"load{n}", "metadata": {"load": True}}]}
            status, _ = await connection.post("/v1/documents", body)
            if status == 200:
                tally.adds.append(time.perf_counter() - started)
                tally.acknowledged.append(n)
                status, data = await connection.post("/v1/search", {"query": f"unmistakable{n}", "k": 1})
                if status == 200 and [hit["id"] for hit in json.loads(data)["items"]] != [f"load{n}#0"]:
                    tally.lost.append(n)
        else:
            query = rng.choice(texts)
            status, data = await connection.post("/v1/search", {"query": query, "filter": "-load:true"})
            if status == 200:
                tally.searches.append(time.perf_counter() - started)
                tally.checked += 1
                ids = {hit["id"] for hit in json.loads(data)["items"]}
                tally.wrong += len(ids & set(expected[query])) < len(expected[query]) - 1
        if status == 503:
            tally.refusals.append(time.perf_counter() - started)
            tally.mute += not connection.retries
            await asyncio.sleep(0.05)
        tally.statuses[status] += 1


async def drive(
    port: int, clients: int, *, seconds: float, expected: dict[str, list[str]], share: float
) -> Tally:
    """All clients at once."""
    tally = Tally()
    ends = time.perf_counter() + seconds
    work = (
        client(n, Connection(port), ends=ends, expected=expected, share=share, tally=tally)
        for n in range(clients)
    )
    await asyncio.gather(*work)
    return tally


def quantiles(seconds: list[float]) -> str:
    """p50 and p99 in milliseconds."""
    if len(seconds) < 2:
        return "–"
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.1f} / {ordered[int(len(ordered) * 0.99)] * 1e3:.1f}"


def built(folder: Path, n: int) -> Path:
    """An index of n passages."""
    with Engine.open(folder, create=True) as engine, passages(n).open(encoding="utf8") as lines:
        engine.add(Document(line.rstrip("\n"), id=f"p{i}") for i, line in enumerate(lines))
    return folder


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--writes", type=float, default=0.02)
    parser.add_argument(
        "--burst", type=int, default=400, help="clients of the second part, which only search"
    )
    parser.add_argument(
        "--index", type=Path, help="an index that is there, of as many passages; it is changed"
    )
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    index = options.index or built(Path(folder.name) / "index", options.passages)
    texts = queries(passages(options.passages), 200)
    bare, expected = [], {}
    with Engine.open(index) as engine:
        for query in texts:
            started = time.perf_counter()
            hits = engine.retrieve(query, 10, filter="-load:true")
            bare.append(time.perf_counter() - started)
            expected[query] = [hit.id for hit in hits]
    command = [sys.executable, "-m", "sleuth", "serve", "--index", str(index), "--port", "0", "--quiet"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().rpartition(":")[2])
    try:
        asyncio.run(drive(port, 1, seconds=3, expected=expected, share=0))
        tally = asyncio.run(
            drive(port, options.clients, seconds=options.seconds, expected=expected, share=options.writes)
        )
        burst = asyncio.run(drive(port, options.burst, seconds=BURST, expected=expected, share=0))
    finally:
        server.terminate()
        server.wait(60)
    with Engine.open(index) as engine:
        tally.lost += [n for n in tally.acknowledged if not engine.get(f"load{n}")]
    print(f"{options.clients} clients, {options.seconds:.0f} s, {options.passages:,} passages")
    print(f"bare engine, one thread: p50 / p99 {quantiles(bare)} ms")
    rate = len(tally.searches) / options.seconds
    print(f"searches: {len(tally.searches)}, {rate:.0f}/s, {quantiles(tally.searches)} ms")
    print(f"adds: {len(tally.adds)}, {len(tally.adds) / options.seconds:.0f}/s, {quantiles(tally.adds)} ms")
    print(
        f"refused with 503: {len(tally.refusals)}, {quantiles(tally.refusals)} ms; statuses {dict(tally.statuses)}"
    )
    print(f"lost: {len(tally.lost)}; wrong: {tally.wrong} of {tally.checked}")
    print(
        f"{options.burst} clients at once: {len(burst.searches)} searches, {quantiles(burst.searches)} ms; "
        f"refused with 503: {len(burst.refusals)}, {quantiles(burst.refusals)} ms, {burst.mute} without Retry-After; "
        f"statuses {dict(burst.statuses)}; wrong: {burst.wrong} of {burst.checked}"
    )
    folder.cleanup()
    statuses = set(tally.statuses) | set(burst.statuses)
    if tally.lost or tally.wrong or burst.wrong or burst.mute or statuses - {200, 503}:
        sys.exit(1)


if __name__ == "__main__":
    main()
