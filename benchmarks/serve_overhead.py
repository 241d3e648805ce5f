"""What HTTP adds to a search, one client at a time.

python -m benchmarks.serve_overhead [--passages 100000] [--queries 400] [--index FOLDER]

No cache has seen the questions. A server and the engine that it serves are in this process, and answer other questions
in turns of 25, so that both see the same machine; the client is a process of its own. CPU time is that of this process.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.passages import passages, queries
from benchmarks.serve_load import built
from sleuth import Engine
from sleuth.surfaces.http import ServerSettings, bind, build_server

TURN = 25


def measure(
    engine: Engine, texts: list[str], options: dict[str, list[str]]
) -> dict[str, tuple[float, float]]:
    """Return the medians of wall and CPU time in milliseconds: over HTTP, and of the bare engine."""
    settings = ServerSettings(port=0, threads=2)
    listener = bind(settings)
    server = build_server(engine, settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    command = [sys.executable, "-m", "benchmarks.serve_overhead", "--client", str(listener.getsockname()[1])]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert client.stdin is not None
    assert client.stdout is not None
    walls: dict[str, list[float]] = {"HTTP": [], "engine": []}
    cpu: dict[str, list[float]] = {"HTTP": [], "engine": []}
    for number, first in enumerate(range(0, len(texts), TURN)):
        turn, who = texts[first : first + TURN], "engine" if number % 2 else "HTTP"
        before, seconds = time.process_time(), list[float]()
        if who == "HTTP":
            bodies = [json.dumps({"query": query, "k": 10, **options}) for query in turn]
            print(json.dumps(bodies), file=client.stdin, flush=True)
            seconds = json.loads(client.stdout.readline())
        else:
            for query in turn:
                started = time.perf_counter()
                engine.retrieve(query, 10, **options)  # type: ignore[arg-type]
                seconds.append(time.perf_counter() - started)
        if number > 1:  # the first turn of each loads what it needs
            walls[who] += seconds
            cpu[who].append((time.process_time() - before) / len(turn))
    client.stdin.close()
    client.wait()
    server.should_exit = True
    thread.join()
    return {who: (statistics.median(walls[who]) * 1e3, statistics.median(cpu[who]) * 1e3) for who in walls}


def run_client(port: int) -> None:
    """Send the searches of each line of standard input, and write the seconds that each took."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for line in sys.stdin:
        seconds = []
        for body in json.loads(line):
            started = time.perf_counter()
            ask(connection, body.encode())
            seconds.append(time.perf_counter() - started)
        print(json.dumps(seconds), flush=True)


def ask(connection: socket.socket, body: bytes) -> None:
    """Send a search and read the whole answer; a client of Python's library takes longer than the server."""
    head = "POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(1 << 16)
    start, _, rest = answer.partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 200"), answer
    missing = int(re.search(rb"content-length: (\d+)", start)[1]) - len(rest)  # type: ignore[index]
    while missing:
        missing -= len(connection.recv(1 << 16))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        run_client(arguments.client)
        return
    folder = tempfile.TemporaryDirectory()
    index = arguments.index or built(Path(folder.name) / "index", arguments.passages)
    texts = queries(passages(arguments.passages), 2 * arguments.queries)
    choices: list[tuple[str, dict[str, list[str]]]] = [
        ("words and meaning", {}),
        ("words", {"legs": ["lexical"]}),
    ]
    print("| search | HTTP, wall / CPU | engine, wall / CPU | ratio, wall / CPU |\n|---|---|---|---|")
    with Engine.open(index) as engine:
        for (name, options), first in zip(choices, (0, arguments.queries), strict=True):
            times = measure(engine, texts[first : first + arguments.queries], options)
            (wall, cpu), (bare_wall, bare_cpu) = times["HTTP"], times["engine"]
            ratios = f"{wall / bare_wall:.2f} / {cpu / bare_cpu:.2f}"
            print(
                f"| {name} | {wall:.2f} / {cpu:.2f} ms | {bare_wall:.2f} / {bare_cpu:.2f} ms | {ratios} |",
                flush=True,
            )
    folder.cleanup()


if __name__ == "__main__":
    main()
