"""What HTTP adds to a search, one client at a time, and how many searches a second are answered.

python -m benchmarks.serve_overhead [--passages 100000] [--queries 400] [--index FOLDER]

The same queries go to the bare engine and to the server, in turns of 50, so that both see the same machine. Throughput
is measured with `wrk` (Debian's package) where it is installed; it takes part of the machine's cores. The table also
has the server's CPU time per request, which does not depend on other programs on the same cores.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.passages import passages, queries
from benchmarks.processes import cpu_seconds
from benchmarks.serve_load import built
from sleuth import Engine

TURN = 50

SCRIPT = """
local lines = {{}}
for line in io.lines("{file}") do lines[#lines + 1] = line end
local i = 0
request = function()
  i = i % #lines + 1
  return wrk.format("POST", "/v1/search", {{["content-type"] = "application/json"}}, lines[i])
end
"""


def measure(
    engine: Engine, port: int, texts: list[str], options: dict[str, list[str]]
) -> tuple[list[float], list[float]]:
    """Seconds of each query: over HTTP, and of the bare engine."""
    served, bare = [], []
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for first in range(0, len(texts), TURN):
        turn = texts[first : first + TURN]
        bodies = [json.dumps({"query": query, "k": 10, **options}).encode() for query in turn]
        for body in bodies:
            started = time.perf_counter()
            ask(connection, body)
            served.append(time.perf_counter() - started)
        for query in turn:
            started = time.perf_counter()
            engine.retrieve(query, 10, **options)  # type: ignore[arg-type]
            bare.append(time.perf_counter() - started)
    connection.close()
    return served, bare


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


def throughput(server: int, port: int, texts: list[str], options: dict[str, list[str]], seconds: int) -> str:
    """What wrk says of 16 connections, and the CPU time of the server for each request."""
    if not shutil.which("wrk"):
        return "wrk is not installed"
    with tempfile.TemporaryDirectory() as folder:
        lines, script = Path(folder, "lines"), Path(folder, "script.lua")
        lines.write_text("\n".join(json.dumps({"query": query, "k": 10, **options}) for query in texts))
        script.write_text(SCRIPT.format(file=lines))
        command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", "-s", str(script)]
        before = cpu_seconds(server)
        output = subprocess.run(
            [*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True
        ).stdout
        cpu_time = cpu_seconds(server) - before
    answered = int(re.search(r"(\d+) requests in", output)[1])  # type: ignore[index]
    labels = ("50%", "99%", "Requests/sec", "Non-2xx")
    rows = [" ".join(line.split()) for line in output.splitlines() if line.strip().startswith(labels)]
    return "; ".join([*rows, f"CPU of the server: {cpu_time / answered * 1e3:.2f} ms a request"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--index", type=Path)
    parser.add_argument("serve", nargs="*", help="further options of sleuth serve, after --")
    arguments = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    index = arguments.index or built(Path(folder.name) / "index", arguments.passages)
    texts = queries(passages(arguments.passages), arguments.queries)
    command = [
        sys.executable,
        "-m",
        "sleuth",
        "serve",
        "--index",
        str(index),
        "--port",
        "0",
        "--quiet",
        *arguments.serve,
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().rpartition(":")[2])
    time.sleep(3)
    try:
        with Engine.open(index) as engine:
            choices: list[dict[str, list[str]]] = [{}, {"legs": ["lexical"]}]
            for options in choices:
                measure(engine, port, texts[:TURN], options)
                served, bare = measure(engine, port, texts, options)
                middle = [statistics.median(seconds) * 1e3 for seconds in (served, bare)]
                print(
                    options or "both legs",
                    f"p50: served {middle[0]:.2f} ms, engine {middle[1]:.2f} ms,",
                    end=" ",
                )
                print(f"overhead {middle[0] - middle[1]:.2f} ms", flush=True)
                print("  ", throughput(server.pid, port, texts, options, arguments.seconds), flush=True)
    finally:
        server.terminate()
        server.wait(60)
    folder.cleanup()


if __name__ == "__main__":
    main()
